"""Clocks: the system's, and one that stands still for reproducible runs.

Reads the time and decides nothing. `COMPOSITOR_NOW` (an ISO 8601 time) chooses the second one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

from compositor.errors import ConfigError
from compositor.ports import Clock

VARIABLE = "COMPOSITOR_NOW"


class SystemClock:
    """The time of the machine; `today` is its local date."""

    def now(self) -> str:
        return _utc_text(datetime.now(UTC))

    def today(self) -> str:
        return datetime.now(UTC).astimezone().date().isoformat()

    def monotonic(self) -> float:
        return time.monotonic()


class FixedClock:
    """Always the same time, so that two runs give the same bytes. `monotonic` still runs: deadlines must end."""

    def __init__(self, moment: datetime) -> None:
        """`moment` with a time zone; its own calendar date is today's, whatever the machine's zone."""
        self._moment = moment

    def now(self) -> str:
        return _utc_text(self._moment.astimezone(UTC))

    def today(self) -> str:
        return self._moment.date().isoformat()

    def monotonic(self) -> float:
        return time.monotonic()


def clock_from(environ: Mapping[str, str]) -> Clock:
    """The clock of a run. A time without a zone is UTC. Raises `ConfigError` when the variable holds no time."""
    text = environ.get(VARIABLE, "")
    if not text:
        return SystemClock()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"{VARIABLE} is {text!r}, which is no time",
            where=f"environment variable {VARIABLE}",
            expected="an ISO 8601 time",
            got=text,
            hint="Write it as in 2026-01-31T12:00:00Z",
        ) from None
    return FixedClock(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _utc_text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
