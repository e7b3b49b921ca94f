"""The book of the prompt cache: what the service should hold, judged by what was sent and answered.

Decides reads and writes of one request by the documented rules (wire page 4): entries are written at markers, read by looking back from them, live
for their TTL from the start of a request, and are refreshed by every hit. An estimate until usage confirms it (R408).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from compositor.types.request import Ttl

from .positions import LOOK_BACK, Position

SECONDS: dict[Ttl, float] = {Ttl.SHORT: 300.0, Ttl.LONG: 3600.0}


class Entry(Struct, frozen=True):
    """One prefix that the service keeps until `expires` (seconds on the session's clock)."""

    tokens: int
    ttl: Ttl
    expires: float


class Expected(Struct, frozen=True, kw_only=True):
    """What a request should do, in estimated tokens. `hit` and `last_write` are the positions, `None` for none."""

    read: int
    written_5m: int
    written_1h: int
    fresh: int
    hit: Position | None
    last_write: Position | None

    @property
    def total(self) -> int:
        return self.read + self.written_5m + self.written_1h + self.fresh


class CacheBook(Struct, frozen=True):
    """A value: `after` gives the next one."""

    entries: Mapping[str, Entry] = {}

    def expect(self, positions: Sequence[Position], *, total: int, minimum: int, now: float) -> Expected:
        """What a request with these positions reads and writes when it starts at `now`. Tokens; `minimum` is the model's (R134 of the wire)."""
        marked = [position for position in positions if position.ttl is not None and position.tokens >= minimum]
        hit = self._highest_hit(positions, marked, now)
        read = hit.tokens if hit is not None else 0
        last_long = max((position.tokens for position in marked if position.ttl is Ttl.LONG), default=0)
        last = max(marked, key=lambda position: position.ordinal, default=None)
        end = last.tokens if last is not None else 0
        written_1h = max(last_long - read, 0)
        written_5m = max(end - max(last_long, read), 0)
        return Expected(
            read=read,
            written_5m=written_5m,
            written_1h=written_1h,
            fresh=max(total - read - written_1h - written_5m, 0),
            hit=hit,
            last_write=last,
        )

    def after(self, positions: Sequence[Position], expected: Expected, *, minimum: int, now: float) -> CacheBook:
        """The book behind an answered request that started at `now`; expired entries are forgotten."""
        live = {key: entry for key, entry in self.entries.items() if entry.expires > now}
        written = [position for position in positions if position.ttl is not None and position.tokens >= minimum]
        touched = [*written, *(() if expected.hit is None else (expected.hit,))]
        for position in touched:
            # A hit renews an entry for its own lifetime; only a write sets one (wire page 4.4, 4.5).
            known = live.get(position.key)
            ttl = known.ttl if known is not None else position.ttl or Ttl.SHORT
            live[position.key] = Entry(position.tokens, ttl, now + SECONDS[ttl])
        return CacheBook(live)

    def _highest_hit(self, positions: Sequence[Position], marked: Sequence[Position], now: float) -> Position | None:
        for marker in sorted(marked, key=lambda position: position.ordinal, reverse=True):
            for position in sorted(positions, key=lambda position: position.ordinal, reverse=True):
                if marker.ordinal - LOOK_BACK < position.ordinal <= marker.ordinal and self._is_live(position, now):
                    return position
        return None

    def _is_live(self, position: Position, now: float) -> bool:
        entry = self.entries.get(position.key)
        return entry is not None and entry.expires > now
