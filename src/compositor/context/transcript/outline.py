"""A session in outline: which records there are and where they lie in the file, without what they say.

Decides what of a line must be known to find the active path: ids, links, times, kinds, message ids and the calls that
results answer. One pass over the lines, so that opening a long session costs a scan of the file and the decoding of its
active path. Never reads a file; what it holds of an entry is never sent.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, assert_never

import msgspec
from msgspec import Struct

from compositor.errors import TranscriptFormatError
from compositor.types.attachments import UnknownAttachment
from compositor.types.blocks import ToolResultBlock
from compositor.types.diagnostics import Diagnostic
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    ProgressEntry,
    TranscriptEntry,
    UnknownEntry,
    UserEntry,
)
from compositor.types.journal import OutcomeRecord, SendRecord
from compositor.types.json import EMPTY_OBJECT
from compositor.types.servers import DEFERRED_TOOLS
from compositor.types.snapshot import EventName, PrefixEvent
from compositor.types.usage import Usage

from . import shapes
from .boundary import SUBTYPE
from .codec import Damaged, Decoded, SessionHeader, decode_with_notes
from .graph import Path, active_path
from .load import check_version, damage_report, note_of, split_torn
from .raw import owned
from .rejoin import answers_of, join_parts


class Place(Struct, frozen=True):
    """Where a line lies: its byte offset, its length with the line feed, and its number from 1."""

    offset: int
    size: int
    line: int


class Outline(Struct, frozen=True, kw_only=True):
    """What one pass over a file tells.

    `entries` hold no content but the ids of answered calls; `lines` has the line of each, `journal` those of sends,
    outcomes and events in file order, `offsets` where each line begins and, last, where the file ends. `rewound` is the
    event of the last rewind when no message was stored after it.
    """

    header: SessionHeader | None
    entries: tuple[TranscriptEntry, ...]
    lines: dict[str, int]
    journal: tuple[int, ...]
    offsets: Sequence[int]
    rewound: PrefixEvent | None
    damaged: tuple[Damaged, ...]
    diagnostics: tuple[Diagnostic, ...]

    def place(self, line: int) -> Place:
        offset = self.offsets[line - 1]
        return Place(offset, self.offsets[line] - offset, line)


def outline_transcript(lines: Iterable[bytes]) -> Outline:
    """Scan a file of our own format. Raises `TranscriptFormatError` when a later version wrote it."""
    scan = _Scan()
    offsets = array("Q", [0])
    offset, number, line = 0, 0, b""
    for number, line in enumerate(lines, start=1):
        offset += len(line)
        offsets.append(offset)
        try:
            light = _decode_light(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            # Not as a record of ours should be: the codec knows what it is.
            scan.take(decode_with_notes(line, line=number), number)
            continue
        if isinstance(light, _LightSend):
            scan.journal.append(number)
        elif isinstance(light, shapes.EventLine):
            scan.take(decode_with_notes(line, line=number), number)
        else:
            scan.add(_entry(light), number)
    skipped, torn = split_torn(scan.damaged, number, line)
    return Outline(
        header=scan.header,
        entries=tuple(scan.entries),
        lines=scan.lines,
        journal=tuple(scan.journal),
        offsets=offsets,
        rewound=scan.rewound,
        damaged=skipped,
        diagnostics=(*scan.diagnostics, *torn, *damage_report(skipped)),
    )


def outlined_path(outline: Outline, leaf: str | None = None) -> Path:
    """The path of the outline: to `leaf`, else to where the session was rewound to, else to its newest message."""
    rewound = outline.rewound
    if leaf is None and rewound is not None:
        if rewound.entry is None:
            return Path()
        leaf = rewound.entry
    return active_path(outline.entries, leaf)


def fill_path(path: Path, outline: Outline, read: Callable[[Place], bytes]) -> Path:
    """`path` with everything its entries say; `read` gives the bytes of a line."""
    notes: list[Diagnostic] = []

    def decode(uuid: str) -> TranscriptEntry:
        place = outline.place(outline.lines[uuid])
        decoded = decode_with_notes(read(place), line=place.line)
        notes.extend(note_of(note, place.line) for note in decoded.notes)
        if not isinstance(decoded.record, UserEntry | AssistantEntry | AttachmentEntry | MarkerEntry):
            raise TranscriptFormatError(f"record {uuid!r} is not what it was when it was found", line=place.line)
        return decoded.record

    def whole(entry: TranscriptEntry) -> TranscriptEntry:
        parts = [decode(uuid) for uuid in path.joined.get(entry.uuid, (entry.uuid,))]
        return parts[0] if len(parts) == 1 else join_parts([part for part in parts if isinstance(part, AssistantEntry)])

    entries = tuple([whole(entry) for entry in path.entries])
    markers = tuple([one for marker in path.markers if isinstance(one := decode(marker.uuid), MarkerEntry)])
    return msgspec.structs.replace(path, entries=entries, markers=markers, diagnostics=(*notes, *path.diagnostics))


class _Scan:
    """What one pass over the lines has gathered."""

    def __init__(self) -> None:
        self.header: SessionHeader | None = None
        self.entries: list[TranscriptEntry] = []
        self.lines: dict[str, int] = {}
        self.journal: list[int] = []
        self.rewound: PrefixEvent | None = None
        self.damaged: list[Damaged] = []
        self.diagnostics: list[Diagnostic] = []

    def add(self, entry: TranscriptEntry, line: int) -> None:
        self.entries.append(entry)
        self.lines.setdefault(entry.uuid, line)
        if self.rewound is not None and isinstance(entry, UserEntry | AssistantEntry):
            self.rewound = None

    def take(self, decoded: Decoded, line: int) -> None:
        record = decoded.record
        self.diagnostics += [note_of(note, line) for note in decoded.notes]
        if isinstance(record, Damaged):
            self.damaged.append(record)
        elif isinstance(record, SessionHeader):
            check_version(record, line)
            self.header = self.header or record
        elif isinstance(record, SendRecord | OutcomeRecord | PrefixEvent):
            self.journal.append(line)
            if isinstance(record, PrefixEvent) and record.name in _MOVES:
                self.rewound = record
        elif not isinstance(record, UnknownEntry) or record.uuid:
            self.add(_emptied(record), line)


_MOVES = (EventName.REWIND, EventName.CLEAR)
"""Events behind which a session goes on from elsewhere: from an entry, or from nothing."""


class _LightBlock(Struct, frozen=True, gc=False):
    type: str = ""
    tool_use_id: str = ""


class _LightUser(Struct, frozen=True, kw_only=True, tag="user"):
    id: str
    parent: str | None
    time: str
    origin: str = "human"
    meta: bool = False
    content: list[_LightBlock]


class _LightAssistant(Struct, frozen=True, kw_only=True, tag="assistant"):
    id: str
    parent: str | None
    time: str
    message_id: str
    model: str
    stop_reason: str | None
    usage: Usage | None = None
    prefix_digest: str | None = None
    content: list[_LightBlock]


class _LightSend(Struct, frozen=True, gc=False, tag="send"):
    request_id: str


class _LightOutcome(_LightSend, frozen=True, gc=False, tag="outcome"):
    pass


_Light: TypeAlias = (
    _LightUser
    | _LightAssistant
    | shapes.AttachmentLine
    | shapes.MarkerLine
    | shapes.UnknownLine
    | _LightSend
    | _LightOutcome
    | shapes.EventLine
)
_LightEntry: TypeAlias = _LightUser | _LightAssistant | shapes.AttachmentLine | shapes.MarkerLine | shapes.UnknownLine
_decode_light = msgspec.json.Decoder(_Light).decode


def _entry(light: _LightEntry) -> TranscriptEntry:
    match light:
        case _LightUser():
            results = [
                block.tool_use_id for block in light.content if block.type == "tool_result" and block.tool_use_id
            ]
            return UserEntry(
                uuid=light.id,
                parent=light.parent,
                time=light.time,
                content=tuple([ToolResultBlock(call) for call in results]),
                is_meta=light.meta,
            )
        case _LightAssistant():
            return AssistantEntry(
                uuid=light.id,
                parent=light.parent,
                time=light.time,
                message_id=light.message_id,
                model="",
                content=(),
                stop_reason=light.stop_reason,
            )
        case shapes.AttachmentLine():
            return AttachmentEntry(uuid=light.id, parent=light.parent, time=light.time, attachment=_NO_ATTACHMENT)
        case shapes.MarkerLine():
            # A view would keep the whole line alive.
            detail = owned(light.detail) if light.subtype in _NEEDED else EMPTY_OBJECT
            return MarkerEntry(
                uuid=light.id, parent=light.parent, time=light.time, subtype=light.subtype, detail=detail
            )
        case shapes.UnknownLine():
            return UnknownEntry(uuid=light.id, parent=light.parent, time=light.time, type=light.kind, raw=EMPTY_OBJECT)
        case _:
            assert_never(light)


def _emptied(entry: TranscriptEntry) -> TranscriptEntry:
    """An entry that the codec had to read, without what it says."""
    match entry:
        case UserEntry():
            results = tuple(ToolResultBlock(call) for call in sorted(answers_of(entry)))
            return msgspec.structs.replace(entry, content=results, extra=EMPTY_OBJECT)
        case AssistantEntry():
            return msgspec.structs.replace(entry, content=(), usage=None, extra=EMPTY_OBJECT)
        case AttachmentEntry():
            return msgspec.structs.replace(entry, attachment=_NO_ATTACHMENT, extra=EMPTY_OBJECT)
        case MarkerEntry():
            detail = entry.detail if entry.subtype in _NEEDED else EMPTY_OBJECT
            return msgspec.structs.replace(entry, detail=detail, extra=EMPTY_OBJECT)
        case UnknownEntry():
            return msgspec.structs.replace(entry, raw=EMPTY_OBJECT)
        case ProgressEntry():
            return entry
        case _:
            assert_never(entry)


# Markers without whose detail the path could not be gone on with.
_NEEDED = frozenset({SUBTYPE, DEFERRED_TOOLS})
_NO_ATTACHMENT = UnknownAttachment(kind="", raw=EMPTY_OBJECT)
