"""What a session cost: each request in its buckets and dollars, from what the service reported and what was forecast.

Decides the sums. A request without reported usage is unknown and says so; nothing is estimated in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from compositor.config.price import Said, cost, priced
from compositor.context.transcript.journal import Send
from compositor.types.usage import Usage


class RequestCost(Struct, frozen=True, kw_only=True):
    """One request. Tokens by bucket; `dollars` is `None` without usage or price; `forecast_read` as it was when sent."""

    number: int
    time: str
    model: str
    outcome: str
    usage: Usage | None
    dollars: float | None
    uncached: float | None
    forecast_read: int | None


class SessionCost(Struct, frozen=True, kw_only=True):
    """All requests, and sums over those that are known. `uncached` is what the same input would have cost without any cache."""

    requests: tuple[RequestCost, ...]
    dollars: float
    uncached: float
    unknown: int

    @property
    def spread(self) -> float | None:
        """Dearest request over cheapest (R280)."""
        known = [request.dollars for request in self.requests if request.dollars]
        return max(known) / min(known) if known else None


def session_cost(sends: Sequence[Send], said: Said = {}) -> SessionCost:  # noqa: B006 - never changed
    """The cost of a session from its journal; `said` are prices from the settings."""
    requests = tuple(_request(number, send, said) for number, send in enumerate(sends, start=1))
    return SessionCost(
        requests=requests,
        dollars=sum(request.dollars or 0.0 for request in requests),
        uncached=sum(request.uncached or 0.0 for request in requests),
        unknown=sum(request.dollars is None for request in requests),
    )


def _request(number: int, send: Send, said: Said) -> RequestCost:
    model = send.record.options.model
    price = priced(model, said)
    usage = send.usage
    return RequestCost(
        number=number,
        time=send.record.time,
        model=model,
        outcome=send.outcome.value,
        usage=usage,
        dollars=None if usage is None or price is None else cost(usage, price),
        uncached=None if usage is None or price is None else cost(_without_cache(usage), price),
        forecast_read=send.record.forecast_read,
    )


def _without_cache(usage: Usage) -> Usage:
    return Usage(input_tokens=usage.total_input, output_tokens=usage.output_tokens)
