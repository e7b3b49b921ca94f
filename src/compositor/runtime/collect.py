"""Asks every source for what the model should be told next: all at once, under one deadline, each on its own (R201 to R207).

Decides what counts as reaching a file, and that a source which fails or is slow costs its notes and nothing else (law 6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec
from msgspec import Struct

from compositor.ports import Collector
from compositor.runtime.driver import Workshop
from compositor.types.attachments import Attachment, TextAttachment
from compositor.types.collected import Collected, Moment
from compositor.types.diagnostics import Diagnostic
from compositor.types.gathering import FactState, Gathered
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

DEADLINE = 1.0
"""Seconds that a request waits for notes (R201)."""

MISSING = "missing_fact"
"""The kind of a note that says what could not be had."""

REACHING: frozenset[str] = frozenset({"Read", "Edit", "Write", "NotebookEdit"})
"""Tools that work on a file; a search through folders reaches nothing (project-conventions 1.2)."""

Spawn = Callable[[Callable[[], Awaitable[None]]], None]


class Source(Struct, frozen=True, kw_only=True):
    """A collector with its name. `matters`: what the model is told to be unknown when this source has nothing; empty where it can do without."""

    name: str
    collector: Collector
    matters: str = ""


class Notes(Struct, frozen=True, kw_only=True):
    """One collection: notes in the order of their sources, remarks, and how each source stood."""

    attachments: tuple[Attachment, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    gathered: tuple[Gathered, ...] = ()

    @property
    def seconds(self) -> float:
        """How long the request waited."""
        return sum(one.waited for one in self.gathered)


class _Run:
    """One source at work. `found` stays `None` until it is done."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.scope = anyio.CancelScope()
        self.found: Collected | None = None
        self.problem = ""
        self.ended: float | None = None

    async def __call__(self, moment: Moment, done: Callable[[], None]) -> None:
        with self.scope:
            try:
                self.found = await self.source.collector.collect(moment)
            except Exception as problem:  # noqa: BLE001 - what is missing may never end a turn (R203)
                self.problem = f"{type(problem).__name__}: {problem}"
        self.ended = anyio.current_time()
        done()


class Collection:
    """The sources of one session. `spawn` runs a source beside the session, so that one which ignores the signal delays nobody (R202)."""

    def __init__(self, sources: Sequence[Source], spawn: Spawn | None = None, deadline: float = DEADLINE) -> None:
        self._sources = tuple(sources)
        self._spawn = spawn
        self._deadline = deadline
        self._busy: dict[str, _Run] = {}
        self._missing: set[str] = set()

    async def collect(self, moment: Moment) -> Notes:
        """What all sources have, within the deadline. A source that still works on an earlier call is not asked again."""
        began = anyio.current_time()
        runs = [_Run(source) for source in self._sources if not self._is_busy(source.name)]
        if self._spawn is not None:
            await self._beside(runs, moment, self._spawn)
        else:
            with anyio.move_on_after(self._deadline):
                async with anyio.create_task_group() as tasks:
                    for run in runs:
                        tasks.start_soon(run, moment, _nothing)
        self._busy.update({run.source.name: run for run in runs if run.ended is None})
        return self._notes(runs, began, anyio.current_time())

    async def _beside(self, runs: Sequence[_Run], moment: Moment, spawn: Spawn) -> None:
        """Wait until all are done, at most to the deadline; then the signal is raised and nobody is waited for."""
        finished = anyio.Event()
        left = len(runs)

        def done() -> None:
            nonlocal left
            left -= 1
            if not left:
                finished.set()

        def started(run: _Run) -> Callable[[], Awaitable[None]]:
            return lambda: run(moment, done)

        for run in runs:
            spawn(started(run))
        if runs:
            with anyio.move_on_after(self._deadline):
                await finished.wait()
        for run in runs:
            if run.ended is None:
                run.scope.cancel()

    def _is_busy(self, name: str) -> bool:
        run = self._busy.get(name)
        if run is not None and run.ended is not None:
            del self._busy[name]
            return False
        return run is not None

    def _notes(self, runs: Sequence[_Run], began: float, now: float) -> Notes:
        by_name = {run.source.name: run for run in runs}
        waits = _waits(runs, began, now)
        attachments: list[Attachment] = []
        remarks: list[Diagnostic] = []
        gathered: list[Gathered] = []
        for source in self._sources:
            run = by_name.get(source.name)
            state, reason, found = self._outcome(run)
            attachments += found.attachments
            remarks += (*found.diagnostics, *_remark(source, state, reason))
            attachments += self._absence(source, state, reason)
            if found.taken is not None:
                found.taken()
            gathered.append(
                Gathered(
                    name=source.name,
                    state=state,
                    seconds=0.0 if run is None else (run.ended or now) - began,
                    size=sum(len(msgspec.json.encode(note)) for note in found.attachments),
                    waited=waits.get(source.name, 0.0),
                    reason=reason,
                )
            )
        return Notes(attachments=tuple(attachments), diagnostics=tuple(remarks), gathered=tuple(gathered))

    def _outcome(self, run: _Run | None) -> tuple[FactState, str, Collected]:
        if run is None:
            return FactState.LATE, "an earlier look has not come back yet", Collected()
        if run.problem:
            return FactState.FAILED, run.problem, Collected()
        if run.found is None:
            return FactState.LATE, f"it took longer than {self._deadline:g} s", Collected()
        if run.found.stale:
            return FactState.STALE, run.found.stale, run.found
        return FactState.FRESH, "", run.found

    def _absence(self, source: Source, state: FactState, reason: str) -> tuple[TextAttachment, ...]:
        """What the model is told to be unknown: once, until the source has come back."""
        if state in {FactState.FRESH, FactState.STALE}:
            self._missing.discard(source.name)
            return ()
        if not source.matters or source.name in self._missing:
            return ()
        self._missing.add(source.name)
        return (TextAttachment(kind=MISSING, name=source.name, text=f"{source.matters} ({state.value}: {reason})."),)


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


def _waits(runs: Sequence[_Run], began: float, now: float) -> dict[str, float]:
    """Source to the seconds that were waited for it after all quicker ones were done."""
    waits: dict[str, float] = {}
    before = began
    for ended, name in sorted((min(run.ended or now, now), run.source.name) for run in runs):
        waits[name] = max(0.0, ended - before)
        before = max(before, ended)
    if runs:
        waits[name] += max(0.0, now - before)
    return waits


def _remark(source: Source, state: FactState, reason: str) -> tuple[Diagnostic, ...]:
    if state is FactState.FRESH:
        return ()
    message = f"{source.name}: nothing was collected for this request ({state.value}): {reason}"
    return (Diagnostic(f"collect.{state.value}", message, step="collect"),)


def _nothing() -> None:
    pass
