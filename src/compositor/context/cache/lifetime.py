"""Which lifetime pays: what a pattern of use costs with entries of five minutes, of an hour, and without any cache (wire page 4.4, 4.5).

Decides the sums and the choice, once for a session (R263, R265, R271). A pause longer than the lifetime loses everything that was written: with a pause
before every request, markers of five minutes cost 1.25 times what no caching costs.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from msgspec import Struct

from compositor.config.price import Price
from compositor.types.request import Ttl

from .book import SECONDS


class Use(Struct, frozen=True):
    """One request: the seconds since the one before it began (`None` for the first), and its tokens in all."""

    pause: float | None
    tokens: int


class Plan(Struct, frozen=True):
    """What the uses cost in US dollars of input; `ttl` is `None` without any cache."""

    ttl: Ttl | None
    dollars: float

    @property
    def name(self) -> str:
        return f"markers of {self.ttl.value}" if self.ttl is not None else "no markers"


class Lifetime(Struct, frozen=True, kw_only=True):
    """The lifetime of a session's markers, one sentence that says why, and the sums it was chosen by, cheapest first."""

    ttl: Ttl
    reason: str
    plans: tuple[Plan, ...] = ()


def price_plans(uses: Sequence[Use], price: Price) -> tuple[Plan, ...]:
    """The uses under each plan, cheapest first; of equal ones the shorter lifetime."""
    plans = (Ttl.SHORT, Ttl.LONG, None)
    found = [Plan(ttl, sum(_one(uses, at, ttl, price) for at in range(len(uses))) / 1_000_000) for ttl in plans]
    return tuple(sorted(found, key=lambda plan: plan.dollars))


def _one(uses: Sequence[Use], at: int, ttl: Ttl | None, price: Price) -> float:
    """Dollars for a million such requests: what lives is read, the rest is written."""
    use = uses[at]
    tier = price.tier(use.tokens)
    if ttl is None:
        return use.tokens * tier.input
    lives = at > 0 and use.pause is not None and use.pause < SECONDS[ttl]
    kept = min(uses[at - 1].tokens, use.tokens) if lives else 0
    return kept * tier.read + (use.tokens - kept) * (tier.write_1h if ttl is Ttl.LONG else tier.write_5m)


def choose_lifetime(
    uses: Sequence[Use], price: Price | None, *, wish: Ttl | None, model: str, eligible: Sequence[str]
) -> Lifetime:
    """The lifetime that a session keeps. `wish` is what settings or variables say, `eligible` the models (globs) that may have an hour."""
    may_be_long = any(fnmatch.fnmatchcase(model, pattern) for pattern in eligible)
    if wish is Ttl.LONG and not may_be_long:
        return Lifetime(ttl=Ttl.SHORT, reason=f"{model!r} is none of the models that may have an hour (longLifetime)")
    if wish is not None:
        return Lifetime(ttl=wish, reason="the settings or the environment say so")
    if price is None or not uses:
        why = "no price is known" if price is None else "nothing is known of the pauses"
        return Lifetime(ttl=Ttl.SHORT, reason=f"{why}: five minutes are the default")
    plans = price_plans(uses, price)
    open_to_us = [plan for plan in plans if plan.ttl is Ttl.SHORT or (plan.ttl is Ttl.LONG and may_be_long)]
    ttl = open_to_us[0].ttl or Ttl.SHORT
    return Lifetime(ttl=ttl, reason=_reason(uses, plans, may_be_long=may_be_long), plans=plans)


def _reason(uses: Sequence[Use], plans: Sequence[Plan], *, may_be_long: bool) -> str:
    long = sum(1 for use in uses if use.pause is not None and use.pause >= SECONDS[Ttl.SHORT])
    sums = ", ".join(f"{plan.name} ${plan.dollars:.4f}" for plan in plans)
    bar = "" if may_be_long else "; an hour is not open to this model (longLifetime)"
    return f"{long} of the last {len(uses)} requests came after more than five minutes; they would cost: {sums}{bar}"


def pause_line(uses: Sequence[Use], ttl: Ttl, price: Price | None) -> str | None:
    """What a person is told before a request that comes after the lifetime, with the plan that would be cheaper; `None` when nothing expired."""
    last = uses[-1] if uses else None
    if last is None or last.pause is None or last.pause < SECONDS[ttl] or len(uses) < 2:
        return None
    lost = min(uses[-2].tokens, last.tokens)
    line = f"{last.pause:,.0f} s passed and entries live {SECONDS[ttl]:,.0f} s: {lost:,} tokens are written again"
    if price is None:
        return line
    plans = price_plans(uses, price)
    own = next(plan for plan in plans if plan.ttl is ttl)
    best = plans[0]
    if best.ttl is ttl:
        return f"{line}; {own.name} (${own.dollars:.4f} so far) are still the cheapest plan"
    return f"{line}; with pauses like these {best.name} would cost ${best.dollars:.4f} so far instead of ${own.dollars:.4f}"
