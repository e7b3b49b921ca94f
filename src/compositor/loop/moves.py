"""Whether the paid prefix moved between two requests, whose doing it was, and what that costs before it is sent (law 2, R260, R270).

Decides by digests that are carried along; nothing settled is looked at. A move without an event is a fault: what was sent is sent again, with
everything that is new behind it.
"""

from __future__ import annotations

import enum

from msgspec import Struct

from compositor.context.cache.book import SECONDS
from compositor.context.cache.changes import rewrite_cost
from compositor.context.cache.forecast import Forecast
from compositor.context.explain import first_difference
from compositor.context.prefix import Prefix, extend
from compositor.types.request import Compiled, RequestOptions
from compositor.types.snapshot import EventName, PrefixEvent

from .accounting import Account, new_events
from .resume import LATCHED


class PrefixPolicy(enum.StrEnum):
    """What happens before an event moves a prefix that was paid for: it is said, a person is asked, or the turn ends."""

    WARN = "warn"
    ASK = "ask"
    REFUSE = "refuse"


class Move(Struct, frozen=True, kw_only=True):
    """The next request does not begin with the last answered one. `events` name why.

    `lost` are tokens that the cache still holds and that are not read any more, `dollars` what writing them again costs more than reading
    them (`None`: no price is known).
    """

    events: tuple[PrefixEvent, ...]
    lost: int
    dollars: float | None

    @property
    def is_chosen(self) -> bool:
        """Whether it can be done without: a full window cannot."""
        return any(event.name is not EventName.COMPACT for event in self.events)

    @property
    def text(self) -> str:
        """One sentence for a person."""
        named = "; ".join(f"{event.name.value.replace('_', ' ')}: {event.cause}" for event in self.events)
        money = "price unknown" if self.dollars is None else f"${self.dollars:.4f}"
        return f"the paid prefix moves ({named}): {self.lost:,} tokens are not read from the cache any more ({money})"


def is_fault(sent: Prefix | None, now: Prefix) -> bool:
    """Whether the prefix moved and nobody said so."""
    return sent is not None and not _begins_with(now, sent) and not new_events(sent, now)


def describe_fault(sent: Compiled, now: Compiled) -> str:
    """One sentence that names the section, tool or message that moved (R270)."""
    difference = first_difference(sent, now)
    what = difference.cause if difference is not None else "what was sent"
    return f"{what}, and no event says why; what was sent is sent again"


def latched_names(sent: RequestOptions, now: RequestOptions) -> tuple[str, ...]:
    """The options that may not change while a session sends to one model, and did (R265): lifetime, betas, cache edits."""
    return tuple(name for name in LATCHED if sent.model == now.model and getattr(sent, name) != getattr(now, name))


def find_move(account: Account, now: Prefix, forecast: Forecast, time: float) -> Move | None:
    """The move that sending `forecast` at `time` would be; `None` when nothing that was paid for is lost."""
    events = new_events(account.sent, now)
    paid = account.paid
    if not events or paid is None or time - paid.at >= SECONDS[paid.ttl]:
        return None
    if account.sent is not None and _begins_with(now, account.sent):
        return None
    lost = paid.tokens - forecast.read
    if lost <= 0:
        return None
    again = min(lost, forecast.total - forecast.read)
    dollars = rewrite_cost(again, forecast.total, account.tariff.price, paid.ttl)
    return Move(events=events, lost=lost, dollars=dollars)


def restore_sent(sent: Prefix, now: Prefix) -> Prefix:
    """The prefix as it was sent, with the entries of `now` behind it that are new. Looks at every entry; for a fault only."""
    known = {entry.uuid for entry in sent.entries}
    return extend(sent, [entry for entry in now.entries if entry.uuid not in known])


def _begins_with(now: Prefix, sent: Prefix) -> bool:
    if now.head.digest != sent.head.digest:
        return False
    number = len(sent.boundaries)
    if number < len(now.boundaries):
        return now.boundaries[number].view == sent.tail.view
    # Nothing settled since: the newest round may have grown behind what was sent of it.
    return number == len(now.boundaries) and now.view == sent.view
