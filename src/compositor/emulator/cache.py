"""The prompt cache of the stand-in (wire page 4): which prefix is read, which is written, what each costs in tokens.

Decides hits, writes and lifetimes. Never judges legality; what a prefix is made of is `rendering.py`.

The model of it. The name of a prefix is a digest over its pieces. A marker writes one entry under the name of the prefix that ends
with it; a read looks at most `LOOKBACK` positions back from each marker, itself included, for a name that an earlier request wrote.
Automatic caching marks the last block that may carry a marker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from .rendering import Sight, pieces_of

LOOKBACK = 20
SECONDS = {"5m": 300.0, "1h": 3600.0}


class Position(Struct, frozen=True):
    """The end of one prefix. `tokens` counts everything up to here; `ttl` is set where a marker stands."""

    digest: str
    tokens: int
    ttl: str | None


class CacheEntry(Struct, frozen=True):
    """`usable`: when the answer to the request that wrote it began (wire page 4.4)."""

    tokens: int
    ttl: str
    expires: float
    usable: float = 0.0


class CacheUse(Struct, frozen=True, kw_only=True):
    """What one request did, in tokens. `fresh` stands behind the last marker or is too short to be kept."""

    read: int
    written_5m: int
    written_1h: int
    fresh: int

    @property
    def total(self) -> int:
        return self.read + self.written_5m + self.written_1h + self.fresh


class PromptCache(Struct, frozen=True):
    """The entries that were written. A value: `use` gives the next one."""

    entries: Mapping[str, CacheEntry] = {}

    def use(
        self, positions: tuple[Position, ...], *, minimum: int, now: float, latency: float = 0.0
    ) -> tuple[CacheUse, PromptCache]:
        """Read and write for one request that begins at `now` and whose answer begins `latency` seconds later.

        Lifetimes count from the start of the request, use from the start of the answer (wire page 4.4).
        """
        kept = {digest: entry for digest, entry in self.entries.items() if entry.expires > now}
        live = {digest: entry for digest, entry in kept.items() if entry.usable <= now}
        marked = [index for index, position in enumerate(positions) if position.ttl and position.tokens >= minimum]
        hit = _highest_hit(positions, marked, live)
        read = positions[hit].tokens if hit is not None else 0
        last_1h = max((positions[index].tokens for index in marked if positions[index].ttl == "1h"), default=0)
        last = max((positions[index].tokens for index in marked), default=0)
        written_1h = max(last_1h - read, 0)
        written_5m = max(last - max(last_1h, read), 0)
        touched = [*marked, *(() if hit is None else (hit,))]
        fresh = {positions[index].digest: _kept(positions[index], kept, now, latency) for index in touched}
        total = positions[-1].tokens if positions else 0
        use = CacheUse(
            read=read, written_5m=written_5m, written_1h=written_1h, fresh=total - read - written_1h - written_5m
        )
        return use, PromptCache({**kept, **fresh})


def positions_of(
    body: Mapping[str, Any], *, bytes_per_token: int = 4, sight: Sight | None = None
) -> tuple[Position, ...]:
    """The positions of a legal request body, with automatic caching made explicit. `sight` beats `bytes_per_token`."""
    pieces = list(pieces_of(body, sight or Sight(bytes_per_token=bytes_per_token)))
    automatic = body.get("cache_control")
    if automatic:
        target = max((index for index, piece in enumerate(pieces) if piece.markable), default=None)
        if target is not None and pieces[target].ttl is None:
            pieces[target] = structs.replace(pieces[target], ttl=str(automatic.get("ttl") or "5m"))
    digest = hashlib.sha256()
    tokens = 0
    positions: list[Position] = []
    for piece in pieces:
        digest.update(piece.text)
        tokens += piece.tokens
        if piece.counts:
            positions.append(Position(digest.hexdigest(), tokens, piece.ttl))
    return tuple(positions)


def _highest_hit(positions: tuple[Position, ...], marked: list[int], live: Mapping[str, CacheEntry]) -> int | None:
    seen = {index for marker in marked for index in range(max(marker - LOOKBACK + 1, 0), marker + 1)}
    return max((index for index in seen if positions[index].digest in live), default=None)


def _kept(position: Position, kept: Mapping[str, CacheEntry], now: float, latency: float) -> CacheEntry:
    """A hit renews an entry for its own lifetime; a marker without one writes it."""
    entry = kept.get(position.digest)
    if entry:
        return structs.replace(entry, expires=now + SECONDS[entry.ttl])
    ttl = position.ttl or "5m"
    return CacheEntry(position.tokens, ttl, now + SECONDS[ttl], now + latency)
