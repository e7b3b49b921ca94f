"""A line before it is a record: the dirt around it, illegal text in it, and single fields of a raw JSON object.

Decides how hostile bytes become legal JSON. Knows no format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from compositor.context.wire.canonical import encode_json
from compositor.types.blocks import ContentBlock, ParsedBlocks, parse_content
from compositor.types.json import repair_raw, repair_text

Fields: TypeAlias = Mapping[str, Raw]

BLANK = b" \t\r\n\0\xef\xbb\xbf"
"""Bytes that may stand around a record without being part of it: white space, NUL, a byte order mark."""


def repaired_json(text: bytes) -> bytes | None:
    """`text` as valid UTF-8 JSON without lone surrogates, or `None` when it is no JSON."""
    try:
        candidate = bytes(repair_raw(Raw(text.decode("utf-8", "replace").encode())))
        msgspec.json.decode(candidate)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return candidate


def fields_of(raw: Raw | bytes) -> dict[str, Raw] | None:
    """The fields of a JSON object, or `None` for anything else."""
    try:
        return _decode_fields(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None


def text_field(fields: Fields, name: str) -> str | None:
    """A field that holds text, made legal; `None` when it is missing or holds something else."""
    try:
        return _decode_text(repair_raw(fields[name]))
    except (KeyError, msgspec.MsgspecError):
        return None


def is_true(fields: Fields, name: str) -> bool:
    """Whether a field holds `true`."""
    return name in fields and bytes(fields[name]) == b"true"


def repair_strings(value: Any) -> Any:
    """`value` with every string inside its structs and tuples repaired by `repair_text`."""
    if isinstance(value, str):
        # An enum member holds ASCII only, and must stay what it is.
        return repair_text(value) if type(value) is str else value
    if isinstance(value, tuple):
        return tuple(repair_strings(item) for item in value)
    if isinstance(value, Struct):
        fields = {name: repair_strings(getattr(value, name)) for name in value.__struct_fields__}
        return type(value)(**fields)
    return value


def owned(raw: Raw) -> Raw:
    """A legal copy: a view would keep the whole line alive."""
    return Raw(bytes(repair_raw(raw)))


def encode_line(shape: Struct) -> bytes:
    """One line without its break. Surrogates and line breaks can only stand in raw parts or strings: both are repaired."""
    try:
        line = _encode(shape)
    except UnicodeEncodeError:
        line = _encode(repair_strings(shape))
    return bytes(repair_raw(Raw(line)))


def raw_content(content: tuple[ContentBlock, ...]) -> Raw:
    """Blocks as they stand in a line."""
    try:
        return Raw(encode_json(content))
    except UnicodeEncodeError:
        return Raw(encode_json(repair_strings(content)))


def parsed_content(content: Raw) -> ParsedBlocks | None:
    """Blocks as they were stored; `None` when they are no blocks."""
    try:
        return parse_content(content)
    except (ValueError, RecursionError):
        return None


_encode = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
