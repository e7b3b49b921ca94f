"""Going back in a conversation: history stays as it is, a record says where it goes on from (R149).

Decides to which entry a rewind or an undo goes and what is recorded of it. Removes nothing: what is left behind is a branch.
"""

from __future__ import annotations

from collections.abc import Callable

from compositor.errors import TranscriptError
from compositor.types.entries import TranscriptEntry
from compositor.types.snapshot import EventName, PrefixEvent

from .boundary import SUBTYPE
from .graph import Path
from .outline import Outline


def plan_rewind(outline: Outline, entry: str) -> PrefixEvent:
    """The record of going back to `entry`, whichever branch it lies on; an unambiguous beginning of its id is enough.

    Raises `TranscriptError` when there is no such entry, and for a file with damaged lines: changing a history on an
    incomplete view would cut what nobody sees (F29).
    """
    refuse_damaged(outline)
    exact = [uuid for uuid in outline.lines if uuid == entry]
    found = exact or [uuid for uuid in outline.lines if entry and uuid.startswith(entry)]
    if len(found) != 1:
        problem = "there is no entry" if not found else "there is more than one entry"
        raise TranscriptError(f"{problem} {entry!r} in the session", hint="'compositor sessions show' lists them")
    return PrefixEvent(name=EventName.REWIND, cause="asked for by the user", entry=found[0])


def plan_undo(outline: Outline, path: Path, is_prompt: Callable[[TranscriptEntry], bool]) -> PrefixEvent:
    """The record of taking the last turn back: the last prompt of a person and all that came of it. Raises like `plan_rewind`."""
    refuse_damaged(outline)
    for place in range(len(path.entries) - 1, -1, -1):
        if is_prompt(path.entries[place]):
            before = path.entries[place - 1].uuid if place else None
            return PrefixEvent(name=EventName.REWIND, cause="the last turn was taken back", entry=before)
    raise TranscriptError("there is no turn to take back")


def plan_before(outline: Outline, path: Path, prompt: str) -> PrefixEvent:
    """The record of going back to where `prompt`, an entry of the path, had not been said yet. Raises like `plan_rewind`."""
    refuse_damaged(outline)
    place = next((at for at, entry in enumerate(path.entries) if entry.uuid == prompt), None)
    if place is None:
        raise TranscriptError(f"there is no prompt {prompt!r} in the conversation as it stands")
    before = path.entries[place - 1].uuid if place else None
    return PrefixEvent(name=EventName.REWIND, cause="asked for by the user", entry=before)


def plan_uncompact(outline: Outline, path: Path) -> PrefixEvent:
    """The record of taking the newest compaction back: the conversation goes on from where it was before it. Raises like `plan_rewind`."""
    refuse_damaged(outline)
    boundary = next((marker for marker in reversed(path.markers) if marker.subtype == SUBTYPE), None)
    if boundary is None:
        raise TranscriptError("there is no compaction to take back")
    return PrefixEvent(name=EventName.REWIND, cause="the compaction was taken back", entry=boundary.parent)


def refuse_damaged(outline: Outline) -> None:
    """Raises `TranscriptError` when lines of the file could not be read."""
    if outline.damaged:
        count = "1 damaged line" if len(outline.damaged) == 1 else f"{len(outline.damaged)} damaged lines"
        raise TranscriptError(
            f"the session has {count}; its history is not changed on an incomplete view",
            where=f"line {outline.damaged[0].line}",
            hint="'compositor sessions check' lists them; 'compositor sessions export' saves what can be read",
        )
