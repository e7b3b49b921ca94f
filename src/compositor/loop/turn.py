"""The turn: one submission of a person until the model has nothing more to do (R013, R167).

Two rules: all state of a turn is in `TurnState`; no other file decides what follows what. The table at the end says it all: phase and event
give the handler, anything else is refused and changes nothing.

    ready --Submitted--> asking --Answered--> ended
                           ^         |
                           |         v calls
                           +-- running --Results--

A stop while the model is asked ends the turn at once; a stop while tools run first waits for a result of each call (stopping).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from compositor.errors import UsageError
from compositor.loop.effects import (
    EndReason,
    EndTurn,
    Record,
    RequestModel,
    RunBatch,
    StopAttempt,
    StopBatch,
    TurnEffect,
)
from compositor.loop.output import CUT, MAX_CUTS
from compositor.types.entries import AssistantEntry, TranscriptEntry
from compositor.types.tools import ToolCall


class Phase(enum.StrEnum):
    READY = "ready"
    ASKING = "asking"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class TurnState(Struct, frozen=True, kw_only=True):
    """`requests` counts the model calls of this turn; `max_requests` is their limit, `None` for none. `pauses` and `cuts` count in a row."""

    phase: Phase = Phase.READY
    requests: int = 0
    max_requests: int | None = None
    pauses: int = 0
    cuts: int = 0


class Submitted(Struct, frozen=True):
    """What a person (or another origin) submitted, as entries."""

    entries: tuple[TranscriptEntry, ...]


class Answered(Struct, frozen=True):
    """The message has ended. `calls` are its complete client calls, in order; a cut one is not among them (F37).

    `told` goes behind an answer that was cut: with it the model is asked to go on, where no call runs.
    """

    entry: AssistantEntry
    calls: tuple[ToolCall, ...]
    told: tuple[TranscriptEntry, ...] = ()


class Failed(Struct, frozen=True):
    """The attempt gave up. `detail` is one sentence."""

    reason: EndReason
    detail: str


class Results(Struct, frozen=True):
    """The results of the batch as one user entry, and what was collected after it."""

    entries: tuple[TranscriptEntry, ...]


class StopRequested(Struct, frozen=True):
    """The person interrupts."""


TurnEvent: TypeAlias = Submitted | Answered | Failed | Results | StopRequested
Step: TypeAlias = tuple[TurnState, tuple[TurnEffect, ...]]

# A server-side loop may pause; resending without end would be a loop of our own (wire page 7, `pause_turn`). Counted in a row.
MAX_PAUSES = 10

_END_BY_STOP: Mapping[str, EndReason] = {
    "end_turn": EndReason.COMPLETED,
    "stop_sequence": EndReason.COMPLETED,
    "max_tokens": EndReason.MAX_TOKENS,
    "refusal": EndReason.REFUSAL,
    "model_context_window_exceeded": EndReason.PROMPT_TOO_LONG,
}


def advance(state: TurnState, event: TurnEvent) -> Step:
    """The next state and what has to be done, in order. Raises `UsageError` for an event that has no place here."""
    handler = TABLE.get((state.phase, type(event)))
    if handler is None:
        raise UsageError(f"a turn that is {state.phase.value!r} cannot take {type(event).__name__!r}")
    return handler(state, event)


def _submit(state: TurnState, event: Submitted) -> Step:
    after, effects = _ask(state)
    return after, (Record(event.entries), *effects)


def _ask(state: TurnState) -> Step:
    if state.max_requests is not None and state.requests >= state.max_requests:
        detail = f"the limit of {state.max_requests} model calls for one turn was reached"
        return _end(state, EndReason.MAX_TURNS, detail)
    asking = msgspec.structs.replace(state, phase=Phase.ASKING, requests=state.requests + 1)
    return asking, (RequestModel(),)


def _end(state: TurnState, reason: EndReason, detail: str = "") -> Step:
    return msgspec.structs.replace(state, phase=Phase.ENDED), (EndTurn(reason, detail),)


def _answer(state: TurnState, event: Answered) -> Step:
    after, effects = _after_answer(state, event)
    return after, (Record((event.entry,)), *effects)


def _after_answer(state: TurnState, event: Answered) -> Step:
    stop = event.entry.stop_reason or ""
    state = msgspec.structs.replace(
        state, cuts=state.cuts + 1 if stop == CUT else 0, pauses=state.pauses + 1 if stop == "pause_turn" else 0
    )
    if state.cuts > MAX_CUTS:
        detail = (
            f"the model reached its output limit {state.cuts} times in a row; ask for less at once, or raise the limit"
        )
        return _end(state, EndReason.MAX_TOKENS, detail)
    if event.calls:
        return msgspec.structs.replace(state, phase=Phase.RUNNING), (RunBatch(event.calls),)
    if event.told:
        after, effects = _ask(state)
        return after, (Record(event.told), *effects)
    if stop == "pause_turn" and state.pauses <= MAX_PAUSES:
        return _ask(state)
    reason = _END_BY_STOP.get(stop, EndReason.STOPPED)
    return _end(state, reason, "" if reason is EndReason.COMPLETED else f"the model stopped: {stop}")


def _fail(state: TurnState, event: Failed) -> Step:
    return _end(state, event.reason, event.detail)


def _results(state: TurnState, event: Results) -> Step:
    after, effects = _ask(state)
    return after, (Record(event.entries), *effects)


def _stop_asking(state: TurnState, _event: StopRequested) -> Step:
    after, effects = _end(state, EndReason.ABORTED_STREAMING, "interrupted while the model answered")
    return after, (StopAttempt(), *effects)


def _stop_running(state: TurnState, _event: StopRequested) -> Step:
    return msgspec.structs.replace(state, phase=Phase.STOPPING), (StopBatch(),)


def _results_after_stop(state: TurnState, event: Results) -> Step:
    after, effects = _end(state, EndReason.ABORTED_TOOLS, "interrupted while tools ran")
    return after, (Record(event.entries), *effects)


def _stay(state: TurnState, _event: StopRequested) -> Step:
    return state, ()


TABLE: Mapping[tuple[Phase, type], Callable[[TurnState, Any], Step]] = {
    (Phase.READY, Submitted): _submit,
    (Phase.ASKING, Answered): _answer,
    (Phase.ASKING, Failed): _fail,
    (Phase.ASKING, StopRequested): _stop_asking,
    (Phase.RUNNING, Results): _results,
    (Phase.RUNNING, StopRequested): _stop_running,
    (Phase.STOPPING, Results): _results_after_stop,
    (Phase.STOPPING, StopRequested): _stay,
    (Phase.ENDED, StopRequested): _stay,
}
