"""Sees that each row of the failure matrix gives one structured event (R395).

Decides by which event, remark or omission a row is known; the words are `loop/failure_matrix.py`'s. Changes nothing: what was done about a failure was
done where it happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compositor.context.attachments.restore import DAMAGED
from compositor.context.compaction.restore import UNSHOWN
from compositor.context.freshness.changed import TOO_LONG, TOUCHED
from compositor.context.messages.pairs import STEP as PAIRS
from compositor.loop import failure_matrix as matrix
from compositor.loop.failure_matrix import FailureMet, met
from compositor.loop.remedies import DropLane, DropTurnScope, SpareSystemMarkers
from compositor.runtime.events import AgentEvent, Compacted, Mended, NotesCollected, RequestStarted, Watcher
from compositor.types.attachments import DiffAttachment
from compositor.types.diagnostics import Diagnostic
from compositor.types.gathering import FactState
from compositor.types.provenance import Omission


class FailureWatcher:
    """A watcher that tells `watch` of every event, and of the failure behind it. `remarks` are those of the opening of the session."""

    def __init__(self, watch: Watcher, remarks: Sequence[Diagnostic] = ()) -> None:
        self._watch = watch
        self._opening = [met(matrix.MALFORMED, one.message) for one in remarks if one.code == DAMAGED]
        self._seen: set[Omission] = set()

    def __call__(self, event: AgentEvent) -> None:
        opening, self._opening = self._opening, []
        for failure in opening:
            self._watch(failure)
        self._watch(event)
        for failure in self._behind(event):
            self._watch(failure)

    def _behind(self, event: AgentEvent) -> Iterator[FailureMet]:
        match event:
            case NotesCollected():
                yield from _collected(event)
            case Mended(cause=cause, remedy=DropLane() | DropTurnScope()):
                yield met(matrix.LANE, cause)
            case Mended(cause=cause, remedy=SpareSystemMarkers()):
                yield met(matrix.MARKER, cause)
            case RequestStarted(compiled=compiled):
                # What a round had repaired is named again with every later request: told once.
                fresh = [one for one in compiled.omissions if one.step == PAIRS and one not in self._seen]
                self._seen.update(fresh)
                yield from (met(matrix.PAIR, f"{one.what}: {one.reason}") for one in fresh)
            case Compacted(omissions=omissions):
                yield from (met(matrix.TOO_LARGE, one.what) for one in omissions if one.what.startswith(UNSHOWN))
            case _:
                pass


def _collected(event: NotesCollected) -> Iterator[FailureMet]:
    for source in event.gathered:
        if source.state in {FactState.LATE, FactState.FAILED}:
            yield met(matrix.GENERATOR, f"{source.name}: {source.reason}")
    for remark in event.diagnostics:
        if remark.code == TOUCHED:
            yield met(matrix.TOUCHED, remark.where)
    for note in event.attachments:
        if isinstance(note, DiffAttachment) and note.left_out == TOO_LONG:
            yield met(matrix.DIFFERENCES, note.path)
