"""What is known of a session when it goes on: its active path with everything it says, and the journal that concerns it.

Decides how much of a file is decoded for that: the entries of the path, and the journal since the compaction that the
path begins at. Never reads a file and never decides what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic
from compositor.types.journal import OutcomeRecord, SendOutcome, SendRecord
from compositor.types.snapshot import PrefixEvent

from .boundary import SUBTYPE
from .codec import Damaged, SessionHeader, decode_line
from .graph import Path, active_path
from .journal import Journal, build_journal
from .load import Transcript, TranscriptFormat
from .outline import Outline, Place, fill_path, outlined_path


class History(Struct, frozen=True, kw_only=True):
    """One session, ready to go on. `journal` holds what concerns the path; sends before a compaction do not."""

    format: TranscriptFormat
    header: SessionHeader | None = None
    path: Path = Path()
    journal: Journal = Journal()
    damaged: tuple[Damaged, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def history_of_outline(outline: Outline, read: Callable[[Place], bytes], leaf: str | None = None) -> History:
    """The history in a file of ours, to `leaf` or to where the session stands; `read` gives the bytes of a line."""
    path = fill_path(outlined_path(outline, leaf), outline, read)
    return History(
        format=TranscriptFormat.OWN,
        header=outline.header,
        path=path,
        journal=_journal(outline, _begins_at(path, outline), read),
        damaged=outline.damaged,
        diagnostics=(*outline.diagnostics, *path.diagnostics),
    )


def history_of_transcript(transcript: Transcript, format: TranscriptFormat, leaf: str | None = None) -> History:
    """The history in a transcript that was read as a whole."""
    path = active_path(transcript.entries, leaf)
    return History(
        format=format,
        header=transcript.header,
        path=path,
        journal=transcript.journal,
        damaged=transcript.damaged,
        diagnostics=(*transcript.diagnostics, *path.diagnostics),
    )


def _begins_at(path: Path, outline: Outline) -> int:
    """The line of the boundary that the path begins at, 0 without one."""
    if not path.summarized:
        return 0
    return next((outline.lines[one.uuid] for one in path.markers if one.subtype == SUBTYPE), 0)


def _journal(outline: Outline, since: int, read: Callable[[Place], bytes]) -> Journal:
    """The records from line `since` on; before it only as far back as the newest answered request."""
    return build_journal(reversed(list(_backwards(outline, since, read))))


def _backwards(
    outline: Outline, since: int, read: Callable[[Place], bytes]
) -> Iterable[SendRecord | OutcomeRecord | PrefixEvent]:
    answered: set[str] = set()
    found = False
    for line in reversed(outline.journal):
        if line < since and found:
            return
        record = decode_line(read(outline.place(line)), line=line)
        if isinstance(record, OutcomeRecord) and record.outcome is SendOutcome.ANSWERED:
            answered.add(record.request_id)
        if isinstance(record, SendRecord):
            found = found or record.request_id in answered
        if isinstance(record, SendRecord | OutcomeRecord | PrefixEvent):
            yield record
