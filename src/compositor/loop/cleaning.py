"""Cleaning old tool results out of the conversation: whether it may be done, what it saves and what it loses (R273, R276 to R278).

Decides by the sums. While the cache is warm, cleaning loses everything behind the first cleaned result, so it is refused unless that costs less than
carrying the results on; once the cache has expired there is nothing to lose. What the service clears itself (`context_management`) changes
nothing here.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from compositor.context.cache.book import SECONDS
from compositor.context.cache.changes import rewrite_cost
from compositor.context.cache.marks import block_end
from compositor.context.prefix import Prefix, refold
from compositor.context.tokens import estimate_tokens
from compositor.types.blocks import ToolResultBlock
from compositor.types.snapshot import EventName

from .accounting import Account

HORIZON = 20
"""Requests for which the saving is counted: as many as a session usually still makes."""
LEAST = 1_000
"""Estimated tokens below which cleaning is not worth an event."""


class Cleaning(Struct, frozen=True, kw_only=True):
    """A cleaning that could be done: the calls whose results go, tokens freed, and whether it may be. `reason` is one sentence.

    `loss` and `gain` are US dollars, `None` without a price.
    """

    calls: tuple[str, ...]
    tokens: int
    loss: float | None
    gain: float | None
    allowed: bool
    reason: str


class Old(Struct, frozen=True):
    """A result that could go: its call, the settled message that holds it, and its estimated tokens."""

    call: str
    message: int
    tokens: int


def old_results(prefix: Prefix, keep: int) -> tuple[Old, ...]:
    """Every settled result but the newest `keep`, oldest first, without those that are cleaned already."""
    found: list[Old] = []
    for number, chunk in enumerate(prefix.settled):
        for block, part in enumerate(chunk.message.parts if chunk.message is not None else ()):
            result = part.block
            if isinstance(result, ToolResultBlock):
                end = block_end(chunk, block)
                # One that carries notes still reads differently from the stand-in alone.
                is_clean = result.tool_use_id in prefix.facts.cleared
                data = b"" if is_clean else chunk.data[end - chunk.sizes[block] : end]
                found.append(Old(result.tool_use_id, number, estimate_tokens(data)))
    return tuple(old for old in found[: max(len(found) - keep, 0)] if old.tokens)


def plan_cleaning(account: Account, prefix: Prefix, *, now: float, keep: int) -> Cleaning:
    """What cleaning all but the newest `keep` results would do at `now` (seconds since 1970). Looks at every settled message."""
    old = old_results(prefix, keep)
    tokens = round(sum(one.tokens for one in old) * account.scale)
    paid = account.paid
    warm = paid is not None and now - paid.at < SECONDS[paid.ttl]
    price = account.tariff.price
    loss: float | None = 0.0
    gain: float | None = None
    if paid is not None and old:
        kept = _before(account, old[0].message)
        loss = rewrite_cost(max(paid.tokens - kept - tokens, 0), paid.tokens, price, paid.ttl) if warm else 0.0
        gain = None if price is None else tokens * price.tier(paid.tokens).read * HORIZON / 1_000_000
    allowed, reason = _judged(tokens, warm=warm, loss=loss, gain=gain)
    return Cleaning(
        calls=tuple(one.call for one in old), tokens=tokens, loss=loss, gain=gain, allowed=allowed, reason=reason
    )


def clean(prefix: Prefix, cleaning: Cleaning) -> Prefix:
    """The prefix with stand-ins for the results; a prefix event with the reason as its cause."""
    facts = msgspec.structs.replace(prefix.facts, cleared=prefix.facts.cleared | set(cleaning.calls))
    return refold(prefix, facts, EventName.COLD_CLEAN, f"{len(cleaning.calls)} old tool results: {cleaning.reason}")


def _judged(tokens: int, *, warm: bool, loss: float | None, gain: float | None) -> tuple[bool, str]:
    if tokens < LEAST:
        return False, f"only {tokens:,} tokens of old tool results could go"
    if not warm:
        return True, f"nothing of the conversation is in the cache (R278); {tokens:,} tokens are not written again"
    if loss is None or gain is None:
        return False, "the cache is warm and no price is known (R276)"
    sums = f"losing the cache costs ${loss:.4f}, {HORIZON} requests without {tokens:,} tokens save ${gain:.4f}"
    return gain > loss, f"the cache is warm: {sums} (R276)"


def _before(account: Account, message: int) -> int:
    """Estimated tokens of the settled messages in front of one, as far as they were counted."""
    counted = min(message, len(account.tally.sums))
    return round(account.tally.before(counted) * account.scale)
