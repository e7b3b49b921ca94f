"""The sums of the budget."""

import pytest

from compositor.config.compaction import CompactionChoice
from compositor.context.compaction.budget import Budget, plan_budget


@pytest.mark.req("R384")
def test_what_is_usable_leaves_room_for_an_answer_and_a_summary() -> None:
    assert Budget(window=200_000, output=8_000, summary=20_000).usable == 172_000


@pytest.mark.req("R384")
def test_the_case_of_a_conversation_that_only_just_fits() -> None:
    """F26: 117,322 tokens in a window of 121,600 is far too late to begin."""
    budget = plan_budget(121_600, 8_000)
    assert budget.is_due(117_322)
    assert budget.start + budget.output + budget.summary <= budget.window


@pytest.mark.parametrize(
    ("choice", "start"),
    [
        (CompactionChoice(), 172_000),
        (CompactionChoice(percent=50), 86_000),
        (CompactionChoice(window=100_000), 82_000),
        (CompactionChoice(window=1_000_000), 172_000),
    ],
)
def test_what_is_chosen_can_only_lower_the_start(choice: CompactionChoice, start: int) -> None:
    assert plan_budget(200_000, 8_000, choice).start == start


def test_turned_off_it_is_never_due() -> None:
    assert not plan_budget(200_000, 8_000, CompactionChoice(automatic=False)).is_due(500_000)
    assert not plan_budget(200_000, 8_000, CompactionChoice(allowed=False)).is_due(500_000)


def test_in_a_tiny_window_the_answer_gets_at_most_half() -> None:
    budget = plan_budget(10_000, 64_000)
    assert (budget.output, budget.summary, budget.usable) == (5_000, 2_000, 3_000)
