"""The transcript's own line format, version 0: one record, one line of JSON, and back.

Decides how values become lines and how lines become values, through the shapes of `shapes.py`: inner types are not the
file format. What it does not know goes through the unknown door with its raw bytes; what is no record at all is
`Damaged`. Never reads a file and never decides which record counts.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never, get_args

import msgspec
from msgspec import Raw, Struct

from compositor.context.wire.canonical import encode_json
from compositor.errors import TranscriptFormatError
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    UnknownEntry,
    UserEntry,
)
from compositor.types.gathering import Gathered
from compositor.types.journal import OutcomeRecord, SendRecord, SentEntry
from compositor.types.json import EMPTY_OBJECT, repair_raw
from compositor.types.request import MarkerPlan, RequestOptions
from compositor.types.snapshot import PrefixEvent

from . import shapes
from .attachment_shapes import decode_attachment, encode_attachment, known_origin
from .raw import (
    BLANK,
    encode_line,
    fields_of,
    owned,
    parsed_content,
    raw_content,
    repaired_json,
    text_field,
)
from .shapes import copy_fields


class SessionHeader(Struct, frozen=True, kw_only=True):
    """What a session says of itself. `cwd` is the project's real path, `time` ISO 8601 in UTC, `program` name/version.

    `forked_from` is the id of the session it began as a copy of, `imported_from` the path of another tool's transcript.
    """

    session_id: str
    time: str
    cwd: str
    program: str = ""
    forked_from: str | None = None
    imported_from: str | None = None
    version: int = shapes.VERSION
    extra: Raw = EMPTY_OBJECT


StoredEntry: TypeAlias = UserEntry | AssistantEntry | AttachmentEntry | MarkerEntry | UnknownEntry
"""Every kind of entry but progress (R161)."""

JournalRecord: TypeAlias = SendRecord | OutcomeRecord | PrefixEvent
Record: TypeAlias = SessionHeader | StoredEntry | JournalRecord


class Damaged(Struct, frozen=True):
    """A line that holds no record. `line` counts from 1; 0 where it is not known."""

    line: int
    reason: str


class Decoded(Struct, frozen=True):
    """A record and what had to be repaired or left out to read it, as short sentences."""

    record: Record | Damaged
    notes: tuple[str, ...] = ()


def encode_record(record: Record) -> bytes:
    """`record` as one line of UTF-8 JSON with its newline; lone surrogates become U+FFFD.

    Raises `TranscriptFormatError` when raw JSON inside it is no JSON: such a line could never be read again.
    """
    if isinstance(record, UnknownEntry) and decode_line(bytes(record.raw)) == record:
        return bytes(repair_raw(record.raw)).strip() + b"\n"
    line = _with_extra(encode_line(_to_line(record)), record)
    try:
        msgspec.json.decode(line, type=Raw)
        line.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise TranscriptFormatError(
            f"a {type(record).__name__} holds raw bytes that are not JSON: {problem}", hint="Parse them first"
        ) from problem
    return line + b"\n"


def decode_line(data: bytes, *, line: int = 0) -> Record | Damaged:
    """The record in one line, with or without its line break.

    A type or shape that is not known gives an `UnknownEntry` with the line as `raw`.
    """
    return decode_with_notes(data, line=line).record


def decode_with_notes(data: bytes, *, line: int = 0) -> Decoded:
    """`decode_line`, and what was repaired on the way (law 9)."""
    text = data.strip(BLANK)
    if not text:
        return Decoded(Damaged(line, "NUL bytes instead of a record" if b"\0" in data else "an empty line"))
    notes = ("NUL bytes around the record were left out",) if b"\0" in data else ()
    try:
        text.decode()
        shape = _decode_shape(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _decode_odd(text, line, notes)
    except RecursionError:
        return Decoded(Damaged(line, "nested too deeply"))
    return _from_line(shape, text, notes)


def _with_extra(line: bytes, record: Record) -> bytes:
    extra = bytes(repair_raw(getattr(record, "extra", EMPTY_OBJECT))).strip()
    return line if extra == b"{}" else line[:-1] + b"," + extra[1:]


def _extra(text: bytes, shape: Struct) -> Raw:
    """The fields of a record that its shape does not have, as one JSON object."""
    known = _FIELDS[type(shape)]
    unknown = {name: owned(raw) for name, raw in (fields_of(text) or {}).items() if name not in known}
    return Raw(encode_json(unknown)) if unknown else EMPTY_OBJECT


def _to_line(record: Record) -> Struct:
    match record:
        case SessionHeader():
            return copy_fields(record, shapes.SessionLine, id=record.session_id)
        case UserEntry():
            return copy_fields(
                record,
                shapes.UserLine,
                id=record.uuid,
                origin=record.origin.value,
                meta=record.is_meta,
                content=raw_content(record.content),
            )
        case AssistantEntry():
            return copy_fields(record, shapes.AssistantLine, id=record.uuid, content=raw_content(record.content))
        case AttachmentEntry():
            return copy_fields(
                record, shapes.AttachmentLine, id=record.uuid, attachment=Raw(encode_attachment(record.attachment))
            )
        case MarkerEntry():
            return copy_fields(record, shapes.MarkerLine, id=record.uuid)
        case UnknownEntry():
            return copy_fields(record, shapes.UnknownLine, id=record.uuid, kind=record.type)
        case SendRecord():
            return copy_fields(
                record,
                shapes.SendLine,
                sent=tuple(copy_fields(sent, shapes.SentShape) for sent in record.sent),
                markers=tuple(copy_fields(marker, shapes.MarkerShape) for marker in record.markers),
                options=_options_shape(record.options),
                events=tuple(copy_fields(event, shapes.EventShape) for event in record.events),
                gathered=tuple(copy_fields(one, shapes.GatheredShape) for one in record.gathered),
            )
        case OutcomeRecord():
            return copy_fields(record, shapes.OutcomeLine)
        case PrefixEvent():
            return copy_fields(record, shapes.EventLine)
        case _:
            assert_never(record)


def _from_line(shape: shapes.Line, text: bytes, notes: tuple[str, ...]) -> Decoded:
    match shape:
        case shapes.SessionLine():
            header = copy_fields(shape, SessionHeader, session_id=shape.id, extra=_extra(text, shape))
            return Decoded(header, notes)
        case shapes.UserLine():
            return _user(shape, text, notes)
        case shapes.AssistantLine():
            return _assistant(shape, text, notes)
        case shapes.AttachmentLine():
            given = {"attachment": decode_attachment(shape.attachment), "extra": _extra(text, shape)}
            return Decoded(copy_fields(shape, AttachmentEntry, uuid=shape.id, **given), notes)
        case shapes.MarkerLine():
            given = {"detail": owned(shape.detail), "extra": _extra(text, shape)}
            return Decoded(copy_fields(shape, MarkerEntry, uuid=shape.id, **given), notes)
        case shapes.UnknownLine():
            unknown = copy_fields(shape, UnknownEntry, uuid=shape.id, type=shape.kind, raw=owned(shape.raw))
            return Decoded(unknown, notes)
        case shapes.SendLine():
            return Decoded(_send(shape), notes)
        case shapes.OutcomeLine():
            return Decoded(copy_fields(shape, OutcomeRecord), notes)
        case shapes.EventLine():
            return Decoded(copy_fields(shape, PrefixEvent), notes)
        case _:
            assert_never(shape)


def _user(shape: shapes.UserLine, text: bytes, notes: tuple[str, ...]) -> Decoded:
    parsed = parsed_content(shape.content)
    if parsed is None:
        return _odd_shape(text, "content is neither text nor a list of blocks", notes)
    origin = known_origin(shape.origin)
    if origin.value != shape.origin:
        notes = (*notes, f"an unknown origin {shape.origin!r} is read as {origin.value!r}")
    entry = UserEntry(
        uuid=shape.id,
        parent=shape.parent,
        time=shape.time,
        content=parsed.blocks,
        origin=origin,
        is_meta=shape.meta,
        extra=_extra(text, shape),
    )
    return Decoded(entry, notes + parsed.notes)


def _assistant(shape: shapes.AssistantLine, text: bytes, notes: tuple[str, ...]) -> Decoded:
    parsed = parsed_content(shape.content)
    if parsed is None:
        return _odd_shape(text, "content is neither text nor a list of blocks", notes)
    entry = copy_fields(shape, AssistantEntry, uuid=shape.id, content=parsed.blocks, extra=_extra(text, shape))
    return Decoded(entry, notes + parsed.notes)


def _send(shape: shapes.SendLine) -> SendRecord:
    return copy_fields(
        shape,
        SendRecord,
        sent=tuple(copy_fields(sent, SentEntry) for sent in shape.sent),
        markers=tuple(copy_fields(marker, MarkerPlan) for marker in shape.markers),
        options=_options(shape.options),
        events=tuple(copy_fields(event, PrefixEvent) for event in shape.events),
        gathered=tuple(copy_fields(one, Gathered) for one in shape.gathered),
    )


def _options_shape(options: RequestOptions) -> shapes.OptionsShape:
    absent = {name: shapes.ABSENT for name in _RAW_OPTIONS if getattr(options, name) is None}
    return copy_fields(options, shapes.OptionsShape, **absent)


def _options(shape: shapes.OptionsShape) -> RequestOptions:
    raw = {name: _present(getattr(shape, name)) for name in _RAW_OPTIONS}
    return copy_fields(shape, RequestOptions, **raw)


def _decode_odd(text: bytes, line: int, notes: tuple[str, ...]) -> Decoded:
    """A line that is no record as it stands: repaired text first, then the unknown door, then damage."""
    repaired = repaired_json(text)
    if repaired is None:
        return Decoded(Damaged(line, "NUL bytes inside the record" if b"\0" in text else "not JSON"))
    if repaired != text:
        notes = (*notes, "invalid text was replaced by U+FFFD")
        try:
            return _from_line(_decode_shape(repaired), repaired, notes)
        except msgspec.MsgspecError:
            pass
    fields = fields_of(repaired)
    if fields is None:
        return Decoded(Damaged(line, "JSON, but not an object"))
    if text_field(fields, "type") is None:
        return Decoded(Damaged(line, "an object without a type"))
    return _odd_shape(repaired, "its type or shape is not known to this version", notes)


def _odd_shape(text: bytes, why: str, notes: tuple[str, ...]) -> Decoded:
    fields = fields_of(text) or {}
    kind = text_field(fields, "type") or "?"
    entry = UnknownEntry(
        uuid=text_field(fields, "id") or "",
        parent=text_field(fields, "parent"),
        time=text_field(fields, "time") or "",
        type=kind,
        raw=Raw(text),
    )
    return Decoded(entry, (*notes, f"a {kind!r} record is kept but not used: {why}"))


def _present(raw: Raw) -> Raw | None:
    return None if bytes(raw) == bytes(shapes.ABSENT) else owned(raw)


_RAW_OPTIONS = (
    "thinking",
    "tool_choice",
    "metadata",
    "context_management",
    "output_config",
    "diagnostics",
    "compaction",
)
_FIELDS = {shape: frozenset((*shape.__struct_fields__, "type")) for shape in get_args(shapes.Line)}
_decode_shape = msgspec.json.Decoder(shapes.Line).decode
