"""Content blocks as the Messages API spells them (wire page 2.2), each a frozen value, with one unknown door.

Decides which blocks the product understands and how a stored block becomes a value: whole content first, then block by
block, so that one odd block costs only itself. Optional fields are `None` or `ABSENT` when absent or null and
are then not written back (L96). Never decides what may be sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from .json import decode_json, raw_json, repair_raw

ABSENT = Raw(b"")
"""A field that is not there. (`Raw | None` would take nothing but null.) It is the default object itself, and so not written."""


class TextBlock(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="text", gc=False):
    text: str
    citations: Raw = ABSENT


class ImageBlock(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="image", gc=False):
    source: Raw
    transformations: Raw = ABSENT


class DocumentBlock(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="document", gc=False):
    source: Raw
    title: str | None = None
    context: str | None = None
    citations: Raw = ABSENT


class SearchResultBlock(
    Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="search_result", gc=False
):
    content: Raw
    source: str
    title: str
    citations: Raw = ABSENT


class ThinkingBlock(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="thinking", gc=False):
    thinking: str
    signature: str


class RedactedThinkingBlock(
    Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="redacted_thinking", gc=False
):
    data: str


class ToolUseBlock(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="tool_use", gc=False):
    """A call by the model. `input` keeps the bytes of the JSON object: its key order is part of the cached prefix."""

    id: str
    name: str
    input: Raw
    caller: Raw = ABSENT
    toolset_name: str | None = None


class ToolReferenceBlock(
    Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="tool_reference", gc=False
):
    tool_name: str


class ServerToolUseBlock(
    Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="server_tool_use", gc=False
):
    id: str
    name: str
    input: Raw
    caller: Raw = ABSENT


class UnknownBlock:
    """A block whose type or shape the product does not know; kept and written back byte for byte.

    A plain class, not a Struct, so that the encoder writes `raw` in its place.
    """

    __slots__ = ("raw", "type")

    def __init__(self, type: str, raw: Raw) -> None:
        self.type = type
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownBlock) and bytes(self.raw) == bytes(other.raw)

    def __hash__(self) -> int:
        return hash(bytes(self.raw))

    def __repr__(self) -> str:
        return f"UnknownBlock({self.type!r}, {bytes(self.raw)!r})"


KnownResultContent: TypeAlias = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolReferenceBlock
ResultContent: TypeAlias = KnownResultContent | UnknownBlock


class ToolResultBlock(Struct, frozen=True, omit_defaults=True, tag="tool_result", gc=False):
    """The answer to one call. `content` is text or blocks; `None` is an empty result, which is legal (L64)."""

    tool_use_id: str
    content: str | tuple[ResultContent, ...] | None = None
    is_error: bool | None = None
    toolset_name: str | None = None


KnownBlock: TypeAlias = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolReferenceBlock
    | ServerToolUseBlock
)
ContentBlock: TypeAlias = KnownBlock | ToolResultBlock | UnknownBlock

THINKING_TYPES: tuple[type, ...] = (ThinkingBlock, RedactedThinkingBlock)

_KNOWN: dict[str, type[Struct]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (
        TextBlock,
        ImageBlock,
        DocumentBlock,
        SearchResultBlock,
        ThinkingBlock,
        RedactedThinkingBlock,
        ToolUseBlock,
        ToolReferenceBlock,
        ServerToolUseBlock,
    )
}
_RESULT_TYPES = ("text", "image", "document", "search_result", "tool_reference")

_decode_raws = msgspec.json.Decoder(list[Raw]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_known = msgspec.json.Decoder(KnownBlock).decode
_decode_all_known = msgspec.json.Decoder(tuple[KnownBlock, ...]).decode


class ParsedBlocks(Struct, frozen=True):
    """Blocks plus what had to be left out of them, as short sentences."""

    blocks: tuple[ContentBlock, ...]
    notes: tuple[str, ...] = ()


def parse_content(content: Raw) -> ParsedBlocks:
    """Parse the `content` of a message: a JSON string or a JSON array of blocks.

    A string becomes one text block. A block of a known type with unknown keys loses those keys with a note (L09); a block
    of unknown type or shape goes through the unknown door. Raises `ValueError` when `content` is neither form.
    """
    data = bytes(repair_raw(content))
    if data.lstrip()[:1] == b'"':
        return ParsedBlocks((TextBlock(decode_json(data)),))
    if b"null" not in data:
        try:
            return ParsedBlocks(_decode_all_known(data))
        except msgspec.MsgspecError:
            pass
    blocks: list[ContentBlock] = []
    notes: list[str] = []
    for raw in _decode_raws(data):
        parsed = parse_block(raw)
        blocks.extend(parsed.blocks)
        notes.extend(parsed.notes)
    return ParsedBlocks(tuple(blocks), tuple(notes))


def parse_block(raw: Raw) -> ParsedBlocks:
    """Parse one block; always gives exactly one block."""
    data = bytes(raw)
    if b"null" not in data:
        try:
            return ParsedBlocks((_decode_known(data),))
        except msgspec.MsgspecError:
            pass
    try:
        fields = _decode_fields(data)
        kind = str(msgspec.json.decode(bytes(fields["type"])))
    except (msgspec.MsgspecError, KeyError):
        return ParsedBlocks((UnknownBlock("?", raw),), ("a content item is no block",))
    if kind == "tool_result":
        return _parse_tool_result(raw, fields)
    known = _KNOWN.get(kind)
    if known is None:
        return ParsedBlocks((UnknownBlock(kind, raw),))
    return _parse_without_unknown_keys(raw, kind, known, fields)


def _parse_without_unknown_keys(raw: Raw, kind: str, known: type[Struct], fields: dict[str, Raw]) -> ParsedBlocks:
    allowed = {"type", *known.__struct_fields__}
    unknown = sorted(fields.keys() - allowed)
    kept = {key: value for key, value in fields.items() if key in allowed and bytes(value) != b"null"}
    try:
        block = msgspec.json.decode(msgspec.json.encode(kept), type=known)
    except msgspec.MsgspecError as problem:
        return ParsedBlocks((UnknownBlock(kind, raw),), (f"a {kind!r} block has an unknown shape: {problem}",))
    notes = (f"unknown keys of a {kind!r} block were left out: {', '.join(unknown)}",) if unknown else ()
    return ParsedBlocks((block,), notes)  # type: ignore[arg-type]


def _parse_tool_result(raw: Raw, fields: dict[str, Raw]) -> ParsedBlocks:
    allowed = {"type", *ToolResultBlock.__struct_fields__}
    unknown = sorted(fields.keys() - allowed)
    notes = [f"unknown keys of a 'tool_result' block were left out: {', '.join(unknown)}"] if unknown else []
    values: dict[str, Any] = {
        key: msgspec.json.decode(bytes(fields[key]))
        for key in ("tool_use_id", "is_error", "toolset_name")
        if key in fields
    }
    if not isinstance(values.get("tool_use_id"), str):
        return ParsedBlocks((UnknownBlock("tool_result", raw),), ("a 'tool_result' block has no tool_use_id",))
    content: str | tuple[ResultContent, ...] | None = None
    if "content" in fields and bytes(fields["content"]) != b"null":
        text = bytes(fields["content"]).lstrip()[:1] == b'"'
        try:
            parsed = parse_content(fields["content"])
        except ValueError:
            return ParsedBlocks((UnknownBlock("tool_result", raw),), ("the content of a 'tool_result' is no content",))
        notes.extend(parsed.notes)
        content = _only_text(parsed.blocks) if text else tuple(_as_result(parsed.blocks))
    is_error = values.get("is_error")
    block = ToolResultBlock(
        tool_use_id=values["tool_use_id"],
        content=content,
        is_error=is_error if isinstance(is_error, bool) else None,
        toolset_name=values.get("toolset_name"),
    )
    return ParsedBlocks((block,), tuple(notes))


def _only_text(blocks: tuple[ContentBlock, ...]) -> str:
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))


def _as_result(blocks: Iterable[ContentBlock]) -> Iterable[ResultContent]:
    for block in blocks:
        if isinstance(
            block, (TextBlock, ImageBlock, DocumentBlock, SearchResultBlock, ToolReferenceBlock, UnknownBlock)
        ):
            yield block
        else:
            yield UnknownBlock(block_type(block), raw_json(block))


def block_type(block: ContentBlock) -> str:
    """The wire name of the block's type."""
    return block.type if isinstance(block, UnknownBlock) else str(type(block).__struct_config__.tag)
