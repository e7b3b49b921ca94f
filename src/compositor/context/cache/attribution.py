"""After the answer: did the cache do what was forecast, and if not, whose doing was it?

Decides the verdict from evidence only: what was forecast, what was reported, and the first differing element of two requests. A read that merely
drops is not enough to call it a break (R284): there must have been something to read.
"""

from __future__ import annotations

import enum

import msgspec
from msgspec import Raw, Struct

from compositor.types.difference import Difference
from compositor.types.json import decode_json
from compositor.types.snapshot import PrefixEvent
from compositor.types.usage import Usage

from .forecast import Forecast

TOLERANCE = 0.25
"""The estimate's stated error as a share: figures within it agree. No tokenizer is public, so tokens are estimates."""
FLOOR = 256
"""Tokens below which a difference says nothing."""


class Verdict(enum.StrEnum):
    """What became of the forecast."""

    AS_FORECAST = "as_forecast"
    NOT_REPORTED = "not_reported"
    PREFIX_CHANGED = "prefix_changed"
    EXPIRED = "expired"
    SERVER = "server"
    BETTER = "better"


class Attribution(Struct, frozen=True, kw_only=True):
    """The verdict with its evidence. `lost` counts tokens that should have been read and were not.

    `said` is what the service itself says (wire page 4.8), empty where it says nothing.
    """

    verdict: Verdict
    cause: str
    lost: int = 0
    said: str = ""


def service_verdict(diagnostics: Raw | None) -> str:
    """The `diagnostics` of an answer in words (wire page 4.8); empty for none, and while the comparison is pending."""
    if diagnostics is None:
        return ""
    reason = decode_json(bytes(diagnostics)).get("cache_miss_reason")
    if not isinstance(reason, dict):
        return ""
    missed = reason.get("cache_missed_input_tokens")
    kind = str(reason.get("type") or "unknown").replace("_", " ")
    return f"{kind}, {missed:,} tokens" if isinstance(missed, int) else kind


def attribute(
    forecast: Forecast,
    usage: Usage | None,
    *,
    difference: Difference | None,
    events: tuple[PrefixEvent, ...] = (),
    idle: float | None = None,
    ttl_seconds: float = 300.0,
    said: str = "",
) -> Attribution:
    """Compare. `difference` is the first change against the previous request (`None`: this one only appends), `idle` the seconds since it."""
    found = _verdict(forecast, usage, difference=difference, events=events, idle=idle, ttl_seconds=ttl_seconds)
    return msgspec.structs.replace(found, said=said)


def _verdict(
    forecast: Forecast,
    usage: Usage | None,
    *,
    difference: Difference | None,
    events: tuple[PrefixEvent, ...],
    idle: float | None,
    ttl_seconds: float,
) -> Attribution:
    if usage is None or (usage.cache_read_input_tokens is None and usage.cache_creation_input_tokens is None):
        return Attribution(verdict=Verdict.NOT_REPORTED, cause="the service reported no cache figures")
    lost = forecast.read - usage.read
    if abs(lost) <= max(FLOOR, TOLERANCE * max(forecast.read, usage.read)):
        return _as_forecast(difference, events)
    if lost < 0:
        return Attribution(
            verdict=Verdict.BETTER, cause="more was read than forecast: another session wrote the same prefix"
        )
    if difference is not None:
        named = ", ".join(event.name.value for event in events)
        cause = f"{difference.cause}{f' ({named})' if named else ''}"
        return Attribution(verdict=Verdict.PREFIX_CHANGED, cause=cause, lost=lost)
    if idle is not None and idle >= ttl_seconds:
        cause = f"{idle:.0f} s passed since the last request, entries live {ttl_seconds:.0f} s"
        return Attribution(verdict=Verdict.EXPIRED, cause=cause, lost=lost)
    cause = "the bytes up to the forecast position are equal: the service did not keep the entry"
    return Attribution(verdict=Verdict.SERVER, cause=cause, lost=lost)


def _as_forecast(difference: Difference | None, events: tuple[PrefixEvent, ...]) -> Attribution:
    if difference is None:
        return Attribution(verdict=Verdict.AS_FORECAST, cause="the request only appends to the one before")
    named = ", ".join(f"{event.name.value}: {event.cause}" for event in events) or difference.cause
    return Attribution(verdict=Verdict.AS_FORECAST, cause=f"forecast after a change of the prefix ({named})")
