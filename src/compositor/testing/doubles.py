"""Doubles for the ports: a clock that stands still until it is moved, ids that count up, and a person with prepared answers.

Each is a whole implementation of its port, and predictable. None of them touches the outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from compositor.ports import Permission

_START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class MovableClock:
    """Implements `ports.Clock`. Begins at noon of 1 January 2026 in UTC and moves by `advance` alone."""

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        self._passed = 0.0

    def advance(self, seconds: float) -> None:
        self._passed += seconds

    def now(self) -> str:
        moment = (self._start + timedelta(seconds=self._passed)).astimezone(UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def today(self) -> str:
        return (self._start + timedelta(seconds=self._passed)).date().isoformat()

    def monotonic(self) -> float:
        return self._passed


class CountingIds:
    """Implements `ports.Ids`: UUIDs in form, one after the other."""

    def __init__(self) -> None:
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return f"00000000-0000-4000-8000-{self._count:012d}"


class PreparedAsker:
    """Implements `ports.Asker`: gives the prepared answers in order, then no. `asked` holds every question."""

    def __init__(self, answers: Iterable[bool] = ()) -> None:
        self._answers = list(answers)
        self.asked: list[Permission] = []

    async def ask(self, permission: Permission) -> bool:
        self.asked.append(permission)
        return self._answers.pop(0) if self._answers else False
