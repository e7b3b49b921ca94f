"""How a figure is taken: CPU time, best of several, in one process, beside its floor.

Decides the method and the shape of a row; knows nothing of what is measured.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement. Times in milliseconds of CPU; `ratio` is `value` over `floor`."""

    name: str
    value: float
    floor: float
    floor_name: str

    @property
    def ratio(self) -> float:
        return self.value / self.floor if self.floor else float("inf")


def best_of(rounds: int, work: Callable[[], object]) -> float:
    """Milliseconds of CPU of the quickest of `rounds` runs; the collector is off meanwhile."""
    best = float("inf")
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            started = time.process_time()
            work()
            best = min(best, time.process_time() - started)
    finally:
        gc.enable()
    return best * 1000


def best_of_each(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The same for several, by turns: whatever else the machine does meets all of them."""
    return [min(times) for times in zip(*[[best_of(1, work) for work in works] for _ in range(rounds)], strict=True)]


def table(rows: list[Row]) -> str:
    """Rows as aligned text."""
    lines = [f"{'what':44} {'ms':>10} {'floor ms':>10} {'ratio':>8}   floor"]
    lines.extend(
        f"{row.name:44} {row.value:10.3f} {row.floor:10.3f} {row.ratio:8.2f}   {row.floor_name}" for row in rows
    )
    return "\n".join(lines)
