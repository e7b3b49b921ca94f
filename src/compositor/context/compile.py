"""Compile one model request. The whole story in one screen: a request is a fold.

    head     = compile_head(parts)                    tools, system, user context: once per session
    prefix   = empty_prefix(head, ...)                the fold's start
    prefix   = extend(prefix, entries)                what has an answer behind it settles; the rest is the tail
    compiled = finish(prefix, options)                markers, scalars, headers; the body is a rope

`compile_request` is the cold path and the specification: a session that extends its prefix step by step must give the same bytes. Decides
nothing by itself.
"""

from __future__ import annotations

from msgspec import Struct

from compositor.types.request import Compiled
from compositor.types.snapshot import Snapshot

from .finish import finish
from .messages.legality import WireContext
from .prefix import empty_prefix, extend


class Stage(Struct, frozen=True):
    """One of the nine steps of a request (R001) and the function that takes it, as `module:name` below the package."""

    name: str
    owner: str


# The order in which a request comes about. `explain` shows it; a test traces a real run against it.
STAGES: tuple[Stage, ...] = (
    Stage("run contract", "config.contract:resolve_contract"),
    Stage("system sections", "context.prompt.compute:compute_default"),
    Stage("user and system context", "context.prompt.user_context:plan_user_context"),
    Stage("message graph", "context.prefix:extend"),
    Stage("dynamic attachments", "context.messages.steps:expand_attachments"),
    Stage("rendering of attachments", "context.attachments.render:render_attachment"),
    Stage("lane", "context.messages.lanes:choose_lane"),
    Stage("placement and normalization", "context.messages.place:place_notes"),
    Stage("cache markers", "context.cache.breakpoints:plan_markers"),
)


def compile_request(snapshot: Snapshot, wire: WireContext) -> Compiled:
    """The request of a snapshot, from nothing. Raises `IllegalRequestError` when no repair makes it legal."""
    prefix = empty_prefix(snapshot.head, snapshot.facts, wire, snapshot.events)
    return finish(extend(prefix, snapshot.entries), snapshot.options)
