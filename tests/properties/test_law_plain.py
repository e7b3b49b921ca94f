"""The short way and the long way agree: what is taken for a plain round, the steps leave exactly as it is and say nothing about."""

from __future__ import annotations

from hypothesis import given

from compositor.context.messages.drafts import Notes, RoundContext
from compositor.context.messages.plain import plain_round
from compositor.context.messages.steps import render_round
from compositor.types.blocks import ToolUseBlock
from compositor.types.entries import AssistantEntry
from compositor.types.persistent import Ledger
from tests.properties.building import FACTS
from tests.properties.strategies import History, conversation, histories


def agreement(history: History) -> int:
    """How many windows of one or two entries are plain; each of them is compared with the steps."""
    plain = 0
    for start in range(len(history)):
        for end in (start + 1, start + 2):
            entries = history[start:end]
            for opens in (False, True):
                context = RoundContext(facts=FACTS, opens=opens, used_ids=Ledger(["t3"]), view_digest=lambda: "")
                short = plain_round(context, entries)
                if short is not None:
                    notes = Notes()
                    assert short == render_round(context, entries, notes)
                    assert notes.omissions == []
                    plain += 1
    return plain


@given(histories())
def test_the_steps_change_nothing_in_a_plain_round(history: History) -> None:
    assert agreement(history) >= 0


def test_an_ordinary_conversation_is_plain() -> None:
    history = tuple(conversation(200))
    answers = sum(isinstance(entry, AssistantEntry) for entry in history)
    assert agreement(history) >= answers


def test_a_repeated_id_is_not_plain() -> None:
    history = tuple(conversation(20))
    answer = next(entry for entry in history if isinstance(entry, AssistantEntry) and len(entry.content) > 1)
    call = answer.content[1]
    assert isinstance(call, ToolUseBlock)
    at = history.index(answer)
    context = RoundContext(facts=FACTS, opens=False, used_ids=Ledger([call.id]), view_digest=lambda: "")
    assert plain_round(context, history[at : at + 2]) is None
