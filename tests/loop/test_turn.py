"""The turn machine: every pair of phase and event is either in the table or refused, and the loop of a turn goes round (R013, R167)."""

from __future__ import annotations

import itertools

import pytest

from compositor.errors import UsageError
from compositor.loop import turn
from compositor.loop.effects import EndReason, EndTurn, Record, RequestModel, RunBatch, StopAttempt, StopBatch
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.tools import ToolCall

TIME = "2026-11-30T12:00:00.000Z"
PROMPT = UserEntry(uuid="u1", parent=None, time=TIME, content=(TextBlock("go"),))
RESULTS = UserEntry(uuid="u2", parent="a1", time=TIME, content=(TextBlock("result"),))
CALL = ToolCall(id="t1", name="Read", input=raw_json({"file_path": "/a"}))


def answer(stop_reason: str) -> AssistantEntry:
    return AssistantEntry(
        uuid="a1",
        parent="u1",
        time=TIME,
        message_id="m1",
        model="m",
        content=(TextBlock("hm"),),
        stop_reason=stop_reason,
    )


EVENTS = (
    turn.Submitted((PROMPT,)),
    turn.Answered(answer("end_turn"), ()),
    turn.Failed(EndReason.API_ERROR, "gone"),
    turn.Results((RESULTS,)),
    turn.StopRequested(),
)


@pytest.mark.parametrize(("phase", "event"), list(itertools.product(turn.Phase, EVENTS)))
def test_every_pair_is_in_the_table_or_refused(phase: turn.Phase, event: turn.TurnEvent) -> None:
    state = turn.TurnState(phase=phase)
    if (phase, type(event)) in turn.TABLE:
        after, _ = turn.advance(state, event)
        assert isinstance(after, turn.TurnState)
    else:
        with pytest.raises(UsageError, match="cannot take"):
            turn.advance(state, event)


@pytest.mark.req("R013", "R167")
def test_one_full_loop() -> None:
    state, effects = turn.advance(turn.TurnState(), turn.Submitted((PROMPT,)))
    assert effects == (Record((PROMPT,)), RequestModel())
    asked = answer("tool_use")
    state, effects = turn.advance(state, turn.Answered(asked, (CALL,)))
    assert effects == (Record((asked,)), RunBatch((CALL,)))
    state, effects = turn.advance(state, turn.Results((RESULTS,)))
    assert effects == (Record((RESULTS,)), RequestModel())
    done = answer("end_turn")
    state, effects = turn.advance(state, turn.Answered(done, ()))
    assert effects == (Record((done,)), EndTurn(EndReason.COMPLETED))
    assert state.phase is turn.Phase.ENDED


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        ("end_turn", EndReason.COMPLETED),
        ("stop_sequence", EndReason.COMPLETED),
        ("max_tokens", EndReason.MAX_TOKENS),
        ("refusal", EndReason.REFUSAL),
        ("model_context_window_exceeded", EndReason.PROMPT_TOO_LONG),
        ("something_new", EndReason.STOPPED),
    ],
)
def test_every_stop_reason_ends_the_turn_by_its_own_name(stop_reason: str, reason: EndReason) -> None:
    state = turn.TurnState(phase=turn.Phase.ASKING, requests=1)
    _, effects = turn.advance(state, turn.Answered(answer(stop_reason), ()))
    assert isinstance(effects[-1], EndTurn)
    assert effects[-1].reason is reason


def test_a_pause_is_resumed_a_bounded_number_of_times() -> None:
    state = turn.TurnState(phase=turn.Phase.ASKING, requests=1)
    for _ in range(turn.MAX_PAUSES):
        state, effects = turn.advance(state, turn.Answered(answer("pause_turn"), ()))
        assert effects[-1] == RequestModel()
    state, effects = turn.advance(state, turn.Answered(answer("pause_turn"), ()))
    assert isinstance(effects[-1], EndTurn)


def test_the_limit_of_requests_ends_the_turn_with_the_results_recorded() -> None:
    state = turn.TurnState(phase=turn.Phase.RUNNING, requests=2, max_requests=2)
    _, effects = turn.advance(state, turn.Results((RESULTS,)))
    assert effects[0] == Record((RESULTS,))
    assert isinstance(effects[1], EndTurn)
    assert effects[1].reason is EndReason.MAX_TURNS


def test_a_stop_while_tools_run_waits_for_their_results() -> None:
    running = turn.TurnState(phase=turn.Phase.RUNNING, requests=1)
    stopping, effects = turn.advance(running, turn.StopRequested())
    assert effects == (StopBatch(),)
    ended, effects = turn.advance(stopping, turn.Results((RESULTS,)))
    assert effects[0] == Record((RESULTS,))
    assert isinstance(effects[1], EndTurn)
    assert effects[1].reason is EndReason.ABORTED_TOOLS
    assert ended.phase is turn.Phase.ENDED


def test_a_stop_while_the_model_answers_records_nothing() -> None:
    asking = turn.TurnState(phase=turn.Phase.ASKING, requests=1)
    _, effects = turn.advance(asking, turn.StopRequested())
    assert effects[0] == StopAttempt()
    assert not any(isinstance(effect, Record) for effect in effects)
