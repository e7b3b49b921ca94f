"""Compile one model request. The whole story in one screen: a request is a fold.

    head     = compile_head(parts)                    tools, system, user context: once per session
    prefix   = empty_prefix(head, ...)                the fold's start
    prefix   = extend(prefix, entries)                what has an answer behind it settles; the rest is the tail
    compiled = finish(prefix, options)                markers, scalars, headers; the body is a rope

`compile_request` is the cold path and the specification: a session that extends its prefix step by step must give the same bytes. Decides
nothing by itself.
"""

from __future__ import annotations

from compositor.types.request import Compiled
from compositor.types.snapshot import Snapshot

from .finish import finish
from .messages.legality import WireContext
from .prefix import empty_prefix, extend


def compile_request(snapshot: Snapshot, wire: WireContext) -> Compiled:
    """The request of a snapshot, from nothing. Raises `IllegalRequestError` when no repair makes it legal."""
    prefix = empty_prefix(snapshot.head, snapshot.facts, wire, snapshot.events)
    return finish(extend(prefix, snapshot.entries), snapshot.options)
