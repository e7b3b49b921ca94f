"""What each source adds to a request, beyond what the request before it held already.

Decides which pieces are new and how pieces of one source are summed. Costs what is new, however long the conversation is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct

from compositor.context.explain import chunk_runs
from compositor.context.tokens import estimate_tokens
from compositor.types.provenance import Attribution, Lane
from compositor.types.request import CacheRegion, Chunk, Compiled


class Contribution(Struct, frozen=True, kw_only=True):
    """One source's part of a region: `size` in bytes, `tokens` estimated. JSON syntax between pieces belongs to nobody."""

    origin: Attribution
    region: CacheRegion
    size: int
    tokens: int


def contributions(compiled: Compiled, before: Compiled | None = None, scale: float = 1.0) -> tuple[Contribution, ...]:
    """The sources of what is new in `compiled`, in wire order; of everything without a request before it, or behind another head or history."""
    head = compiled.head
    found: dict[tuple[object, ...], Contribution] = {}
    if before is None or before.head.digest != head.digest:
        _add(found, CacheRegion.TOOLS, chain(head.tools, head.deferred), scale)
        _add(found, CacheRegion.SYSTEM, head.system, scale)
        _add(found, CacheRegion.MESSAGES, () if head.context is None else (head.context,), scale)
        _add(found, CacheRegion.MESSAGES, chain(compiled.settled, compiled.pending), scale)
    else:
        _add(found, CacheRegion.MESSAGES, _new_messages(compiled, before), scale)
    return tuple(found.values())


def _new_messages(compiled: Compiled, before: Compiled) -> Iterator[Chunk]:
    if not compiled.settled.continues(before.settled):
        yield from compiled.settled
    else:
        # What was open in the request before stands settled now, right behind what had settled then.
        known = len(before.settled) + len(before.pending)
        yield from compiled.settled.tail(max(len(compiled.settled) - known, 0))
    yield from compiled.pending


def _add(
    found: dict[tuple[object, ...], Contribution], region: CacheRegion, chunks: Iterable[Chunk], scale: float
) -> None:
    for chunk in chunks:
        position = 0
        for size, origin in chunk_runs(chunk):
            piece = chunk.data[position : position + size]
            position += size
            if origin.lane is Lane.WIRE:
                continue
            source = origin.source
            key = (region, source.kind, source.name, source.path, origin.lane)
            known = found.get(key)
            found[key] = Contribution(
                origin=origin if known is None else known.origin,
                region=region,
                size=size + (0 if known is None else known.size),
                tokens=estimate_tokens(piece, scale) + (0 if known is None else known.tokens),
            )
