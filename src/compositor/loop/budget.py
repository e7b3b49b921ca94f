"""Budgets: what was spent in a turn, a run, a session and a day, against what may be.

Decides when a limit is reached. A limit stands before a request: the answer under way is never cut, so the last one may go past it. A limit in
dollars cannot be kept where no price is known, and that counts as reached.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from compositor.config.budget import BudgetSettings, SpanBudget
from compositor.config.price import Price, cost
from compositor.types.usage import Usage


class Span(enum.StrEnum):
    TURN = "turn"
    RUN = "run"
    SESSION = "session"
    DAY = "day"


class Spent(Struct, frozen=True, kw_only=True):
    """US dollars and tokens. `unpriced` counts answers whose price is not known: their tokens count, their dollars do not."""

    dollars: float = 0.0
    tokens: int = 0
    unpriced: int = 0


class Excess(Struct, frozen=True, kw_only=True):
    """A limit that is reached; `text` is one sentence without its end."""

    span: Span
    unit: str
    text: str


def spent_by(usage: Usage, price: Price | None) -> Spent:
    """What one answer cost."""
    tokens = usage.total_input + usage.output_tokens
    return Spent(tokens=tokens, unpriced=1) if price is None else Spent(dollars=cost(usage, price), tokens=tokens)


def add_spent(one: Spent, two: Spent) -> Spent:
    return Spent(
        dollars=one.dollars + two.dollars, tokens=one.tokens + two.tokens, unpriced=one.unpriced + two.unpriced
    )


def limits_of(settings: BudgetSettings, run_dollars: float | None = None) -> dict[Span, SpanBudget]:
    """The spans that have a limit at all; `run_dollars` is what the caller lets this run cost."""
    run = SpanBudget(dollars=run_dollars)
    given = {Span.TURN: settings.turn, Span.RUN: run, Span.SESSION: settings.session, Span.DAY: settings.day}
    return {span: limit for span, limit in given.items() if limit != SpanBudget()}


def find_excess(
    limits: Mapping[Span, SpanBudget],
    spent: Mapping[Span, Spent],
    *,
    has_price: bool,
    allowed: Mapping[tuple[Span, str], int],
) -> Excess | None:
    """The first limit that is reached, narrowest span first. `allowed` says how often a person let a limit be used again."""
    for span, limit in limits.items():
        used = spent.get(span, Spent())
        if limit.dollars is not None:
            if not has_price and not allowed.get((span, "price"), 0):
                text = f"the {span} may cost ${limit.dollars:g}, but no price is known for this model"
                return Excess(span=span, unit="price", text=text)
            times = 1 + allowed.get((span, "dollars"), 0)
            if used.dollars >= limit.dollars * times:
                text = f"the {span} has cost ${used.dollars:.4f}, its budget is ${limit.dollars * times:g}"
                return Excess(span=span, unit="dollars", text=text)
        if limit.tokens is not None:
            times = 1 + allowed.get((span, "tokens"), 0)
            if used.tokens >= limit.tokens * times:
                text = f"the {span} has used {used.tokens:,} tokens, its budget is {limit.tokens * times:,}"
                return Excess(span=span, unit="tokens", text=text)
    return None


encode_spent = msgspec.json.Encoder().encode
decode_spent = msgspec.json.Decoder(Spent).decode
