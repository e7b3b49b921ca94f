"""Where a cached prefix was paid for again, and why: from evidence, never from a read that merely drops.

Decides in one order of causes. There is a break only when the request begins with a prompt that had been cached, the service reports cache
figures for both, and less was read than both hold. A shorter prompt, a rewind, a subagent or a request without markers is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compositor.config.price import Price, Said, priced

from .rows import Break, Cause, Request

FLOOR = 1_024
"""Tokens below which a difference says nothing: markers move by a block, and no model caches less."""
SHARE = 0.05
"""The same as a share of what should have been read."""
LOOK_BACK = 20
"""Blocks that one marker looks back over (wire page 4.2)."""


def find_breaks(requests: Sequence[Request], said: Said = {}) -> tuple[Break, ...]:  # noqa: B006 - never changed
    """All breaks of a session, in order; `said` are prices from the settings."""
    found = [_break_at(position, requests, said) for position in range(len(requests))]
    return tuple(one for one in found if one is not None)


def lifetime(request: Request) -> float:
    """Seconds that what a request wrote stays: an hour where the service reports writes for an hour."""
    creation = None if request.usage is None else request.usage.cache_creation
    return 3600.0 if creation is not None and creation.ephemeral_1h_input_tokens else 300.0


def _break_at(position: int, requests: Sequence[Request], said: Said) -> Break | None:
    now = requests[position]
    compacted = next((event for event in now.events if event.cause is Cause.COMPACTION), None)
    base = now.previous if compacted and now.follows < 0 else now.follows
    opening = now.opening
    if base < 0 or opening is None or not now.reports_cache:
        return None
    before = requests[base]
    if not before.reports_cache:
        return None
    expected = before.cached if compacted else min(before.cached, opening.total_input)
    lost = min(expected, opening.total_input) - opening.read
    if lost < max(FLOOR, SHARE * min(expected, opening.total_input)):
        return None
    cause, reason = _cause(before, now, requests)
    price = priced(now.model, said)
    return Break(
        request=position,
        cause=cause,
        expected=expected,
        read=opening.read,
        lost=lost,
        evidence=(
            _figures(before, now, lost),
            reason,
            *(event.detail for event in now.events if event.detail != reason),
        ),
        dollars=None if price is None else _extra(now, lost, price),
    )


def _extra(now: Request, lost: int, price: Price) -> float:
    """What paying again cost more than reading: at the price of writes where there were enough, else at that of new tokens."""
    opening = now.opening
    tier = price.tier(0 if opening is None else opening.total_input)
    paid = tier.write_1h if lifetime(now) > 300.0 else tier.write_5m
    if opening is not None and opening.written < lost:
        paid = tier.input
    return lost * (paid - tier.read) / 1_000_000


def _figures(before: Request, now: Request, lost: int) -> str:
    opening = now.opening
    read = 0 if opening is None else opening.read
    return (
        f"line {before.line} left {before.cached:,} tokens in the cache, line {now.line} begins with them and read {read:,}; "
        f"{lost:,} were paid again"
    )


_Finder = Callable[[Request, Request, Sequence[Request]], str | None]


def _cause(before: Request, now: Request, requests: Sequence[Request]) -> tuple[Cause, str]:
    for cause, finder in _ORDER:
        reason = finder(before, now, requests)
        if reason is not None:
            return cause, reason
    return Cause.UNKNOWN, _ruled_out(now)


def _event(cause: Cause) -> _Finder:
    def find(_before: Request, now: Request, _requests: Sequence[Request]) -> str | None:
        return next((event.detail for event in now.events if event.cause is cause), None)

    return find


def _model(before: Request, now: Request, _requests: Sequence[Request]) -> str | None:
    return None if before.model == now.model else f"the model changed from {before.model} to {now.model}"


def _settings(before: Request, now: Request, _requests: Sequence[Request]) -> str | None:
    return None if before.effort == now.effort else f"effort changed from {before.effort!r} to {now.effort!r}"


def _expired(before: Request, now: Request, requests: Sequence[Request]) -> str | None:
    if before.time is None or now.time is None:
        return None
    used = [
        request.time
        for request in requests[requests.index(before) : requests.index(now)]
        if request.time is not None and request.follows >= 0 and requests[request.follows] is before
    ]
    idle, lives = now.time - max([before.time, *used]), lifetime(before)
    if idle < lives:
        return None
    return f"{idle:,.0f} s passed since the prefix was last used; what was written lives {lives:,.0f} s"


def _wide(before: Request, now: Request, _requests: Sequence[Request]) -> str | None:
    new = now.blocks - before.blocks
    return None if new < LOOK_BACK else f"{new} blocks were appended, a marker looks back over {LOOK_BACK}"


def _shorter(before: Request, now: Request, _requests: Sequence[Request]) -> str | None:
    opening = now.opening
    gone = before.cached + max(now.messages - before.messages, 0) - (0 if opening is None else opening.total_input)
    limit = max(FLOOR, SHARE * before.cached)
    return None if gone < limit else f"about {gone:,} tokens that stood in front are gone from the prompt"


def _ruled_out(now: Request) -> str:
    opening = now.opening
    if opening is not None and opening.read == 0:
        where = "nothing was read, so tools, system prompt or the service itself"
    else:
        where = "the beginning was read, so something in the messages or the service itself"
    return f"{where}; model and effort are the same, the lifetime had not passed, the record names no change"


# The first that has evidence. What the record or the service says outright comes before what figures suggest.
_ORDER: tuple[tuple[Cause, _Finder], ...] = (
    (Cause.COMPACTION, _event(Cause.COMPACTION)),
    (Cause.CLEARING, _event(Cause.CLEARING)),
    (Cause.MODEL_SWITCH, _model),
    (Cause.SETTINGS, _settings),
    (Cause.SETTINGS, _event(Cause.SETTINGS)),
    (Cause.TOOLS, _event(Cause.TOOLS)),
    (Cause.EXPIRY, _expired),
    (Cause.RESUME, _event(Cause.RESUME)),
    (Cause.SYSTEM, _event(Cause.SYSTEM)),
    (Cause.HISTORY, _event(Cause.HISTORY)),
    (Cause.WIDE_TURN, _wide),
    (Cause.CLEARING, _shorter),
)
