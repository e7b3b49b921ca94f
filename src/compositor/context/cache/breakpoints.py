"""The one function that places cache markers (law 8, F08).

Decides positions only, as one ordered table of slots (R253 to R258). All markers of a request have one lifetime, so that none of an hour can stand
behind one of five minutes (L121). Stored content holds no markers, and a block that may not carry one is passed over for the nearest that may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from compositor.types.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    UnknownBlock,
)
from compositor.types.messages import Part, Role
from compositor.types.request import CacheRegion, Chunk, Head, MarkerPlan, RequestOptions

MAXIMUM = 4
"""Markers that a request may hold (L120). No plan below can make more: a first request has no earlier end, a later one no opening."""

Place: TypeAlias = tuple[CacheRegion, int, int]


class Ground(Struct, frozen=True, kw_only=True):
    """What the markers are placed on. `settled` are the last chunks behind an answer, `count` the number of messages before `pending`.

    `spares_system`: the service refused a marker on a system message, so the ordinary message before it carries the marker (R224).
    """

    head: Head
    settled: Sequence[Chunk]
    pending: Sequence[Chunk]
    count: int
    pinned: Chunk | None = None
    spares_system: bool = False


def plan_markers(ground: Ground, options: RequestOptions) -> tuple[MarkerPlan, ...]:
    """The markers of a request in wire order (R253, R254): widest shared part, end of system or fork pin, earlier end, own end."""
    if not options.caching:
        return ()
    found = [(slot(ground, options), reason) for reason, slot in SLOTS]
    places = {place: reason for place, reason in found if place is not None}
    return tuple(
        MarkerPlan(region=region, index=index, block=block, ttl=options.ttl, reason=reason)
        for (region, index, block), reason in sorted(places.items(), key=lambda item: (_ORDER[item[0][0]], item[0][1:]))
    )


def _shared(ground: Ground, _options: RequestOptions) -> Place | None:
    """The static block; the last tool where there is no system prompt at all."""
    if ground.head.system:
        return CacheRegion.SYSTEM, 0, 0
    return (CacheRegion.TOOLS, len(ground.head.tools) - 1, 0) if ground.head.tools else None


def _fork(ground: Ground, options: RequestOptions) -> Place | None:
    """The message that branches share (R257)."""
    if ground.pinned is None or options.pin is None:
        return None
    return _last_eligible(ground, (ground.pinned,), options.pin)


def _system_end(ground: Ground, _options: RequestOptions) -> Place | None:
    """What is equal for the sessions of one day in one place; a fork point takes its place."""
    free = ground.pinned is None and len(ground.head.system) > 1
    return (CacheRegion.SYSTEM, len(ground.head.system) - 1, 0) if free else None


def _opening(ground: Ground, _options: RequestOptions) -> Place | None:
    """The user context in the first request of a session, so that the next session of this project reads its instruction files."""
    first = ground.head.context is not None and not ground.settled
    return (CacheRegion.MESSAGES, 0, 0) if first else None


def _earlier(ground: Ground, _options: RequestOptions) -> Place | None:
    """Where the previous request had its last marker: a turn wider than the look-back is still read from there."""
    return _last_eligible(ground, ground.settled, ground.count - len(ground.settled))


def _own(ground: Ground, options: RequestOptions) -> Place | None:
    """The end of this request; not for a throw-away tail (R256)."""
    return None if options.skip_write else _last_eligible(ground, ground.pending, ground.count)


SLOTS: tuple[tuple[str, Callable[[Ground, RequestOptions], Place | None]], ...] = (
    ("end of the static system block", _shared),
    ("fork point", _fork),
    ("end of the system prompt", _system_end),
    ("end of the user context", _opening),
    ("end of the previous request", _earlier),
    ("end of this request", _own),
)

_ORDER = {CacheRegion.TOOLS: 0, CacheRegion.SYSTEM: 1, CacheRegion.MESSAGES: 2}


def _last_eligible(ground: Ground, chunks: Sequence[Chunk], first_index: int) -> Place | None:
    for offset in range(len(chunks) - 1, -1, -1):
        message = chunks[offset].message
        # A turn-scoped message takes no marker (L43).
        if message is None or message.clear_at or (ground.spares_system and message.role is Role.SYSTEM):
            continue
        for block in range(len(message.parts) - 1, -1, -1):
            if may_carry_marker(message.parts[block]):
                return CacheRegion.MESSAGES, first_index + offset, block
    return None


def may_carry_marker(part: Part) -> bool:
    """Whether the block's type takes `cache_control` (wire page 2.2; L89, L122); unknown types are left alone."""
    match part.block:
        case ThinkingBlock() | RedactedThinkingBlock() | ToolReferenceBlock() | UnknownBlock():
            return False
        case TextBlock(text=text):
            return bool(text.strip())
        case _:
            return True
