"""What tokens cost, as data, and the sum for a usage.

Decides which tier of a price applies and how usage becomes dollars. The figures stand in `prices/claude.json` with source
and date. Never guesses a price: a model without one costs `None`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from compositor.errors import ConfigError
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


Said: TypeAlias = Mapping[str, Mapping[str, Any]]
"""What the setting `compositor.prices` says: by model id, dollars for a million tokens by bucket."""

BUCKETS = ("input", "output", "write_5m", "write_1h", "read")


def priced(model: str, said: Said) -> Price | None:
    """The price of a model with what the settings say about it (one tier for every size of prompt).

    Buckets that nobody names follow from the built-in price, or from `input` by the public multipliers (wire page 4.5). Raises `ConfigError`
    for what is no price.
    """
    known = find_price(model)
    given = said.get(model) or said.get(find_profile(model).profile.id)
    if not given:
        return known
    base = {} if known is None else {name: getattr(known.tiers[0], name) for name in BUCKETS}
    tier = _tier(model, {**base, **_checked(model, given)})
    return Price(model=model, tiers=(tier,), source="the setting compositor.prices", date="", verified=True)


def _checked(model: str, given: Mapping[str, Any]) -> dict[str, float]:
    for name, value in given.items():
        if name not in BUCKETS:
            raise _no_price(model, f"{name!r} is none of {', '.join(BUCKETS)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise _no_price(model, f"{name!r} is {value!r} and must be a number that is not negative")
    return {name: float(value) for name, value in given.items()}


def _tier(model: str, dollars: Mapping[str, float]) -> Tier:
    if "input" not in dollars or "output" not in dollars:
        raise _no_price(model, "it needs at least 'input' and 'output'")
    derived = {name: dollars["input"] * factor for name, factor in _MULTIPLIERS.items()}
    return Tier(above=0, **{**derived, **dollars})


_MULTIPLIERS = {"write_5m": 1.25, "write_1h": 2.0, "read": 0.1}


def _no_price(model: str, reason: str) -> ConfigError:
    return ConfigError(
        f"The price of {model!r} cannot be used: {reason}",
        key=f"compositor.prices.{model}",
        hint='Give dollars for a million tokens, as in {"input": 3, "output": 15}',
    )


def billed(usages: Iterable[Usage], models: Iterable[str], said: Said) -> float | None:
    """US dollars of responses of several models, one model each; `None` as soon as the price of one is not known."""
    prices: dict[str, Price | None] = {}
    dollars = 0.0
    for usage, model in zip(usages, models, strict=True):
        price = prices.setdefault(model, priced(model, said))
        if price is None:
            return None
        dollars += cost(usage, price)
    return dollars


def total_cost(usages: Iterable[Usage], model: str, said: Said) -> float | None:
    """US dollars of several responses of a model, `None` where no price is known."""
    price = priced(model, said)
    return None if price is None else sum(cost(usage, price) for usage in usages)


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
