"""The rules over a foreign body, whole: bytes to JSON, shape, then the same fold that our own messages go through.

Decides how a body of any shape becomes something that can be judged. Never raises, whatever the bytes are; a body that
cannot be read is a finding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from compositor.types.blocks import ContentBlock, UnknownBlock, parse_block
from compositor.types.json import repair_raw
from compositor.types.messages import Part, Role, WireMessage
from compositor.types.provenance import WIRE

from .fold import check_end, check_messages
from .head import check_size
from .markers import check_markers, read_marks
from .options import check_option_relations, thinking_kind
from .plain_body import read_plain
from .rules import Violation
from .shape import check_body_shape
from .tool_rules import check_servers, check_system, check_tools, tool_names
from .turns import SettingMessage
from .walk import LegalityState
from .wire_context import WireContext

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_REGIONS = ("tools", "system", "messages")


def check_body(data: bytes, context: WireContext) -> tuple[Violation, ...]:
    """Every rule that `data`, the body of one request, can show. One finding for each rule and path."""
    found: dict[tuple[str, str], Violation] = {}
    for violation in _check(data, context):
        found.setdefault((violation.rule, violation.path), violation)
    return tuple(found.values())


def _check(data: bytes, context: WireContext) -> Iterator[Violation]:
    yield from check_size(len(data), context)
    plain = read_plain(data)
    if plain is not None:
        body = {**plain.fields, "messages": list(plain.marked.values())}
        if not any(check_body_shape(body, context)):
            yield from _check_regions(body, context)
            messages = [plain.marked.get(at) for at in range(plain.count)]
            yield from _check_marks({**body, "messages": messages})
            yield from _check_end(plain.state, body, context)
            return
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        yield from _check_unreadable(data, context)
        return
    if isinstance(body, dict):
        yield from _check_decoded(body, data, context)
    else:
        yield Violation("W02", "body", "the body is JSON but no object")


def _check_unreadable(data: bytes, context: WireContext) -> Iterator[Violation]:
    try:
        text = data.decode()
        body = json.loads(text, parse_constant=_refuse_constant)
        repaired = bytes(repair_raw(Raw(data)))
        again = msgspec.json.decode(repaired)
    except UnicodeDecodeError as problem:
        yield Violation("W02", "body", f"byte {problem.start} is no UTF-8")
    except json.JSONDecodeError as problem:
        yield Violation("W02", "body", f"no JSON at line {problem.lineno}, column {problem.colno}: {problem.msg}")
    except RecursionError:
        yield Violation("W02", "body", "the JSON is nested too deep to be read")
    except ValueError as problem:
        yield Violation("W02", "body", f"cannot be read: {problem}")
    except msgspec.DecodeError as problem:
        yield Violation("W02", "body", f"cannot be read: {problem}")
    else:
        for path in surrogate_paths(body):
            yield Violation("W01", path, "the text holds a lone surrogate")
        if isinstance(again, dict):
            yield from _check_decoded(again, repaired, context)


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is no JSON value")


def surrogate_paths(value: object) -> Iterator[str]:
    """Paths of strings and keys that hold a lone surrogate. Walks with a stack of its own, however deep the value is."""
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, str):
            if _is_lone(item):
                yield path or "body"
        elif isinstance(item, dict):
            prefix = f"{path}." if path else ""
            for key, inner in reversed(item.items()):
                stack.append((prefix + key.encode(errors="replace").decode(), inner))
                if _is_lone(key):
                    yield path or "body"
        elif isinstance(item, list):
            stack.extend((f"{path}[{index}]", inner) for index, inner in reversed([*enumerate(item)]))


def _is_lone(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _check_decoded(body: dict[str, Any], data: bytes, context: WireContext) -> Iterator[Violation]:
    yield from check_body_shape(body, context)
    yield from _check_regions(body, context)
    yield from _check_marks(body)
    messages = read_messages(data)
    if messages is not None:
        yield from _check_relations(messages, body, context)


def _check_regions(body: Mapping[str, Any], context: WireContext) -> Iterator[Violation]:
    """Tools, servers, system and options."""
    tools = body.get("tools")
    system = body.get("system")
    if isinstance(tools, list):
        yield from check_tools(tools, context)
    yield from check_servers(tools, body.get("mcp_servers"), context)
    if isinstance(system, list):
        yield from check_system(system, context)
    elif isinstance(system, str):
        yield from _at("system", check_system([{"type": "text", "text": system}], context))
    options = {name: value for name, value in body.items() if name not in _REGIONS}
    yield from check_option_relations(options, context)


def _at(path: str, violations: Iterable[Violation]) -> Iterator[Violation]:
    for violation in violations:
        yield Violation(violation.rule, path, violation.message)


def _check_marks(body: Mapping[str, Any]) -> Iterator[Violation]:
    marks, wrong = read_marks(body)
    yield from wrong
    automatic = body.get("cache_control")
    ttl = automatic.get("ttl") or "5m" if isinstance(automatic, dict) else None
    yield from check_markers(marks, automatic=ttl if isinstance(ttl, str) else None)


def _check_relations(
    messages: list[tuple[WireMessage, bool]], body: Mapping[str, Any], context: WireContext
) -> Iterator[Violation]:
    state, violations = check_messages(LegalityState(), [message for message, _ in messages], context)
    for violation in (*violations, *_check_end(state, body, context)):
        yield Violation(violation.rule, _as_written(violation.path, messages), violation.message)


def _check_end(state: LegalityState, body: Mapping[str, Any], context: WireContext) -> tuple[Violation, ...]:
    return check_end(
        state,
        context,
        tools=tool_names(body.get("tools")),
        thinking=thinking_kind(body),
        credited=body.get("fallback_credit_token") is not None,
        summarizing=body.get("compaction") is not None,
    )


def _as_written(path: str, messages: list[tuple[WireMessage, bool]]) -> str:
    """Content given as a string has no blocks to point at."""
    if not path.startswith("messages["):
        return path
    index = path[len("messages[") : path.index("]")]
    if messages[int(index)][1] and path.startswith(f"messages[{index}].content["):
        return f"messages[{index}].content"
    return path


def read_messages(data: bytes) -> list[tuple[WireMessage, bool]] | None:
    """The messages of a body as values, each with whether its content was a string; `None` when one cannot be read.

    What cannot be read has been found by the shape. `data` is a JSON object.
    """
    try:
        return [_read_message(_decode_fields(raw)) for raw in _decode_items(_decode_fields(data)["messages"])]
    except (KeyError, ValueError, msgspec.DecodeError, RecursionError):
        return None


def _read_message(fields: dict[str, Raw]) -> tuple[WireMessage, bool]:
    role = Role(msgspec.json.decode(fields["role"]))
    content = fields.get("content", Raw(b"[]")) if role is Role.SYSTEM else fields["content"]
    value = bytes(content).strip()
    is_text = value[:1] == b'"'
    if is_text:
        text = msgspec.json.decode(value)
        raws = [Raw(msgspec.json.encode({"type": "text", "text": text}))] if text else []
    else:
        raws = [] if value == b"null" and role is Role.SYSTEM else _decode_items(value)
    parts = tuple(Part(_read_block(raw), WIRE) for raw in raws)
    if not fields.keys() - {"role", "content"}:
        return WireMessage(role, parts), is_text
    clear_at = msgspec.json.decode(fields.get("clear_at", Raw(b"null")))
    message = SettingMessage(
        role,
        parts,
        clear_at=clear_at if isinstance(clear_at, str) else None,
        output_config=fields.get("output_config"),
        marked=tuple(index for index, raw in enumerate(raws) if _is_marked(raw)),
    )
    return message, is_text


def _read_block(raw: Raw) -> ContentBlock:
    try:
        return parse_block(raw).blocks[0]
    except (ValueError, msgspec.DecodeError, RecursionError):
        return UnknownBlock("?", raw)


def _is_marked(raw: Raw) -> bool:
    block = msgspec.json.decode(raw)
    return isinstance(block, dict) and block.get("cache_control") is not None
