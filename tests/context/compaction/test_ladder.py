"""The order of the ladder, and what each step is said to free and cost."""

from __future__ import annotations

import msgspec.structs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.config.price import Price, Tier
from compositor.context.compaction.budget import Budget
from compositor.context.compaction.ladder import EXPECTED_SUMMARY, Situation, Step, Trigger, climb

PRICE = Price(
    model="m",
    tiers=(Tier(above=0, input=5.0, output=25.0, write_5m=6.25, write_1h=10.0, read=0.5),),
    source="",
    date="",
    verified=True,
)
FULL = Situation(
    trigger=Trigger.AUTO,
    budget=Budget(window=200_000, output=8_000, summary=20_000),
    tokens=175_000,
    fixed=15_000,
    kept=8_000,
    cached=170_000,
    clearable=60_000,
    memory=4_000,
    edits=True,
    cold=True,
    server_summary=True,
    price=PRICE,
)


def without(**given: object) -> Situation:
    return msgspec.structs.replace(FULL, **given)


@pytest.mark.req("R281", "R282", "R314", "R334")
@pytest.mark.parametrize(
    ("situation", "step"),
    [
        (without(tokens=100_000), Step.NOTHING),
        (FULL, Step.SERVER_EDIT),
        (without(edits=False), Step.COLD_CLEAN),
        (without(edits=False, cold=False), Step.SESSION_MEMORY),
        (without(edits=False, cold=False, memory=0), Step.SERVER_SUMMARY),
        (without(edits=False, cold=False, memory=0, server_summary=False), Step.SUMMARY),
        (without(edits=False, cold=False, memory=0, server_summary=False, has_model=False), Step.OUTLINE),
        (without(clearable=0, memory=0, server_summary=False), Step.SUMMARY),
        (without(clearable=1_000, memory=0, server_summary=False), Step.SUMMARY),
    ],
)
def test_the_cheapest_step_that_makes_enough_room_is_taken(situation: Situation, step: Step) -> None:
    assert climb(situation).chosen is step


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.OVERFLOW])
def test_who_asks_for_a_summary_gets_one(trigger: Trigger) -> None:
    assert climb(without(trigger=trigger, tokens=50_000)).chosen is Step.SESSION_MEMORY


@pytest.mark.req("R276", "R277")
def test_a_step_that_cannot_be_taken_says_why() -> None:
    reasons = {option.step: option for option in climb(without(edits=False, cold=False)).options}
    assert not reasons[Step.SERVER_EDIT].possible
    assert "R277" in reasons[Step.SERVER_EDIT].reason
    assert not reasons[Step.COLD_CLEAN].possible
    assert "R276" in reasons[Step.COLD_CLEAN].reason


def test_gain_and_cost_of_a_summary() -> None:
    option = next(option for option in climb(FULL).options if option.step is Step.SUMMARY)
    assert option.gain == 175_000 - 15_000 - 8_000 - EXPECTED_SUMMARY
    assert option.dollars == pytest.approx((170_000 * 0.5 + 5_000 * 5.0 + EXPECTED_SUMMARY * 25.0) / 1e6)


def test_a_window_full_of_what_nobody_can_shorten_is_left_alone() -> None:
    """F28: fixed parts of 85% and nothing to gain: no step is taken that frees nothing."""
    stuck = without(fixed=172_000, tokens=175_000, kept=3_000, clearable=0, memory=0, edits=False, cold=False)
    assert climb(stuck).chosen is Step.NOTHING


def test_a_turned_off_compaction_is_never_chosen() -> None:
    off = without(budget=Budget(window=200_000, output=8_000, allowed=False), edits=False, cold=False)
    assert climb(off).chosen is Step.NOTHING


@given(st.integers(0, 400_000), st.integers(0, 100_000), st.integers(0, 30_000), st.booleans(), st.booleans())
def test_the_chosen_step_is_possible_and_the_order_never_changes(
    tokens: int,
    fixed: int,
    kept: int,
    edits: bool,
    cold: bool,
) -> None:
    ladder = climb(without(tokens=tokens, fixed=fixed, kept=kept, edits=edits, cold=cold))
    assert [option.step for option in ladder.options] == list(Step)
    assert ladder.choice.possible
    assert all(option.gain >= 0 for option in ladder.options)
