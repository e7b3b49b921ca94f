"""The forecast of one request: what is read, written and new, and what that costs, before anything is sent.

Decides the sums. Prices come in as values; what the service really did comes later, from usage (`attribution.py`).
"""

from __future__ import annotations

from msgspec import Struct

from compositor.config.price import Price
from compositor.types.usage import CacheCreation, Usage

from .book import CacheBook, Expected
from .positions import Position


class Forecast(Struct, frozen=True, kw_only=True):
    """Estimated tokens of one request in one bucket each, where it should read and write, and dollars (`None`: no price is known).

    `positions` are kept for the comparison with what was reported.
    """

    read: int
    written_5m: int
    written_1h: int
    fresh: int
    reads_to: str | None
    writes_to: str | None
    dollars: float | None
    positions: tuple[Position, ...]
    expected: Expected

    @property
    def written(self) -> int:
        return self.written_5m + self.written_1h

    @property
    def total(self) -> int:
        return self.read + self.written + self.fresh


def plan_forecast(
    book: CacheBook,
    positions: tuple[Position, ...],
    *,
    total: int,
    minimum: int,
    now: float,
    price: Price | None,
) -> Forecast:
    """What the request with these positions should do when it is sent at `now` (seconds on the session's clock)."""
    expected = book.expect(positions, total=total, minimum=minimum, now=now)
    return Forecast(
        read=expected.read,
        written_5m=expected.written_5m,
        written_1h=expected.written_1h,
        fresh=expected.fresh,
        reads_to=None if expected.hit is None else expected.hit.what,
        writes_to=None if expected.last_write is None else expected.last_write.what,
        dollars=None if price is None else input_cost(expected, price),
        positions=positions,
        expected=expected,
    )


def input_cost(expected: Expected, price: Price) -> float:
    """US dollars of the input side of one request."""
    tier = price.tier(expected.total)
    return (
        expected.read * tier.read
        + expected.written_5m * tier.write_5m
        + expected.written_1h * tier.write_1h
        + expected.fresh * tier.input
    ) / 1_000_000


def cold_cost(total: int, price: Price) -> float:
    """US dollars of the input side of a request of `total` tokens without any cache."""
    return total * price.tier(total).input / 1_000_000


def as_usage(forecast: Forecast) -> Usage:
    """The forecast in the shape in which responses report."""
    return Usage(
        input_tokens=forecast.fresh,
        cache_read_input_tokens=forecast.read,
        cache_creation_input_tokens=forecast.written,
        cache_creation=CacheCreation(
            ephemeral_5m_input_tokens=forecast.written_5m, ephemeral_1h_input_tokens=forecast.written_1h
        ),
    )


def headline(forecast: Forecast) -> str:
    """One line for a person: what is cached of this request."""
    share = forecast.read / forecast.total if forecast.total else 0.0
    money = "" if forecast.dollars is None else f", ${forecast.dollars:.4f}"
    where = f" up to {forecast.reads_to}" if forecast.reads_to else ""
    return (
        f"forecast: read {forecast.read:,}{where}, write {forecast.written:,}, "
        f"new {forecast.fresh:,} tokens ({share:.0%} from the cache{money})"
    )
