"""How far the token estimate lies from what services reported, by class of content, over recorded exchanges (COMPOSITOR_CORPUS).

Decides the classes and the table. Each recording counts once: its request's estimate, uncalibrated, over the input tokens that its answer names.
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from compositor.context.tokens import estimate_tokens
from compositor.context.wire.decode import Decoder
from compositor.types.stream import MessageDelta, MessageStart

CLASSES = ("image or document", "server tools", "tools", "thinking", "text")


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """Ratios of estimate to report: the smallest, the median and the largest of `count` requests."""

    name: str
    count: int
    least: float
    median: float
    most: float


def rows() -> list[TokenRow]:
    found: dict[str, list[float]] = defaultdict(list)
    for body, reported in recorded(Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")) / "requests"):
        found[_class_of(body)].append(_estimate(body) / reported)
    return [
        TokenRow(name=name, count=len(one), least=min(one), median=statistics.median(one), most=max(one))
        for name in CLASSES
        if (one := found.get(name))
    ]


def table(found: list[TokenRow]) -> str:
    lines = [f"{'estimate / reported, by class of request':44} {'requests':>9} {'least':>7} {'median':>7} {'most':>7}"]
    lines += [f"{row.name:44} {row.count:>9} {row.least:7.2f} {row.median:7.2f} {row.most:7.2f}" for row in found]
    return "\n".join(lines)


def recorded(folder: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Every recorded request to the Messages API whose answer reports its input tokens."""
    for path in sorted(folder.rglob("*.yaml")):
        for exchange in yaml.safe_load(path.read_text())["interactions"]:
            request, response = exchange["request"], exchange["response"]
            body = _json(request.get("body") or request.get("parsed_body"))
            usage = _usage(response)
            total = sum(usage.get(name) or 0 for name in _INPUT)
            if isinstance(body, dict) and "messages" in body and total:
                yield body, total


_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _usage(response: dict[str, Any]) -> dict[str, Any]:
    answer = response.get("parsed_body")
    if answer is None:
        held = response.get("body")
        data = held.get("string") if isinstance(held, dict) else held
        data = data.encode() if isinstance(data, str) else data or b""
        data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        if data.startswith(b"event:"):
            return _streamed(data)
        answer = _json(data)
    return answer.get("usage") or {} if isinstance(answer, dict) else {}


def _streamed(data: bytes) -> dict[str, Any]:
    usage: dict[str, Any] = {}
    for event in Decoder().feed(data):
        if isinstance(event, MessageStart):
            usage |= (_json(bytes(event.message)) or {}).get("usage") or {}
        elif isinstance(event, MessageDelta) and event.usage is not None:
            usage |= {name: value for name, value in _json(bytes(event.usage)).items() if value}
    return usage


def _json(data: Any) -> Any:
    if isinstance(data, dict) or data is None:
        return data
    try:
        return json.loads(data)
    except ValueError:
        return None


def _estimate(body: dict[str, Any]) -> int:
    regions = (body.get("tools"), body.get("system"), body["messages"])
    return sum(estimate_tokens(msgspec.json.encode(region)) for region in regions if region)


def _class_of(body: dict[str, Any]) -> str:
    text = json.dumps(body["messages"])
    tools = body.get("tools") or []
    if '"type": "image"' in text or '"type": "document"' in text:
        return CLASSES[0]
    if any("input_schema" not in tool for tool in tools) or body.get("mcp_servers"):
        return CLASSES[1]
    if tools:
        return CLASSES[2]
    return CLASSES[3] if body.get("thinking") else CLASSES[4]
