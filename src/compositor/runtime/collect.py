"""Asks the collector for what the model should be told next, within a deadline.

Decides what counts as reaching a file, and that a collector which fails or is slow costs its notes and nothing else (law 6).
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from compositor.ports import Collected, Collector, Moment
from compositor.runtime.driver import Workshop
from compositor.types.diagnostics import Diagnostic
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

DEADLINE = 1.0
"""Seconds that a request waits for notes (R201)."""

REACHING: frozenset[str] = frozenset({"Read", "Edit", "Write", "NotebookEdit"})
"""Tools that work on a file; a search through folders reaches nothing (project-conventions 1.2)."""


def reached_paths(calls: Sequence[ToolCall], outcomes: Sequence[ToolOutcome], workshop: Workshop) -> tuple[str, ...]:
    """The absolute paths of the files that these calls worked on, in call order."""
    done = {outcome.call_id for outcome in outcomes if outcome.kind is OutcomeKind.DONE}
    scope = workshop.scope()
    paths = (
        path
        for call in calls
        if call.id in done and call.name in REACHING and call.name in workshop.tools
        for path in workshop.tools[call.name].paths(call, scope)
    )
    return tuple(dict.fromkeys(paths))


async def collect_notes(collector: Collector, moment: Moment) -> Collected:
    """What the collector has, or why it has nothing."""
    with anyio.move_on_after(DEADLINE):
        try:
            return await collector.collect(moment)
        except Exception as problem:  # noqa: BLE001 - what is missing may never end a turn (R203)
            return _nothing(f"{type(problem).__name__}: {problem}")
    return _nothing(f"it took longer than {DEADLINE:g} s")


def _nothing(reason: str) -> Collected:
    message = f"No notes were collected for this request: {reason}"
    return Collected(diagnostics=(Diagnostic("collect.failed", message, step="collect"),))
