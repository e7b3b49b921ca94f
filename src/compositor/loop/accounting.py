"""The account of a session: what the cache should hold, what each request should cost, and what came of it.

Decides nothing the cache parts do not decide; it keeps their values together from one request to the next. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from compositor.config.price import Price
from compositor.context.cache.attribution import Attribution, attribute
from compositor.context.cache.book import SECONDS, CacheBook
from compositor.context.cache.changes import possible_break
from compositor.context.cache.clearing import plan_clearing
from compositor.context.cache.forecast import Forecast, plan_forecast
from compositor.context.cache.lifetime import Use, pause_line
from compositor.context.cache.positions import (
    Line,
    Position,
    TokenTally,
    extend_tally,
    request_positions,
    settings_key,
    total_tokens,
)
from compositor.context.explain import first_difference
from compositor.context.finish import pinned_mark
from compositor.context.prefix import Prefix
from compositor.context.tokens import calibrate
from compositor.context.transcript.journal import Send
from compositor.types.journal import SendRecord
from compositor.types.request import CacheRegion, Compiled, RequestOptions, Ttl
from compositor.types.snapshot import PrefixEvent
from compositor.types.usage import Usage

DEFAULT_MINIMUM = 1024
"""Tokens below which nothing is cached, where the model's own minimum is not known (wire page 4.3)."""


class Tariff(Struct, frozen=True, kw_only=True):
    """What a model's cache costs: `minimum` in tokens, `price` where one is published.

    `forgets`: the model does not see the thoughts of earlier turns, so that each word of a person rewrites what held one.
    """

    minimum: int | None
    price: Price | None
    forgets: bool = False

    @property
    def least(self) -> int:
        return DEFAULT_MINIMUM if self.minimum is None else self.minimum


class Paid(Struct, frozen=True):
    """What the last answered request put into the cache: tokens, when (seconds since 1970), for how long."""

    tokens: int
    at: float
    ttl: Ttl


class Account(Struct, frozen=True, kw_only=True):
    """A value; the functions below give the next one. `sent_at`, `previous`, `sent` and `paid` belong to the last answered request.

    `uses` is the pattern of use so far, its newest part. `history` holds the sends of a resumed session until the first request, which knows the names of what they wrote.
    """

    tariff: Tariff
    history: tuple[Send, ...] = ()
    book: CacheBook = CacheBook()
    tally: TokenTally = TokenTally()
    scale: float = 1.0
    sent_at: float | None = None
    previous: Compiled | None = None
    sent: Prefix | None = None
    paid: Paid | None = None
    uses: tuple[Use, ...] = ()


LONGEST_PATTERN = 200
"""Requests that a pattern of use looks back on."""


def open_account(tariff: Tariff, history: tuple[Send, ...]) -> Account:
    """The account of a session that begins or goes on."""
    last = next((send for send in reversed(history) if send.settled and send.usage is not None), None)
    paid = None
    if last is not None and last.usage is not None:
        tokens = last.usage.read + last.usage.written
        paid = Paid(tokens, seconds(last.record.time), last.record.options.ttl)
    return Account(tariff=tariff, history=history, paid=paid, uses=uses_of(history))


def uses_of(sends: Sequence[Send]) -> tuple[Use, ...]:
    """The pattern of use that a journal shows: answered requests with their pauses."""
    found: list[Use] = []
    before: float | None = None
    for send in sends:
        if send.settled and send.usage is not None:
            now = seconds(send.record.time)
            found.append(Use(None if before is None else now - before, send.usage.total_input))
            before = now
    return tuple(found[-LONGEST_PATTERN:])


def expiry_note(account: Account, forecast: Forecast, compiled: Compiled, now: float) -> str | None:
    """What is to be said before a request that comes after the lifetime of what was written, with the cheaper plan (R094)."""
    if not compiled.options.caching or account.paid is None or now - account.paid.at < SECONDS[account.paid.ttl]:
        return None
    use = Use(now - account.paid.at, forecast.total)
    return pause_line((*account.uses, use), account.paid.ttl, account.tariff.price)


def forecast_request(account: Account, prefix: Prefix, compiled: Compiled, now: float) -> tuple[Account, Forecast]:
    """What `compiled` should do when it is sent at `now`. Costs what settled since the last forecast."""
    tally = extend_tally(account.tally, compiled.settled)
    line = Line(
        compiled=compiled,
        boundaries=prefix.boundaries,
        mark=prefix.tail.mark,
        pinned=pinned_mark(prefix, compiled.options),
        images=prefix.tail.legality.images > 0,
        tally=tally,
        forgets=account.tariff.forgets,
        scale=account.scale,
    )
    clearing = plan_clearing(compiled.options.context_management, tally.results, compiled.pending, total_tokens(line))
    line = msgspec.structs.replace(line, clearing=clearing)
    positions = request_positions(line)
    account = _recall(account, positions, compiled)
    forecast = plan_forecast(
        account.book,
        positions,
        total=total_tokens(line),
        minimum=account.tariff.least,
        now=now,
        price=account.tariff.price,
    )
    return msgspec.structs.replace(account, tally=tally), forecast


def new_events(sent: Prefix | None, now: Prefix) -> tuple[PrefixEvent, ...]:
    """The prefix events that came behind what was sent last."""
    known = 0 if sent is None or now.events[: len(sent.events)] != sent.events else len(sent.events)
    return now.events[known:]


class Sent(Struct, frozen=True):
    """A request that went out at `at` (seconds since 1970), with what it should do. One aside is no part of the conversation."""

    compiled: Compiled
    forecast: Forecast
    request_id: str
    at: float
    is_aside: bool = False


def settle_answer(
    account: Account, prefix: Prefix, sent: Sent, usage: Usage | None, said: str = ""
) -> tuple[Account, Attribution]:
    """The account behind the answer to `sent`, and what became of the forecast. `said` is the service's own verdict, where it gives one."""
    compiled, forecast, now = sent.compiled, sent.forecast, sent.at
    difference = first_difference(account.previous, compiled) if account.previous is not None else None
    verdict = attribute(
        forecast,
        usage,
        difference=difference,
        events=new_events(account.sent, prefix),
        idle=None if account.sent_at is None else now - account.sent_at,
        ttl_seconds=SECONDS[compiled.options.ttl],
        said=said,
    )
    if account.previous is not None:
        also = possible_break(account.previous.options, compiled.options)
        verdict = msgspec.structs.replace(verdict, cause=verdict.cause + also)
    reported = usage.total_input if usage is not None else 0
    after = msgspec.structs.replace(
        account,
        book=account.book.after(forecast.positions, forecast.expected, minimum=account.tariff.least, now=now),
        scale=calibrate(account.scale, forecast.total, reported),
        sent_at=now,
    )
    if sent.is_aside:
        return after, verdict
    total = reported or forecast.total
    use = Use(None if account.paid is None else now - account.paid.at, total)
    cached = forecast.read + forecast.written if usage is None else usage.read + usage.written
    return msgspec.structs.replace(
        after,
        previous=compiled,
        sent=prefix,
        paid=Paid(cached, now, compiled.options.ttl),
        uses=(*account.uses, use)[-LONGEST_PATTERN:],
    ), verdict


def _recall(account: Account, positions: tuple[Position, ...], compiled: Compiled) -> Account:
    """The account with what the resumed session's answered requests wrote, each counted from its own time.

    An entry is known by the names of this request's positions, so that what another head or other settings wrote is not taken for ours: tools and
    system outlive another effort, messages do not (wire page 4.7).
    """
    ends = {position.view for position in positions if position.view}
    least, now_sent = account.tariff.least, compiled.options
    for send in account.history:
        record = send.record
        same = (record.options.model, record.options.speed) == (now_sent.model, now_sent.speed)
        if not send.settled or not same or record.head_digest != compiled.head.digest:
            continue
        continues = record.view_digest in ends and _messages_alike(record.options, now_sent)
        written = _written(record, positions, with_messages=continues)
        now = seconds(record.time)
        expected = account.book.expect(written, total=0, minimum=least, now=now)
        book = account.book.after(written, expected, minimum=least, now=now)
        account = msgspec.structs.replace(account, book=book, sent_at=now)
    return msgspec.structs.replace(account, history=())


def _messages_alike(one: RequestOptions, two: RequestOptions) -> bool:
    return settings_key(one, images=False) == settings_key(two, images=False)


def _written(record: SendRecord, positions: tuple[Position, ...], *, with_messages: bool) -> list[Position]:
    """The positions that the recorded markers stood at, with the lifetime that they had."""
    by_name = {position.what: position for position in positions}
    found: list[Position] = []
    for marker in record.markers:
        name = "tools" if marker.region is CacheRegion.TOOLS else f"{marker.region.value}[{marker.index}]"
        if name in by_name and (with_messages or marker.region is not CacheRegion.MESSAGES):
            found.append(msgspec.structs.replace(by_name[name], ttl=marker.ttl))
    return found


def seconds(time: str) -> float:
    """An ISO time as seconds since 1970."""
    return datetime.fromisoformat(time).timestamp()
