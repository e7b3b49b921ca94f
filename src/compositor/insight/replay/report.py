"""What a replay comes to, gathered session by session in bounded memory: sums, the dearest sessions and breaks, plans and advice.

Decides what is kept. Its values are what the tables, the JSON, the Parquet file and the page all show.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct

from compositor.config.price import Said

from .rows import Break, Session
from .simulate import Outcome, Plan
from .totals import Ledger, Row, Totals
from .whatif import Advice, WhatIf

DEAREST_SESSIONS = 4
DEAREST_BREAKS = 200


class Located(Struct, frozen=True):
    """A break with the session, file and line it stands in."""

    session: str
    path: str
    line: int
    found: Break


class Problem(Struct, frozen=True):
    """A file that gave no session, and why."""

    path: str
    reason: str


class Report(Struct, frozen=True, kw_only=True):
    """The whole result. `sessions` and `breaks` are the dearest only; the sums cover all."""

    totals: Totals
    sessions: tuple[Session, ...]
    breaks: tuple[Located, ...]
    outcomes: tuple[Outcome, ...]
    advice: tuple[Advice, ...]
    problems: tuple[Problem, ...] = ()

    def tables(self) -> tuple[tuple[str, dict[str, Row]], ...]:
        """The tables by what they are about."""
        totals = self.totals
        return (
            ("project", totals.projects),
            ("model", totals.models),
            ("day", totals.days),
            ("session", totals.sessions),
            ("cause", totals.causes),
        )


class Gathering:
    """Takes sessions with `add`, files without one with `skip`; `report` gives the result so far."""

    def __init__(self, *, plans: Sequence[Plan] = (), said: Said = {}) -> None:  # noqa: B006 - never changed
        self._ledger = Ledger(said)
        self._whatif = WhatIf(plans, said)
        self._sessions: list[tuple[float, str, Session]] = []
        self._breaks: list[tuple[float, int, str, int, Located]] = []
        self._problems: list[Problem] = []

    def add(self, session: Session) -> frozenset[int]:
        """Count a session; gives the positions of requests that were counted before."""
        copies = self._ledger.add(session)
        self._whatif.add(session, copies)
        row = self._ledger.totals.sessions.get(session.path)
        if row is not None:
            _keep(self._sessions, (row.dollars, session.path, session), DEAREST_SESSIONS)
        for found in session.breaks:
            if found.request not in copies:
                line = session.requests[found.request].line
                located = Located(session.session_id, session.path, line, found)
                _keep(self._breaks, (found.dollars or 0.0, found.lost, session.path, line, located), DEAREST_BREAKS)
        return copies

    def skip(self, path: str, reason: str) -> None:
        self._problems.append(Problem(path, reason))

    def report(self) -> Report:
        totals = self._ledger.totals
        return Report(
            totals=totals,
            sessions=tuple(one[-1] for one in sorted(self._sessions, key=lambda one: one[:-1], reverse=True)),
            breaks=tuple(one[-1] for one in sorted(self._breaks, key=lambda one: one[:-1], reverse=True)),
            outcomes=tuple(self._whatif.outcomes.values()),
            advice=self._whatif.advice(totals),
            problems=tuple(self._problems),
        )


T = TypeVar("T", bound=tuple[Any, ...])


def _keep(heap: list[T], one: T, most: int) -> None:
    heapq.heappush(heap, one)
    if len(heap) > most:
        heapq.heappop(heap)
