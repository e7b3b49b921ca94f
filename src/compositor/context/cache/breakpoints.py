"""The one function that places cache markers (law 8, F08).

Decides positions only, as one ordered table of slots (R253 to R258). All markers of a request have one lifetime, so that none of an hour can stand
behind one of five minutes (L121). Stored content holds no markers; where in the messages one may stand is `marks.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from compositor.types.request import CacheRegion, Head, MarkerPlan, RequestOptions

from .marks import Mark

MAXIMUM = 4
"""Markers that a request may hold (L120). No plan below can make more: a first request has no earlier end, a later one no opening."""

Place: TypeAlias = tuple[CacheRegion, int, int]


class Ground(Struct, frozen=True, kw_only=True):
    """What the markers are placed on: the head, and the marks of the fork point, of the previous request and of this one.

    `first`: nothing was answered yet.
    """

    head: Head
    first: bool
    pinned: Mark | None = None
    earlier: Mark | None = None
    own: Mark | None = None


def plan_markers(ground: Ground, options: RequestOptions) -> tuple[MarkerPlan, ...]:
    """The markers of a request in wire order (R253, R254): widest shared part, end of system or fork pin, earlier end, own end."""
    if not options.caching:
        return ()
    found = [(slot(ground, options), reason) for reason, slot in SLOTS]
    places = {place: reason for place, reason in found if place is not None}
    return tuple(
        MarkerPlan(
            region=region,
            index=index,
            block=block,
            ttl=options.ttl,
            reason=reason,
            scope=_scope(region, index, options),
        )
        for (region, index, block), reason in sorted(places.items(), key=lambda item: (_ORDER[item[0][0]], item[0][1:]))
    )


def _scope(region: CacheRegion, index: int, options: RequestOptions) -> str | None:
    """What the marker says of sharing: the system prompt's two blocks only (R095)."""
    if options.scopes is None or region is not CacheRegion.SYSTEM:
        return None
    return options.scopes[min(index, 1)]


def _shared(ground: Ground, _options: RequestOptions) -> Place | None:
    """The static block; the last tool where there is no system prompt at all."""
    if ground.head.system:
        return CacheRegion.SYSTEM, 0, 0
    return (CacheRegion.TOOLS, len(ground.head.tools) - 1, 0) if ground.head.tools else None


def _fork(ground: Ground, options: RequestOptions) -> Place | None:
    """The message that branches share (R257)."""
    if options.pin == 0 and ground.head.context is not None:
        return CacheRegion.MESSAGES, 0, 0
    return None if options.pin is None else _place(ground, ground.pinned)


def _system_end(ground: Ground, options: RequestOptions) -> Place | None:
    """What is equal for the sessions of one day in one place; a fork point takes its place."""
    free = options.pin is None and len(ground.head.system) > 1
    return (CacheRegion.SYSTEM, len(ground.head.system) - 1, 0) if free else None


def _opening(ground: Ground, _options: RequestOptions) -> Place | None:
    """The user context in the first request of a session, so that the next session of this project reads its instruction files."""
    return (CacheRegion.MESSAGES, 0, 0) if ground.first and ground.head.context is not None else None


def _earlier(ground: Ground, _options: RequestOptions) -> Place | None:
    """Where the previous request had its last marker: a turn wider than the look-back is still read from there."""
    return _place(ground, ground.earlier)


def _own(ground: Ground, options: RequestOptions) -> Place | None:
    """The end of this request; not for a throw-away tail (R256)."""
    return None if options.skip_write else _place(ground, ground.own)


SLOTS: tuple[tuple[str, Callable[[Ground, RequestOptions], Place | None]], ...] = (
    ("end of the static system block", _shared),
    ("fork point", _fork),
    ("end of the system prompt", _system_end),
    ("end of the user context", _opening),
    ("end of the previous request", _earlier),
    ("end of this request", _own),
)

_ORDER = {CacheRegion.TOOLS: 0, CacheRegion.SYSTEM: 1, CacheRegion.MESSAGES: 2}


def _place(ground: Ground, mark: Mark | None) -> Place | None:
    if mark is None:
        return None
    return CacheRegion.MESSAGES, mark.message + (ground.head.context is not None), mark.block
