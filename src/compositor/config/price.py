"""What tokens cost, as data, and the sum for a usage.

Decides which tier of a price applies and how usage becomes dollars. The figures stand in `prices/claude.json` with source
and date. Never guesses a price: a model without one costs `None`.
"""

from __future__ import annotations

import functools

import msgspec
from msgspec import Struct

from compositor.types.usage import Usage

from .data import read_data
from .profile import find_profile


class Tier(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for a million tokens, for requests whose prompt has more than `above` tokens."""

    above: int
    input: float
    output: float
    write_5m: float
    write_1h: float
    read: float


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The price of one model: `tiers` in rising order of `above`, the first with `above` 0."""

    model: str
    tiers: tuple[Tier, ...]
    source: str
    date: str
    verified: bool

    def tier(self, prompt_tokens: int) -> Tier:
        """The tier of a request with that many prompt tokens; it holds for every token of the request."""
        return next(tier for tier in reversed(self.tiers) if prompt_tokens > tier.above or tier.above == 0)


def find_price(model: str) -> Price | None:
    """The price of a model by any of its names, `None` where none is published."""
    return _prices().get(find_profile(model).profile.id)


def cost(usage: Usage, price: Price) -> float:
    """US dollars of ONE response: tiers go by the prompt of a single request, so sums are made of costs, not of usages.

    Writes without a split by lifetime count as five-minute ones (wire page 4.6).
    """
    tier = price.tier(usage.total_input)
    long = usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else 0
    short = max(usage.written - long, 0)
    parts = (
        usage.input_tokens * tier.input,
        usage.output_tokens * tier.output,
        short * tier.write_5m,
        long * tier.write_1h,
        usage.read * tier.read,
    )
    return sum(parts) / 1_000_000


def known_prices() -> tuple[Price, ...]:
    """Every price of the data file, in its order."""
    return tuple(_prices().values())


class _PriceFile(Struct, frozen=True, forbid_unknown_fields=True):
    unit: str
    prices: tuple[Price, ...]


@functools.cache
def _prices() -> dict[str, Price]:
    decoded = msgspec.json.decode(read_data("prices/claude.json"), type=_PriceFile)
    return {price.model: price for price in decoded.prices}
