"""The short way and the long way agree: what is taken for plain rounds, the steps leave exactly as they are, and the rules find nothing in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compositor.context.messages.drafts import Notes, RoundContext
from compositor.context.messages.legality import LegalityState, check_messages
from compositor.context.messages.legality.plain import after_plain, takes_plain
from compositor.context.messages.plain import plain_run
from compositor.context.messages.steps import render_round
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.messages import WireMessage
from compositor.types.persistent import Ledger
from tests.context.messages.legality.histories import WILD_HISTORIES
from tests.properties.building import FACTS, WIRE
from tests.properties.strategies import TIME, History, conversation, histories

USED = Ledger(["t3"])


def agreement(history: History) -> int:
    """How many windows of one or two entries are plain; each of them is compared with the steps and the rules."""
    plain = 0
    for start in range(len(history)):
        for end in (start + 1, start + 2):
            entries = history[start:end]
            for opens in (False, True):
                run = plain_run(USED, [entries], opens=opens)
                if run.rounds:
                    notes = Notes()
                    context = RoundContext(facts=FACTS, opens=opens, used_ids=USED, view_digest=lambda: "")
                    assert run.rounds[0] == render_round(context, entries, notes)
                    assert notes.omissions == []
                    state = LegalityState(call_ids=USED)
                    if not opens:
                        state, _ = check_messages(state, _question(), WIRE)
                    assert_same_state(state, run.rounds, run.calls)
                    plain += 1
    return plain


def assert_same_state(state: LegalityState, rounds: list[tuple[WireMessage, ...]], calls: dict[str, None]) -> None:
    judged, violations = check_messages(state, [message for one in rounds for message in one], WIRE)
    assert not violations
    assert after_plain(state, rounds, calls) == judged


def _question() -> tuple[WireMessage, ...]:
    entry = UserEntry(uuid="q", parent=None, time=TIME, content=(TextBlock("Well?"),))
    return plain_run(Ledger(), [(entry,)], opens=True).rounds[0]


@given(histories())
def test_the_steps_and_the_rules_change_nothing_in_a_plain_round(history: History) -> None:
    assert agreement(history) >= 0


def test_an_ordinary_conversation_is_plain() -> None:
    history = tuple(conversation(200))
    answers = sum(isinstance(entry, AssistantEntry) for entry in history)
    assert agreement(history) >= answers


@given(WILD_HISTORIES, st.integers(0, 5))
def test_behind_any_history_that_takes_one_a_plain_run_is_legal(before: list[WireMessage], rounds: int) -> None:
    state, _ = check_messages(LegalityState(), before, WIRE)
    if not takes_plain(state):
        return
    history = tuple(conversation(2 * rounds + 1))
    answered = [history[:1]] if not state.index else []
    answered += [history[at : at + 2] for at in range(1, len(history), 2)]
    run = plain_run(state.call_ids, answered, opens=not state.index)
    assert len(run.rounds) == len(answered)
    if run.rounds:
        assert_same_state(state, run.rounds, run.calls)


def test_a_repeated_id_is_not_plain() -> None:
    answer, results = _round("t1")
    assert len(plain_run(Ledger(), [(answer, results)], opens=False).rounds) == 1
    assert not plain_run(Ledger(["t1"]), [(answer, results)], opens=False).rounds
    assert len(plain_run(Ledger(), [(answer, results), (answer, results)], opens=False).rounds) == 1


def test_what_a_rule_would_mind_is_not_plain() -> None:
    for answer, results in (
        _round("srvtoolu_1"),
        _round("t1", toolset="files"),
        _round("t1", given="[1]"),
        _round("t1", said="a\ud83d"),
    ):
        assert not plain_run(Ledger(), [(answer, results)], opens=False).rounds


def _round(
    call: str, *, toolset: str | None = None, given: str = "{}", said: str = "done"
) -> tuple[AssistantEntry, UserEntry]:
    use = ToolUseBlock(call, "Read", raw_json({}) if given == "{}" else raw_json([1]), toolset_name=toolset)
    answer = AssistantEntry(
        uuid="a", parent=None, time=TIME, message_id="m", model="m", content=(use,), stop_reason="tool_use"
    )
    return answer, UserEntry(uuid="u", parent=None, time=TIME, content=(ToolResultBlock(call, said),))
