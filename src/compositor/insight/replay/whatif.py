"""Plans side by side, and a short list of what to change, what it saves, and why.

Decides which plans are tried and how advice reads. Savings are the difference of two simulations of the same requests, never of a
simulation and a bill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from compositor.config.price import Said
from compositor.types.request import Ttl

from .cures import CURES
from .rows import Cause, Session
from .simulate import RECORDED, Markers, Outcome, Plan, simulate
from .totals import Row, Totals

PLANS: tuple[tuple[Plan, str], ...] = (
    (
        Plan(name="1 h lifetime", ttl=Ttl.LONG),
        "pauses between five minutes and an hour no longer lose the prefix; each write costs 2x instead of 1.25x",
    ),
    (
        Plan(name="5 min lifetime", ttl=Ttl.SHORT),
        "writes cost 1.25x instead of 2x, and few pauses are longer than five minutes",
    ),
    (Plan(name="one marker at the end", markers=Markers.END), "the look-back of one marker is enough for these turns"),
    (
        Plan(name="markers behind the head only", markers=Markers.HEAD),
        "the messages are hardly ever read again, so writing them does not pay",
    ),
    (Plan(name="no cache", markers=Markers.NONE), "nothing is read often enough to pay for its write"),
    (Plan(name="compact at 100k", threshold=100_000), "long prompts are read again and again; a summary is shorter"),
    (Plan(name="compact at 150k", threshold=150_000), "long prompts are read again and again; a summary is shorter"),
    (
        Plan(name="defer 10k of tools", defer=10_000),
        "tool definitions that are rarely used stand in every prompt; deferred ones are loaded when searched for",
    ),
)


class Advice(Struct, frozen=True, kw_only=True):
    """One line of the ranked list: `saves` dollars (an estimate) when `change` is made, `because`."""

    change: str
    saves: float
    because: str


class WhatIf:
    """Takes sessions one after the other; keeps one sum for each plan."""

    def __init__(self, extra: Sequence[Plan] = (), said: Said = {}) -> None:  # noqa: B006 - never changed
        self._said = said
        self.plans: tuple[tuple[Plan, str], ...] = (
            (RECORDED, ""),
            *PLANS,
            *((plan, "you asked for it") for plan in extra),
        )
        self.outcomes: dict[str, Outcome] = {plan.name: Outcome(plan=plan.name) for plan, _ in self.plans}

    def add(self, session: Session, copies: frozenset[int]) -> None:
        """Simulate a session under every plan."""
        for plan, _ in self.plans:
            found = simulate(session.requests, session.breaks, plan, self._said, copies)
            self.outcomes[plan.name].add(found)

    def advice(self, totals: Totals, least: float = 0.01) -> tuple[Advice, ...]:
        """Most saving first. Plans of one kind exclude each other, so only the best of each is named."""
        base = self.outcomes[RECORDED.name]
        best: dict[str, Advice] = {}
        for plan, because in self.plans[1:]:
            saves = base.dollars - self.outcomes[plan.name].dollars
            kind = _kind(plan)
            if saves >= max(least, base.dollars * 0.001) and (kind not in best or best[kind].saves < saves):
                best[kind] = Advice(change=plan.name, saves=saves, because=because)
        return tuple(sorted((*best.values(), *_from_breaks(totals.causes, least)), key=lambda one: -one.saves))


def _kind(plan: Plan) -> str:
    if plan.model is not None:
        return f"model {plan.model}"
    if plan.prices is not None:
        return f"prices {plan.prices}"
    if plan.threshold is not None:
        return "threshold"
    if plan.defer:
        return "defer"
    return "lifetime" if plan.ttl is not None else "markers"


def _from_breaks(causes: Mapping[str, Row], least: float) -> list[Advice]:
    return [
        Advice(
            change=CURES[cause],
            saves=causes[cause].wasted,
            because=f"{causes[cause].breaks} times {causes[cause].lost:,} tokens in all were paid again ({cause})",
        )
        for cause in _ADVISED
        if cause in causes and causes[cause].wasted >= least
    ]


# A pause or a compaction costs what another plan saves, which is simulated; an unknown cause has no cure.
_ADVISED = tuple(cause for cause in CURES if cause not in {Cause.EXPIRY, Cause.COMPACTION, Cause.UNKNOWN})
