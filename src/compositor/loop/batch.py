"""The batch: the calls of one ended message, from gate to result.

Two rules: all state of a batch is in `BatchState`; no other file decides which call may run when. Neighboring shared calls form a group and run side
by side; an exclusive call is a group of its own. A group is judged and run when the one before it has finished, so that a gate always sees the
world its call will meet. Every call ends with an outcome, whatever stops it (F02).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from compositor.errors import UsageError
from compositor.loop.effects import BatchDone, BatchEffect, Judge, Run
from compositor.types.tools import Concurrency, OutcomeKind, ToolCall, ToolOutcome


class CallPhase(enum.StrEnum):
    WAITING = "waiting"
    JUDGING = "judging"
    ADMITTED = "admitted"
    RUNNING = "running"
    FINISHED = "finished"


class CallState(Struct, frozen=True, kw_only=True):
    number: int
    call: ToolCall
    group: int
    phase: CallPhase = CallPhase.WAITING
    outcome: ToolOutcome | None = None


class BatchState(Struct, frozen=True, kw_only=True):
    calls: tuple[CallState, ...]
    stopped: bool = False


class Admitted(Struct, frozen=True):
    """The gate lets the call through, with its final input."""

    call: ToolCall


class Refused(Struct, frozen=True):
    """The gate refuses; the outcome tells the model why."""

    outcome: ToolOutcome


class Finished(Struct, frozen=True):
    outcome: ToolOutcome


class Stopped(Struct, frozen=True):
    """Interrupted: nothing new starts, what runs is expected to finish with an outcome soon."""


BatchEvent: TypeAlias = Admitted | Refused | Finished | Stopped
Step: TypeAlias = tuple[BatchState, tuple[BatchEffect, ...]]

INTERRUPTED = "The call was interrupted by the user before it ran."


def start(calls: Sequence[ToolCall], classes: Sequence[Concurrency]) -> Step:
    """Begin. `classes` holds the concurrency class of each call."""
    groups: list[int] = []
    for number, kind in enumerate(classes):
        joins = number > 0 and kind is Concurrency.SHARED and classes[number - 1] is Concurrency.SHARED
        groups.append(groups[-1] if joins else number)
    states = tuple(
        CallState(number=number, call=call, group=group)
        for number, (call, group) in enumerate(zip(calls, groups, strict=True))
    )
    return _go_on(BatchState(calls=states))


def advance(state: BatchState, event: BatchEvent) -> Step:
    """The next state and what has to be done. Raises `UsageError` for an event about a call that is not in that phase."""
    if isinstance(event, Stopped):
        return _stop(state)
    call_id = event.call.id if isinstance(event, Admitted) else event.outcome.call_id
    # A model can repeat an id (F03), so the call that is meant is the first of that id which can take the event.
    for known in state.calls:
        handler = TABLE.get((known.phase, type(event)))
        if known.call.id == call_id and handler is not None:
            calls = (*state.calls[: known.number], handler(known, event), *state.calls[known.number + 1 :])
            return _go_on(msgspec.structs.replace(state, calls=calls))
    phases = ", ".join(known.phase.value for known in state.calls if known.call.id == call_id) or "unknown"
    raise UsageError(f"a call {call_id!r} that is {phases} cannot take {type(event).__name__!r}")


def _admit(known: CallState, event: Admitted) -> CallState:
    return msgspec.structs.replace(known, call=event.call, phase=CallPhase.ADMITTED)


def _finish(known: CallState, event: Refused | Finished) -> CallState:
    return msgspec.structs.replace(known, phase=CallPhase.FINISHED, outcome=event.outcome)


TABLE: Mapping[tuple[CallPhase, type], Callable[[CallState, Any], CallState]] = {
    (CallPhase.JUDGING, Admitted): _admit,
    (CallPhase.JUDGING, Refused): _finish,
    (CallPhase.RUNNING, Finished): _finish,
}


def _stop(state: BatchState) -> Step:
    calls = tuple(
        known if known.phase in {CallPhase.RUNNING, CallPhase.FINISHED} else _interrupted(known)
        for known in state.calls
    )
    return _go_on(msgspec.structs.replace(state, calls=calls, stopped=True))


def _interrupted(known: CallState) -> CallState:
    outcome = ToolOutcome(
        call_id=known.call.id,
        kind=OutcomeKind.INTERRUPTED,
        content=INTERRUPTED,
        display=f"{known.call.name}: interrupted",
    )
    return msgspec.structs.replace(known, phase=CallPhase.FINISHED, outcome=outcome)


def _go_on(state: BatchState) -> Step:
    """Start what may start now: the gate for one call after another, then the whole group at once."""
    open_group = next((known.group for known in state.calls if known.phase is not CallPhase.FINISHED), None)
    if open_group is None:
        outcomes = tuple(known.outcome for known in state.calls if known.outcome is not None)
        return state, (BatchDone(outcomes),)
    group = [known for known in state.calls if known.group == open_group]
    if any(known.phase is CallPhase.JUDGING for known in group):
        return state, ()
    waiting = next((known for known in group if known.phase is CallPhase.WAITING), None)
    if waiting is not None:
        return _move(state, (waiting,), CallPhase.JUDGING), (Judge(waiting.call),)
    ready = tuple(known for known in group if known.phase is CallPhase.ADMITTED)
    return _move(state, ready, CallPhase.RUNNING), tuple(Run(known.call) for known in ready)


def _move(state: BatchState, moved: Sequence[CallState], phase: CallPhase) -> BatchState:
    numbers = {known.number for known in moved}
    calls = tuple(
        msgspec.structs.replace(known, phase=phase) if known.number in numbers else known for known in state.calls
    )
    return msgspec.structs.replace(state, calls=calls)
