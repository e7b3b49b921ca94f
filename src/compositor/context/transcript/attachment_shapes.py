"""Attachments as they stand in a transcript line, format version 0, and back.

Decides the field names of each payload shape. A shape that is not known, or does not fit, goes through the unknown door with its raw bytes.
"""

from __future__ import annotations

from typing import assert_never

import msgspec
from msgspec import Raw, Struct

from compositor.types.attachments import (
    Attachment,
    DiffAttachment,
    FileAttachment,
    ListingAttachment,
    MediaAttachment,
    QueuedInput,
    TextAttachment,
    UnknownAttachment,
)
from compositor.types.origin import Origin

from .raw import encode_line, fields_of, owned, parsed_content, raw_content, text_field
from .shapes import copy_fields


class TextShape(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="shape", tag="text"):
    kind: str
    text: str
    path: str | None = None
    line: int | None = None
    name: str = ""


class FileShape(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="shape", tag="file"):
    kind: str
    path: str
    text: str
    first: int = 1
    total: int = 0
    named: str = ""


class DiffShape(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="shape", tag="diff"):
    kind: str
    path: str
    diff: str = ""
    left_out: str = ""
    added: int = 0
    removed: int = 0


class ListingShape(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="shape", tag="listing"):
    kind: str
    path: str
    names: tuple[str, ...]
    total: int
    named: str = ""


class MediaShape(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="shape", tag="media"):
    kind: str
    content: Raw
    path: str = ""
    named: str = ""


class QueuedShape(Struct, frozen=True, kw_only=True, tag_field="shape", tag="queued_input"):
    kind: str
    text: str
    origin: str


class UnknownShape(Struct, frozen=True, kw_only=True, tag_field="shape", tag="unknown"):
    kind: str
    raw: Raw


def encode_attachment(attachment: Attachment) -> bytes:
    """The payload of a line."""
    match attachment:
        case TextAttachment() | FileAttachment() | DiffAttachment() | ListingAttachment():
            return encode_line(copy_fields(attachment, _PLAIN[type(attachment)]))
        case MediaAttachment(content=content):
            return encode_line(copy_fields(attachment, MediaShape, content=raw_content(content)))
        case QueuedInput():
            return encode_line(copy_fields(attachment, QueuedShape))
        case UnknownAttachment():
            return encode_line(copy_fields(attachment, UnknownShape))
        case _:
            assert_never(attachment)


def decode_attachment(raw: Raw) -> Attachment:
    """The attachment of a line; never raises."""
    try:
        shape = _decode(raw)
    except msgspec.MsgspecError:
        return _unknown(raw)
    match shape:
        case QueuedShape():
            return copy_fields(shape, QueuedInput, origin=known_origin(shape.origin))
        case UnknownShape():
            return copy_fields(shape, UnknownAttachment, raw=owned(shape.raw))
        case MediaShape():
            parsed = parsed_content(shape.content)
            return _unknown(raw) if parsed is None else copy_fields(shape, MediaAttachment, content=parsed.blocks)
        case _:
            return copy_fields(shape, _VALUES[type(shape)])


def known_origin(name: str) -> Origin:
    """A stored origin; one that this version does not know grants nothing."""
    return Origin(name) if name in _ORIGINS else Origin.UNCLASSIFIED


def _unknown(raw: Raw) -> UnknownAttachment:
    return UnknownAttachment(kind=text_field(fields_of(raw) or {}, "kind") or "?", raw=owned(raw))


_PLAIN: dict[type[Struct], type[Struct]] = {
    TextAttachment: TextShape,
    FileAttachment: FileShape,
    DiffAttachment: DiffShape,
    ListingAttachment: ListingShape,
}
_VALUES: dict[type[Struct], type[Attachment]] = {
    TextShape: TextAttachment,
    FileShape: FileAttachment,
    DiffShape: DiffAttachment,
    ListingShape: ListingAttachment,
}
_ORIGINS = frozenset(origin.value for origin in Origin)
_decode = msgspec.json.Decoder(
    TextShape | FileShape | DiffShape | ListingShape | MediaShape | QueuedShape | UnknownShape
).decode
