"""A whole transcript from its lines: header, entries, journal, and what had to be skipped.

Decides how lines are told apart and what is reported of them: damaged lines are skipped and counted, an unfinished last
line is one of its own (law 9, F29, F30). Never reads a file.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from compositor.errors import TranscriptFormatError
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.entries import TranscriptEntry, UnknownEntry
from compositor.types.journal import OutcomeRecord, SendRecord
from compositor.types.snapshot import PrefixEvent

from . import shapes
from .codec import Damaged, JournalRecord, SessionHeader, decode_with_notes
from .journal import Journal, build_journal
from .raw import BLANK

STEP = "transcript"


class _Telltale(Struct, frozen=True):
    """Fields that one of the two formats has and the other has not. `Any`: a line may hold anything."""

    type: Any = None
    version: Any = None
    id: Any = None
    request_id: Any = None
    uuid: Any = None
    session: Any = msgspec.field(default=None, name="sessionId")
    leaf: Any = msgspec.field(default=None, name="leafUuid")
    message: Any = msgspec.field(default=None, name="messageId")


class Transcript(Struct, frozen=True, kw_only=True):
    """What a file holds, in file order. `sidechains` are conversations of subagents: apart, never on the path.

    `damaged` lists every line that held no record; `diagnostics` speaks of them once.
    """

    header: SessionHeader | None = None
    entries: tuple[TranscriptEntry, ...] = ()
    journal: Journal = Journal()
    sidechains: tuple[TranscriptEntry, ...] = ()
    damaged: tuple[Damaged, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class TranscriptFormat(enum.StrEnum):
    OWN = "own"
    FOREIGN = "foreign"


def split_lines(data: bytes) -> list[bytes]:
    """The lines of a file, each with its line feed; nothing else ends a line (CR and U+2028 stand inside)."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def detect_format(lines: Sequence[bytes]) -> TranscriptFormat | None:
    """Whose records these first lines are; `None` when nothing tells. A few dozen lines are enough."""
    for line in lines:
        try:
            fields = msgspec.json.decode(line.strip(BLANK), type=_Telltale)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if fields.type == "session" and isinstance(fields.version, int):
            return TranscriptFormat.OWN
        if any(mark is not None for mark in (fields.session, fields.uuid, fields.leaf, fields.message)):
            return TranscriptFormat.FOREIGN
        if fields.id is not None or fields.request_id is not None:
            return TranscriptFormat.OWN
    return None


def load_transcript(lines: Iterable[bytes]) -> Transcript:
    """Read a file of our own format. Raises `TranscriptFormatError` when a later version wrote it."""
    header: SessionHeader | None = None
    entries: list[TranscriptEntry] = []
    journal: list[JournalRecord] = []
    damaged: list[Damaged] = []
    diagnostics: list[Diagnostic] = []
    number, line = 0, b""
    for number, line in enumerate(lines, start=1):
        decoded = decode_with_notes(line, line=number)
        record = decoded.record
        diagnostics += [note_of(note, number) for note in decoded.notes]
        if isinstance(record, Damaged):
            damaged.append(record)
        elif isinstance(record, SessionHeader):
            check_version(record, number)
            header = header or record
        elif isinstance(record, SendRecord | OutcomeRecord | PrefixEvent):
            journal.append(record)
        elif not isinstance(record, UnknownEntry) or record.uuid:
            entries.append(record)
    skipped, torn = split_torn(damaged, number, line)
    return Transcript(
        header=header,
        entries=tuple(entries),
        journal=build_journal(journal),
        damaged=skipped,
        diagnostics=(*diagnostics, *torn, *damage_report(skipped)),
    )


def damage_report(damaged: Sequence[Damaged]) -> tuple[Diagnostic, ...]:
    """One sentence for all damaged lines, or nothing."""
    if not damaged:
        return ()
    count = "1 damaged line" if len(damaged) == 1 else f"{len(damaged)} damaged lines"
    places = ", ".join(f"line {one.line} ({one.reason})" for one in damaged[:_NAMED])
    more = f" and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
    where = f"line {damaged[0].line}"
    return (Diagnostic("transcript.damaged_line", f"{count} skipped: {places}{more}.", where, step=STEP),)


def split_torn(
    damaged: Sequence[Damaged], number: int, last_line: bytes
) -> tuple[tuple[Damaged, ...], tuple[Diagnostic, ...]]:
    """Take an unfinished last line (the one with this `number`) out of the damage: it was never acknowledged."""
    if not damaged or damaged[-1].line != number or last_line.endswith(b"\n"):
        return tuple(damaged), ()
    torn = damaged[-1]
    message = f"The last line was not finished when the writer stopped ({torn.reason}); it is left out."
    note = Diagnostic("transcript.torn_tail", message, f"line {torn.line}", Severity.INFO, STEP)
    return tuple(damaged[:-1]), (note,)


def check_version(header: SessionHeader, line: int) -> None:
    """Raises `TranscriptFormatError` when a later version wrote the session."""
    if header.version > shapes.VERSION:
        raise TranscriptFormatError(
            f"session {header.session_id!r} was written in format version {header.version}; "
            f"this program reads up to {shapes.VERSION}",
            line=line,
            version=str(header.version),
            hint="Use the newer program that wrote it",
        )


def note_of(note: str, line: int) -> Diagnostic:
    """What was repaired or left out in a record."""
    return Diagnostic("transcript.record", f"In the record, {note}.", f"line {line}", step=STEP)


_NAMED = 5
