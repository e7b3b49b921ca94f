"""What a session cost: each request in its buckets and dollars, from what the service reported and what was forecast.

Decides the sums. A request without reported usage is unknown and says so; nothing is estimated in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from compositor.config.price import Price, Said, cost, priced
from compositor.context.cache.changes import rewrite_cost
from compositor.context.transcript.journal import Send
from compositor.types.usage import Usage


class RequestCost(Struct, frozen=True, kw_only=True):
    """One request. Tokens by bucket; `dollars` is `None` without usage or price; `forecast_read` as it was when sent.

    `verdict` says what became of the forecast, `cause` why; `lost` are tokens that were not read that should have been, and `lost_dollars` what
    writing them again cost more than reading them (`None` without a price). `said` is the service's own verdict.
    """

    number: int
    time: str
    model: str
    outcome: str
    usage: Usage | None
    dollars: float | None
    uncached: float | None
    forecast_read: int | None
    verdict: str = ""
    cause: str = ""
    lost: int = 0
    lost_dollars: float | None = None
    said: str = ""


class CauseCost(Struct, frozen=True, kw_only=True):
    """What one cause cost in a session: how many requests lost something by it, and how much."""

    cause: str
    requests: int
    lost: int
    dollars: float | None


class SessionCost(Struct, frozen=True, kw_only=True):
    """All requests, and sums over those that are known. `uncached` is what the same input would have cost without any cache."""

    requests: tuple[RequestCost, ...]
    dollars: float
    uncached: float
    unknown: int

    @property
    def causes(self) -> tuple[CauseCost, ...]:
        """Losses by cause, dearest first; a request that lost nothing belongs to none."""
        losses = [request for request in self.requests if request.lost > 0]
        names = dict.fromkeys(request.cause for request in losses)
        found = [_by_cause(name, [request for request in losses if request.cause == name]) for name in names]
        return tuple(sorted(found, key=lambda cause: cause.lost, reverse=True))

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


def _by_cause(cause: str, requests: Sequence[RequestCost]) -> CauseCost:
    dollars = [request.lost_dollars for request in requests if request.lost_dollars is not None]
    return CauseCost(
        cause=cause,
        requests=len(requests),
        lost=sum(request.lost for request in requests),
        dollars=sum(dollars) if dollars else None,
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
        **_losses(send, price),
    )


def _losses(send: Send, price: Price | None) -> dict[str, Any]:
    ended = send.ended
    if ended is None:
        return {}
    lost = max(ended.lost, 0)
    prompt = send.usage.total_input if send.usage is not None else 0
    dollars = rewrite_cost(lost, prompt, price, send.record.options.ttl)
    return {
        "verdict": ended.verdict,
        "cause": ended.cause,
        "lost": lost,
        "lost_dollars": dollars if lost else None,
        "said": ended.said,
    }


def _without_cache(usage: Usage) -> Usage:
    return Usage(input_tokens=usage.total_input, output_tokens=usage.output_tokens)
