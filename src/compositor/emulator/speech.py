"""What the scripted model says to one request: a turn of the script as the blocks of an answer.

Decides ids, the blocks of server tools and the natural stop reason. Signs nothing and counts nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from .profile import ServiceProfile
from .script import Part, ToolMissing, Turn, resolve_action
from .tool_search import search_result, search_tool_of

Body = Mapping[str, Any]


class Speech(Struct, frozen=True, kw_only=True):
    """`stop_details` and `stop_sequence` as the answer carries them."""

    content: tuple[dict[str, Any], ...] = ()
    stop_reason: str = "end_turn"
    stop_details: Mapping[str, Any] | None = None
    stop_sequence: str | None = None


def speech_of(turn: Turn, body: Body, data: bytes, profile: ServiceProfile) -> Speech | ToolMissing:
    """The answer of `turn` to a request with this body; `data` makes ids that no other request gets."""
    content: list[dict[str, Any]] = []
    for part in turn.all_parts:
        content += _thoughts(part, body, profile)
        if part.say is not None:
            cited = {"citations": list(part.citations)} if part.citations else {}
            content.append({"type": "text", "text": part.say, **cited})
        for action in part.do:
            blocks = _blocks(action, body.get("tools") or [], data, len(content))
            if isinstance(blocks, ToolMissing):
                return blocks
            content += blocks
    stop = turn.stop or _natural_stop(content)
    sequences = body.get("stop_sequences") or [None]
    return Speech(
        content=tuple(content),
        stop_reason=stop,
        stop_details={"type": "refusal", "category": turn.category, "explanation": None} if stop == "refusal" else None,
        stop_sequence=sequences[0] if stop == "stop_sequence" else None,
    )


def stable_id(kind: str, data: bytes, number: int) -> str:
    """Unique over a whole conversation, also a resumed one: no two of its requests have the same bytes and an answer."""
    return f"{kind}_{hashlib.sha256(data).hexdigest()[:20]}{number:02d}"


def _thoughts(part: Part, body: Body, profile: ServiceProfile) -> Iterator[dict[str, Any]]:
    """A model whose thinking is off says none, whatever the script wants."""
    thinking = body.get("thinking") or {}
    kind = thinking.get("type")
    if kind == "disabled" or (kind is None and profile.thinks_unasked is False):
        return
    if part.think is not None:
        shown = "" if thinking.get("display") == "omitted" else part.think
        yield {"type": "thinking", "thinking": shown, "signature": ""}
    if part.redact:
        yield {"type": "redacted_thinking", "data": ""}


def _blocks(
    action: Mapping[str, Any], tools: Sequence[Mapping[str, Any]], data: bytes, number: int
) -> list[dict[str, Any]] | ToolMissing:
    ((verb, given),) = action.items()
    service = search_tool_of(tools)
    if verb == "find_tools" and service is not None:
        main = "pattern" if service.endswith("regex") else "query"
        fields = given if isinstance(given, dict) else {main: given}
        return _server(service, fields, search_result(service, fields, tools), data, number)
    if verb == "server":
        return _server(given["tool"], given.get("input") or {}, given.get("result"), data, number)
    call = resolve_action(action, tools)
    if isinstance(call, ToolMissing):
        return call
    return [{"type": "tool_use", "id": stable_id("toolu", data, number), "name": call.name, "input": call.input}]


def _server(name: str, given: Mapping[str, Any], result: Any, data: bytes, number: int) -> list[dict[str, Any]]:
    """A call of the service's own tool with what it brought; without a result it is still waiting."""
    call_id = stable_id("srvtoolu", data, number)
    call = {"type": "server_tool_use", "id": call_id, "name": name, "input": dict(given)}
    if result is None:
        return [call]
    kind = "tool_search_tool_result" if name.startswith("tool_search_tool_") else f"{name}_tool_result"
    return [call, {"type": kind, "tool_use_id": call_id, "content": result}]


def _natural_stop(content: Sequence[Mapping[str, Any]]) -> str:
    if any(block["type"] == "tool_use" for block in content):
        return "tool_use"
    return "pause_turn" if content and content[-1]["type"] == "server_tool_use" else "end_turn"
