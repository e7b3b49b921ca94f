"""Lifetimes by the sums: the plan that is shown as cheaper is the one that costs less, by the published multipliers (wire page 4.5)."""

from __future__ import annotations

import pytest

from compositor.config.price import Price, find_price
from compositor.context.cache.lifetime import Use, choose_lifetime, pause_line, price_plans
from compositor.types.request import Ttl
from tests.properties.strategies import MODEL

# $1 for a million tokens of input, with the public multipliers: writes 1.25 and 2, reads 0.1.
PRICE = Price(
    model="m",
    tiers=(
        find_price("claude-sonnet-4-5")
        .tiers[0]
        .__class__(above=0, input=1, output=5, write_5m=1.25, write_1h=2, read=0.1),
    ),  # type: ignore[union-attr]
    source="wire page 4.5",
    date="",
    verified=True,
)


def uses(pause: float, count: int, tokens: int = 100_000) -> tuple[Use, ...]:
    return (Use(None, tokens), *(Use(pause, tokens) for _ in range(count - 1)))


def dollars(found: tuple[Use, ...]) -> dict[Ttl | None, float]:
    return {plan.ttl: plan.dollars for plan in price_plans(found, PRICE)}


@pytest.mark.req("R263", "R268")
def test_with_a_pause_before_every_request_five_minutes_cost_a_quarter_more_than_no_cache() -> None:
    sums = dollars(uses(600, 10))
    assert sums[Ttl.SHORT] / sums[None] == pytest.approx(1.25)
    # One write at twice the price, then nine reads at a tenth.
    assert sums[Ttl.LONG] / sums[None] == pytest.approx((2 + 9 * 0.1) / 10)


@pytest.mark.parametrize(
    ("pause", "cheapest"), [(10.0, Ttl.SHORT), (299.0, Ttl.SHORT), (301.0, Ttl.LONG), (3601.0, None)]
)
def test_the_cheapest_plan_follows_the_pauses(pause: float, cheapest: Ttl | None) -> None:
    assert price_plans(uses(pause, 10), PRICE)[0].ttl is cheapest


def choice(
    found: tuple[Use, ...], price: Price | None = PRICE, wish: Ttl | None = None, eligible: tuple[str, ...] = ("*",)
) -> tuple[Ttl, str]:
    made = choose_lifetime(found, price, wish=wish, model=MODEL, eligible=eligible)
    return made.ttl, made.reason


@pytest.mark.req("R263", "R271")
def test_the_lifetime_is_chosen_by_sums_wishes_and_eligibility() -> None:
    assert choice(uses(600, 10))[0] is Ttl.LONG
    assert "9 of the last 10 requests came after more than five minutes" in choice(uses(600, 10))[1]
    assert choice(uses(10, 10))[0] is Ttl.SHORT
    assert choice((), PRICE) == (Ttl.SHORT, "nothing is known of the pauses: five minutes are the default")
    assert choice(uses(600, 10), None)[0] is Ttl.SHORT
    assert choice(uses(10, 10), wish=Ttl.LONG)[0] is Ttl.LONG
    assert choice(uses(600, 10), eligible=("claude-opus-*",))[0] is Ttl.SHORT
    refused = choice(uses(600, 10), wish=Ttl.LONG, eligible=())
    assert refused[0] is Ttl.SHORT
    assert "none of the models that may have an hour" in refused[1]


@pytest.mark.req("R094", "R284")
def test_after_too_long_a_pause_the_cheaper_plan_is_told_with_its_sums() -> None:
    line = pause_line(uses(600, 3), Ttl.SHORT, PRICE)
    # Three times 100,000 tokens: 0.375 with five minutes; 0.2 + 2 * 0.01 with an hour.
    assert line == (
        "600 s passed and entries live 300 s: 100,000 tokens are written again; with pauses like these markers of 1h would cost "
        "$0.2200 so far instead of $0.3750"
    )
    rare = (*uses(10, 30), Use(4_000, 100_000))
    assert "are still the cheapest plan" in (pause_line(rare, Ttl.SHORT, PRICE) or "")
    assert "no markers would cost" in (pause_line(uses(4000, 3), Ttl.SHORT, PRICE) or "")
    assert pause_line(uses(10, 3), Ttl.SHORT, PRICE) is None
    assert pause_line(uses(600, 3), Ttl.LONG, PRICE) is None
    assert "written again" in (pause_line(uses(600, 3), Ttl.SHORT, None) or "")
