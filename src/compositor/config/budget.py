"""The table `compositor.budget`: how much a turn, a session and a day may cost, and what happens at the limit.

Decides the shape. What was spent is counted in `loop/budget.py`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class SpanBudget(Struct, frozen=True, kw_only=True):
    """Limits of one span, in US dollars and in tokens (prompt and answer together); `None` for none."""

    dollars: float | None = None
    tokens: int | None = None


class BudgetSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """Limits by span, and whether the limit stops or asks."""

    turn: SpanBudget = SpanBudget()
    session: SpanBudget = SpanBudget()
    day: SpanBudget = SpanBudget()
    action: Literal["stop", "ask"] = "stop"
