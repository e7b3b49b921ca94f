"""The snapshot a request is compiled from, and the names of prefix events.

Decides what the fold may look at: head, entries, facts, options. Nothing else reaches a request (R262).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct

from .entries import TranscriptEntry
from .provenance import Lane
from .request import Head, RequestOptions


class EventName(enum.StrEnum):
    """Why settled bytes changed. There is no other way to change them (law 2)."""

    CLEAR = "clear"
    COMPACT = "compact"
    REWIND = "rewind"
    WORKTREE = "worktree"
    HEAD_REBUILD = "head_rebuild"
    MODEL_SWITCH = "model_switch"
    COLD_CLEAN = "cold_clean"
    PROVIDER_DEGRADE = "provider_degrade"
    REFUSED_IMAGE = "refused_image"


class PrefixEvent(Struct, frozen=True, kw_only=True):
    """A named change of settled bytes: recorded, shown and priced. `entry` is the last entry before it, if any."""

    name: EventName
    cause: str
    entry: str | None = None


class Latch(enum.StrEnum):
    """Something the service refused once and that this session therefore does not try again (R222, R224)."""

    SYSTEM_LANE = "system_lane"
    SYSTEM_MARKER = "system_marker"
    TURN_SCOPE = "turn_scope"
    THINKING = "thinking"


class Facts(Struct, frozen=True, kw_only=True):
    """What the fold must know beside the entries.

    `model` decides whose thinking can be replayed; `binds_thinking` is the profile's prefix binding (L78): thinking is replayed
    only while the digest of what stands before it is equal (R423). `system_role` tells whether `role: system` is legal inside
    messages on this model and platform (L30), `turn_scoped` whether such a message may be cleared at the next user message (L38),
    `tool_changes` whether it may bring a deferred tool into view (L45).
    `lanes` holds the lane of every entry that was sent and answered: it is frozen (R222). `latches` is what was refused for
    good, `refused_images` the sha256 hex of the sources of images that the service refused (F06), `cleared` the
    calls whose results were cleaned out (R278).
    """

    model: str
    binds_thinking: bool = False
    system_role: bool = False
    turn_scoped: bool = False
    tool_changes: bool = False
    prefill: bool = False
    lanes: Mapping[str, Lane] = {}
    latches: frozenset[Latch] = frozenset()
    refused_images: frozenset[str] = frozenset()
    cleared: frozenset[str] = frozenset()


class Snapshot(Struct, frozen=True, kw_only=True):
    """Everything one request depends on."""

    head: Head
    entries: tuple[TranscriptEntry, ...]
    facts: Facts
    options: RequestOptions
    events: tuple[PrefixEvent, ...] = ()
