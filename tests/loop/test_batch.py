"""The batch machine: groups, order, and an outcome for every call whatever happens (F02)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.errors import UsageError
from compositor.loop import batch
from compositor.loop.effects import BatchDone, BatchEffect, Judge, Run
from compositor.types.json import raw_json
from compositor.types.tools import Concurrency, OutcomeKind, ToolCall, ToolOutcome

SHARED, ALONE = Concurrency.SHARED, Concurrency.EXCLUSIVE


def call(number: int) -> ToolCall:
    return ToolCall(id=f"t{number}", name="Read", input=raw_json({}))


def outcome(of: ToolCall, kind: OutcomeKind = OutcomeKind.DONE) -> ToolOutcome:
    return ToolOutcome(call_id=of.id, kind=kind, content="x")


def run_all(classes: Sequence[Concurrency]) -> tuple[list[list[str]], BatchDone]:
    """Play a batch in which everything is allowed; the groups of calls that were started together, and the end."""
    calls = [call(number) for number in range(len(classes))]
    state, effects = batch.start(calls, classes)
    started: list[list[str]] = []
    while not isinstance(effects[0], BatchDone):
        pending: list[BatchEffect] = list(effects)
        if isinstance(pending[0], Run):
            started.append([effect.call.id for effect in pending if isinstance(effect, Run)])
        effects = ()
        for effect in pending:
            event: batch.BatchEvent
            if isinstance(effect, Judge):
                event = batch.Admitted(effect.call)
            else:
                assert isinstance(effect, Run)
                event = batch.Finished(outcome(effect.call))
            state, more = batch.advance(state, event)
            effects = (*effects, *more)
    assert isinstance(effects[0], BatchDone)
    return started, effects[0]


def test_neighboring_shared_calls_run_side_by_side_and_exclusive_ones_alone() -> None:
    started, done = run_all([SHARED, SHARED, ALONE, SHARED, ALONE])
    assert started == [["t0", "t1"], ["t2"], ["t3"], ["t4"]]
    assert [found.call_id for found in done.outcomes] == ["t0", "t1", "t2", "t3", "t4"]


@given(st.lists(st.sampled_from([SHARED, ALONE]), min_size=1, max_size=8))
def test_every_call_starts_once_and_outcomes_keep_the_order(classes: list[Concurrency]) -> None:
    started, done = run_all(classes)
    ids = [f"t{number}" for number in range(len(classes))]
    assert [one for group in started for one in group] == ids
    assert [found.call_id for found in done.outcomes] == ids


def test_an_exclusive_call_is_judged_after_the_one_before_it_has_finished() -> None:
    first, second = call(0), call(1)
    state, effects = batch.start([first, second], [ALONE, ALONE])
    assert effects == (Judge(first),)
    state, effects = batch.advance(state, batch.Admitted(first))
    assert effects == (Run(first),)
    state, effects = batch.advance(state, batch.Finished(outcome(first)))
    assert effects == (Judge(second),)


def test_a_refusal_is_an_outcome_and_the_others_go_on() -> None:
    first, second = call(0), call(1)
    state, _ = batch.start([first, second], [SHARED, SHARED])
    denied = outcome(first, OutcomeKind.DENIED)
    state, effects = batch.advance(state, batch.Refused(denied))
    assert effects == (Judge(second),)
    state, effects = batch.advance(state, batch.Admitted(second))
    assert effects == (Run(second),)
    _, effects = batch.advance(state, batch.Finished(outcome(second)))
    assert effects == (BatchDone((denied, outcome(second))),)


def test_a_stop_interrupts_what_waits_and_waits_for_what_runs() -> None:
    first, second = call(0), call(1)
    state, _ = batch.start([first, second], [ALONE, ALONE])
    state, _ = batch.advance(state, batch.Admitted(first))
    state, effects = batch.advance(state, batch.Stopped())
    assert effects == ()
    _, effects = batch.advance(state, batch.Finished(outcome(first, OutcomeKind.INTERRUPTED)))
    assert isinstance(effects[0], BatchDone)
    assert [found.kind for found in effects[0].outcomes] == [OutcomeKind.INTERRUPTED, OutcomeKind.INTERRUPTED]


def test_two_calls_of_one_id_are_two_calls() -> None:
    twin = call(0)
    state, effects = batch.start([twin, twin], [SHARED, SHARED])
    state, effects = batch.advance(state, batch.Admitted(twin))
    state, effects = batch.advance(state, batch.Admitted(twin))
    assert effects == (Run(twin), Run(twin))
    state, effects = batch.advance(state, batch.Finished(outcome(twin)))
    _, effects = batch.advance(state, batch.Finished(outcome(twin)))
    assert isinstance(effects[0], BatchDone)
    assert len(effects[0].outcomes) == 2


@pytest.mark.parametrize(
    "event", [batch.Finished(outcome(call(0))), batch.Admitted(call(7)), batch.Refused(outcome(call(7)))]
)
def test_an_event_out_of_place_is_refused(event: batch.BatchEvent) -> None:
    state, _ = batch.start([call(0)], [ALONE])
    with pytest.raises(UsageError, match="cannot take"):
        batch.advance(state, event)


def test_an_empty_batch_is_done_at_once() -> None:
    _, effects = batch.start([], [])
    assert effects == (BatchDone(()),)
