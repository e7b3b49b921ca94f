"""One streamed block: its opening object and its deltas to a content block (wire page 7).

Decides how each kind of delta joins, and when a tool call is cut. Never looks at other blocks, never decides what is sent.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from compositor.errors import StreamProtocolError
from compositor.types.blocks import ContentBlock, parse_block
from compositor.types.json import decode_json, raw_json, repair_raw, repair_text
from compositor.types.persistent import Rope
from compositor.types.stream import BlockDelta

JsonFields = dict[str, Raw]


class CutCall(Struct, frozen=True, kw_only=True):
    """A tool call that did not arrive whole. It is never run and never replayed (F37)."""

    id: str
    name: str
    reason: str


class PartialBlock(Struct, frozen=True):
    """One block on its way: its opening object and the deltas since."""

    index: int
    kind: str
    start: JsonFields
    deltas: Rope[BlockDelta]
    ended: bool = False


class FinishedBlock(Struct, frozen=True):
    """A block, or a cut call in its place, and what was left out, one sentence each."""

    blocks: tuple[ContentBlock, ...] = ()
    cut: tuple[CutCall, ...] = ()
    notes: tuple[str, ...] = ()


def finish_block(block: PartialBlock, *, may_be_cut: bool) -> FinishedBlock:
    """The block as a value. `may_be_cut`: the output limit was reached in this block, so that silence means a cut."""
    fields = {**_DEFAULTS.get(block.kind, {}), **block.start}
    pieces: dict[str, list[Raw]] = {}
    notes: list[str] = []
    for event in block.deltas:
        known = _DELTAS.get(event.kind)
        value = json_fields(event.delta).get(known.key) if known else None
        if value is None:
            notes.append(f"a {event.kind!r} of block {block.index} is unknown and was left out")
        else:
            pieces.setdefault(event.kind, []).append(value)
    for name, values in pieces.items():
        rule = _DELTAS[name]
        fields[rule.field] = rule.join(fields.get(rule.field), values)
    if block.kind in _CALLS:
        reason = _cut_reason(block, fields["input"], may_be_cut=may_be_cut)
        if reason:
            call = CutCall(id=_text(fields, "id"), name=_text(fields, "name"), reason=reason)
            return FinishedBlock(cut=(call,), notes=tuple(notes))
    parsed = parse_block(raw_json({key: repair_raw(value) for key, value in fields.items()}))
    return FinishedBlock(parsed.blocks, (), (*notes, *parsed.notes))


def json_fields(raw: Raw) -> JsonFields:
    """The keys of a JSON object with their raw values. Raises `StreamProtocolError` when `raw` is none."""
    try:
        return msgspec.json.decode(bytes(raw), type=JsonFields)
    except msgspec.MsgspecError as problem:
        raise StreamProtocolError(f"The answer holds something that is no JSON object: {problem}") from problem


def text_of(raw: Raw | None) -> str | None:
    """The string that `raw` is; `None` when it is absent or something else."""
    value = decode_json(bytes(raw)) if raw is not None else None
    return value if isinstance(value, str) else None


def present(raw: Raw | None) -> Raw | None:
    """`raw`, or `None` when it is JSON's null."""
    return None if raw is None or bytes(raw) == b"null" else raw


class _Delta(Struct, frozen=True):
    """A kind of delta: which key of it goes into which field of the block, and how."""

    key: str
    field: str
    join: Callable[[Raw | None, list[Raw]], Raw]


def _concatenated(start: Raw | None, pieces: list[Raw]) -> Raw:
    return raw_json(repair_text((text_of(start) or "") + "".join(text_of(piece) or "" for piece in pieces)))


def _last(_: Raw | None, pieces: list[Raw]) -> Raw:
    return pieces[-1]


def _listed(start: Raw | None, pieces: list[Raw]) -> Raw:
    data = bytes(start) if start is not None else b""
    before = msgspec.json.decode(data, type=list[Raw]) if data.startswith(b"[") else []
    return raw_json([*before, *pieces])


def _as_json(start: Raw | None, pieces: list[Raw]) -> Raw:
    text = "".join(text_of(piece) or "" for piece in pieces)
    return Raw(repair_text(text).encode()) if text.strip() else start or Raw(b"{}")


_DELTAS: dict[str, _Delta] = {
    "text_delta": _Delta("text", "text", _concatenated),
    "thinking_delta": _Delta("thinking", "thinking", _concatenated),
    "signature_delta": _Delta("signature", "signature", _last),
    "input_json_delta": _Delta("partial_json", "input", _as_json),
    "citations_delta": _Delta("citation", "citations", _listed),
    "compaction_delta": _Delta("content", "content", _last),
}
# A gateway may leave out what is empty at the start of a block; the block's type asks for it (L77).
_DEFAULTS: dict[str, JsonFields] = {
    "text": {"text": Raw(b'""')},
    "thinking": {"thinking": Raw(b'""'), "signature": Raw(b'""')},
    "tool_use": {"input": Raw(b"{}")},
    "server_tool_use": {"input": Raw(b"{}")},
    "mcp_tool_use": {"input": Raw(b"{}")},
}
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def _cut_reason(block: PartialBlock, given: Raw, *, may_be_cut: bool) -> str | None:
    if not block.ended:
        return "the answer ended inside this call"
    try:
        json_fields(repair_raw(given))
    except (StreamProtocolError, msgspec.MsgspecError):
        return "its input is no complete JSON object"
    # An empty total is an empty object only when the model stopped by itself.
    return "the output limit was reached before its input" if may_be_cut and bytes(given).strip() == b"{}" else None


def _text(fields: JsonFields, key: str) -> str:
    return text_of(fields.get(key)) or ""
