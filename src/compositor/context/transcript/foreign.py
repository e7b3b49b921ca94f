"""Records of the Claude Code family (project-conventions 10.2, 10.3) as the same entries that our own transcripts hold.

Decides what each foreign record becomes and which are left out, and says so (law 9). What was stored beside a message for
the person watching (`toolUseResult`) is ignored. Never sends anything and never changes the source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from compositor.types.attachments import UnknownAttachment
from compositor.types.blocks import ContentBlock, ToolResultBlock, ToolUseBlock, parse_content
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    Origin,
    TranscriptEntry,
    UnknownEntry,
    UserEntry,
)
from compositor.types.json import EMPTY_OBJECT, repair_raw
from compositor.types.usage import Usage

from .codec import Damaged
from .load import STEP, Transcript, damage_report, split_torn
from .raw import BLANK, Fields, fields_of, is_true, repaired_json, text_field

CHAIN_TYPES = ("user", "assistant", "system", "attachment", "progress")


class _Record(Struct, frozen=True, kw_only=True):
    """A chain record with its envelope taken apart; `raw` is the whole record."""

    line: int
    type: str
    uuid: str
    parent: str | None
    time: str
    sidechain: bool
    fields: dict[str, Raw]
    raw: Raw


class _Read(NamedTuple):
    records: list[_Record]
    damaged: tuple[Damaged, ...]
    left_out: Counter[str]
    torn: tuple[Diagnostic, ...]


class _Converted(Struct, frozen=True):
    entry: TranscriptEntry
    notes: tuple[str, ...] = ()


def load_foreign(lines: Iterable[bytes]) -> Transcript:
    """The conversation in `lines`; sidechains stand apart. A file of sidechain records only is that conversation."""
    records, damaged, left_out, torn = _read(lines)
    told = [record for record in records if record.type != "progress"]
    main = [record for record in told if not record.sidechain]
    side = [record for record in told if record.sidechain]
    diagnostics = [*torn, *damage_report(damaged), *_left_out_report(left_out)]
    if side and not any(record.type in _SPOKEN for record in main):
        diagnostics.append(_info("sidechain_file", "The file holds a sidechain only; it is read as the conversation."))
        main, side = told, []
    parents = _parents(records, {record.uuid for record in main})
    parents |= _parents(records, {record.uuid for record in told}, of=side)
    entries, main_notes = _entries(main, parents)
    sidechains, side_notes = _entries(side, parents)
    diagnostics += [_noted(note, lines) for note, lines in (main_notes | side_notes).items()]
    return Transcript(entries=entries, sidechains=sidechains, damaged=damaged, diagnostics=tuple(diagnostics))


def _read(lines: Iterable[bytes]) -> _Read:
    records: list[_Record] = []
    damaged: list[Damaged] = []
    left_out: Counter[str] = Counter()
    time, number, line = "", 0, b""
    for number, line in enumerate(lines, start=1):
        text, fields, problem = _decode(line)
        if problem:
            damaged.append(Damaged(number, problem))
            continue
        kind, uuid = text_field(fields, "type") or "?", text_field(fields, "uuid")
        if kind == "progress" or kind not in CHAIN_TYPES or not uuid:
            left_out[kind] += 1
        if kind not in CHAIN_TYPES or not uuid:
            continue
        # A record without a time happened when the one before it did.
        time = text_field(fields, "timestamp") or time
        # A compact boundary names what came before it in a field of its own.
        parent = text_field(fields, "parentUuid") or text_field(fields, "logicalParentUuid") or None
        sidechain = is_true(fields, "isSidechain")
        records.append(
            _Record(
                line=number,
                type=kind,
                uuid=uuid,
                parent=parent,
                time=time,
                sidechain=sidechain,
                fields=fields,
                raw=Raw(text),
            )
        )
    skipped, torn = split_torn(damaged, number, line)
    return _Read(records, skipped, left_out, torn)


def _parents(records: list[_Record], kept: set[str], of: list[_Record] | None = None) -> dict[str, str | None]:
    """The nearest ancestor that is kept, for each kept record; a parent that is not in the file stays as it is."""
    stored = {record.uuid: record.parent for record in records}
    nearest: dict[str, str | None] = {}
    for record in records if of is None else of:
        if record.uuid not in kept:
            continue
        parent, seen = record.parent, {record.uuid}
        while parent in stored and parent not in kept and parent not in seen:
            seen.add(parent)
            parent = stored[parent]
        nearest.setdefault(record.uuid, parent)
    return nearest


def _entries(
    records: list[_Record], parents: Mapping[str, str | None]
) -> tuple[tuple[TranscriptEntry, ...], dict[str, list[int]]]:
    """The entries, and each note with the lines it stands for."""
    entries: list[TranscriptEntry] = []
    notes: dict[str, list[int]] = {}
    for record in records:
        converted = _convert(record, parents[record.uuid])
        entries.append(converted.entry)
        for note in converted.notes:
            notes.setdefault(note, []).append(record.line)
    return _with_stop_reasons(entries), notes


def _convert(record: _Record, parent: str | None) -> _Converted:
    match record.type:
        case "user":
            return _user(record, parent)
        case "assistant":
            return _assistant(record, parent)
        case "attachment":
            raw = record.fields.get("attachment", EMPTY_OBJECT)
            attachment = UnknownAttachment(kind=text_field(_object(raw), "type") or "?", raw=repair_raw(raw))
            entry = AttachmentEntry(uuid=record.uuid, parent=parent, time=record.time, attachment=attachment)
            return _Converted(entry)
        case _:
            return _Converted(_marker(record, parent, text_field(record.fields, "subtype") or "notice"))


def _user(record: _Record, parent: str | None) -> _Converted:
    try:
        parsed = parse_content(_object(record.fields["message"])["content"])
    except (KeyError, ValueError, RecursionError):
        return _unknown(record, parent)
    entry = UserEntry(
        uuid=record.uuid,
        parent=parent,
        time=record.time,
        content=parsed.blocks,
        origin=_origin(record.fields, typed=not record.sidechain and not _has_results(parsed.blocks)),
        is_meta=is_true(record.fields, "isMeta"),
    )
    return _Converted(entry, parsed.notes)


def _assistant(record: _Record, parent: str | None) -> _Converted:
    if is_true(record.fields, "isApiErrorMessage"):
        return _Converted(_marker(record, parent, "api_error_message"), ("an error shown as an answer is not sent",))
    try:
        message = _object(record.fields["message"])
        parsed = parse_content(message["content"])
    except (KeyError, ValueError, RecursionError):
        return _unknown(record, parent)
    usage, notes = _usage(message)
    entry = AssistantEntry(
        uuid=record.uuid,
        parent=parent,
        time=record.time,
        message_id=text_field(message, "id") or record.uuid,
        model=text_field(message, "model") or "?",
        content=parsed.blocks,
        stop_reason=text_field(message, "stop_reason"),
        usage=usage,
    )
    return _Converted(entry, parsed.notes + notes)


def _with_stop_reasons(entries: list[TranscriptEntry]) -> tuple[TranscriptEntry, ...]:
    """Give answers the stop reason that their client did not store.

    A block is stored when it is complete, mostly before the reason is known. Every record of one message gets the same.
    """
    stored: dict[str, str] = {}
    calling: set[str] = set()
    for entry in entries:
        if isinstance(entry, AssistantEntry):
            if entry.stop_reason is not None:
                stored[entry.message_id] = entry.stop_reason
            if any(isinstance(block, ToolUseBlock) for block in entry.content):
                calling.add(entry.message_id)
    return tuple(_with_stop_reason(entry, stored, calling) for entry in entries)


def _with_stop_reason(entry: TranscriptEntry, stored: Mapping[str, str], calling: set[str]) -> TranscriptEntry:
    if not isinstance(entry, AssistantEntry):
        return entry
    reason = stored.get(entry.message_id) or ("tool_use" if entry.message_id in calling else "end_turn")
    return entry if reason == entry.stop_reason else msgspec.structs.replace(entry, stop_reason=reason)


def _marker(record: _Record, parent: str | None, subtype: str) -> MarkerEntry:
    return MarkerEntry(uuid=record.uuid, parent=parent, time=record.time, subtype=subtype, detail=record.raw)


def _unknown(record: _Record, parent: str | None) -> _Converted:
    entry = UnknownEntry(uuid=record.uuid, parent=parent, time=record.time, type=record.type, raw=record.raw)
    return _Converted(entry, (f"a {record.type!r} record has an unknown shape; it is kept but not used",))


def _has_results(blocks: tuple[ContentBlock, ...]) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in blocks)


def _origin(fields: Fields, *, typed: bool) -> Origin:
    """Who spoke, where the record says so. Nothing but the stored fields can set it (R355).

    A prompt without the field is a person's; results, notes of the client, summaries and prompts of subagents are nobody's.
    """
    if "origin" in fields:
        return _ORIGINS.get(text_field(_object(fields["origin"]), "kind") or "", Origin.UNCLASSIFIED)
    machine_made = is_true(fields, "isMeta") or is_true(fields, "isCompactSummary")
    return Origin.HUMAN if typed and not machine_made else Origin.UNCLASSIFIED


def _usage(message: Fields) -> tuple[Usage | None, tuple[str, ...]]:
    if "usage" not in message:
        return None, ()
    try:
        return msgspec.json.decode(message["usage"], type=Usage | None), ()
    except msgspec.MsgspecError:
        return None, ("token usage of an unknown shape was left out",)


def _decode(line: bytes) -> tuple[bytes, dict[str, Raw], str]:
    """The record's text and fields, or what is wrong with the line."""
    text = line.strip(BLANK)
    if not text:
        return text, {}, "NUL bytes instead of a record" if b"\0" in line else "an empty line"
    fields = fields_of(text) if _is_utf8(text) else None
    if fields is not None:
        return text, fields, ""
    repaired = repaired_json(text)
    if repaired is None:
        return text, {}, "not JSON"
    fields = fields_of(repaired)
    return (text, {}, "JSON, but not an object") if fields is None else (repaired, fields, "")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _object(raw: Raw) -> dict[str, Raw]:
    """The fields of an object; none for anything else."""
    return fields_of(repair_raw(raw)) or {}


def _left_out_report(left_out: Counter[str]) -> list[Diagnostic]:
    return [
        _info(
            "left_out", f"{count} {kind!r} {'record is' if count == 1 else 'records are'} no part of the conversation."
        )
        for kind, count in sorted(left_out.items())
    ]


def _noted(note: str, lines: list[int]) -> Diagnostic:
    times = f" ({len(lines)} times)" if len(lines) > 1 else ""
    return Diagnostic("transcript.record", f"In the record, {note}{times}.", f"line {lines[0]}", step=STEP)


def _info(code: str, message: str) -> Diagnostic:
    return Diagnostic(f"transcript.{code}", message, severity=Severity.INFO, step=STEP)


_SPOKEN = ("user", "assistant")
_ORIGINS = {origin.value.replace("_", "-"): origin for origin in Origin}
