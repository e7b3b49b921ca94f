"""The window chain: six steps in order (R380)."""

import pytest

from compositor.config.window import (
    DEFAULT_OUTPUT,
    ESCALATED_OUTPUT,
    WINDOW_STEPS,
    WindowFacts,
    decide_window,
)

EVERYTHING = {
    "override": 123_456,
    "long_context": True,
    "capability": 500_000,
    "betas": ("context-1m-2025-08-07",),
    "experiment": 300_000,
}


@pytest.mark.req("R380")
def test_the_steps_stand_in_order() -> None:
    assert [step.name for step in WINDOW_STEPS] == [
        "environment override",
        "[1m] suffix",
        "model capability",
        "beta header",
        "experiment group",
        "default",
    ]


@pytest.mark.parametrize(
    ("missing", "tokens", "step"),
    [
        ([], 123_456, "environment override"),
        (["override"], 1_000_000, "[1m] suffix"),
        (["override", "long_context"], 500_000, "model capability"),
        (["override", "long_context", "capability"], 1_000_000, "beta header"),
        (["override", "long_context", "capability", "betas"], 300_000, "experiment group"),
        (["override", "long_context", "capability", "betas", "experiment"], 200_000, "default"),
    ],
)
@pytest.mark.req("R380")
def test_the_first_step_that_knows_decides(missing: list[str], tokens: int, step: str) -> None:
    decision = decide_window(WindowFacts(**{key: value for key, value in EVERYTHING.items() if key not in missing}))
    assert (decision.tokens, decision.step) == (tokens, step)


@pytest.mark.parametrize(
    ("facts", "tokens"),
    [
        ({"long_context": True}, 200_000),
        ({"capability": 1_000_000}, 200_000),
        ({"capability": 100_000}, 100_000),
        ({"betas": ("context-1m-2025-08-07",)}, 200_000),
        ({"override": 700_000}, 700_000),
    ],
)
def test_long_context_can_be_turned_off(facts: dict[str, object], tokens: int) -> None:
    assert decide_window(WindowFacts(long_context_off=True, **facts)).tokens == tokens


@pytest.mark.req("R381")
def test_the_output_caps() -> None:
    assert (DEFAULT_OUTPUT, ESCALATED_OUTPUT) == (8_000, 64_000)
