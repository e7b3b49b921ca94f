"""What `explain` says about the prompt cache: the forecast of a request that is not sent yet, the verdict on one that was, planned changes.

Decides wording and columns. Everything in it is computed elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compositor.context.cache.changes import ChangeCost, plan_changes
from compositor.context.cache.forecast import Forecast, headline
from compositor.context.prefix import Prefix
from compositor.context.transcript.journal import Send
from compositor.loop.accounting import expiry_note, forecast_request, seconds
from compositor.opened import Opened
from compositor.types.request import Compiled


class Outlook:
    """The forecast of the next request of an opened session, at this moment."""

    def __init__(self, opened: Opened, compiled: Compiled, prefix: Prefix) -> None:
        now = seconds(opened.clock.now())
        account, self.forecast = forecast_request(opened.account, prefix, compiled, now)
        self.expired = expiry_note(account, self.forecast, compiled, now)
        self.changes = plan_changes(self.forecast, account.tariff.price, compiled.options.ttl)

    def lines(self, *, with_changes: bool) -> Iterator[str]:
        yield headline(self.forecast)
        if self.expired is not None:
            yield self.expired
        if with_changes:
            yield ""
            yield from change_lines(self.changes)

    def fields(self, *, with_changes: bool) -> dict[str, Any]:
        found = {"forecast": forecast_json(self.forecast), "expired": self.expired}
        return {**found, "changes": self.changes} if with_changes else found


def change_lines(changes: Sequence[ChangeCost]) -> Iterator[str]:
    """What each planned change would cost now."""
    yield f"{'what if':42} {'lost tokens':>12} {'dollars':>10}  why"
    for change in changes:
        dollars = "?" if change.dollars is None else f"{change.dollars:.4f}"
        yield f"{change.name:42} {change.lost:12,} {dollars:>10}  {change.note}"


def forecast_json(forecast: Forecast) -> dict[str, Any]:
    """Tokens by bucket, dollars, and the last positions that are read and written."""
    return {
        "read": forecast.read,
        "written_5m": forecast.written_5m,
        "written_1h": forecast.written_1h,
        "new": forecast.fresh,
        "dollars": forecast.dollars,
        "reads_to": forecast.reads_to,
        "writes_to": forecast.writes_to,
    }


def sent_fields(send: Send) -> dict[str, Any]:
    """What was forecast for a request that was sent, what was reported, and the two verdicts side by side."""
    usage, ended = send.usage, send.ended
    return {
        "forecast": {"read": send.record.forecast_read, "written": send.record.forecast_written},
        "reported": None
        if usage is None
        else {"read": usage.read, "written": usage.written, "new": usage.input_tokens},
        "verdict": ended.verdict if ended is not None else "",
        "cause": ended.cause if ended is not None else "",
        "lost": ended.lost if ended is not None else 0,
        "service": ended.said if ended is not None else "",
    }


def sent_lines(send: Send) -> Iterator[str]:
    """The same for a person."""
    fields = sent_fields(send)
    forecast, reported = fields["forecast"], fields["reported"]
    if forecast["read"] is not None:
        yield f"forecast: read {forecast['read']:,}, write {forecast['written'] or 0:,} tokens"
    if reported is not None:
        yield f"reported: read {reported['read']:,}, written {reported['written']:,}, new {reported['new']:,} tokens"
    if fields["verdict"]:
        lost = f", {fields['lost']:,} tokens lost" if fields["lost"] > 0 else ""
        yield f"cache: {fields['verdict'].replace('_', ' ')}{lost}: {fields['cause']}"
        yield f"the service says: {fields['service'] or 'nothing'}"
