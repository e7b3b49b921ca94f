"""Compact boundaries: where a compacted conversation begins anew, and which earlier entries it keeps (R152, R153).

Decides what a boundary's record says, in our own spelling and in that of the Claude Code family, and which boundaries are
valid. The walk that applies them is `graph.py`; writing one is `context/compaction`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from compositor.types.entries import MarkerEntry, TranscriptEntry, UserEntry

SUBTYPE = "compact_boundary"
UNLINKED = "A compact boundary names preserved messages that cannot be linked; it is applied without them."


class Boundary(Struct, frozen=True):
    """`preserved` are ids of earlier entries, oldest first, that stand behind `anchor` (the summary, or the boundary itself).

    `problem` says what of it could not be linked, as one sentence; empty when all could.
    """

    uuid: str
    anchor: str = ""
    preserved: tuple[str, ...] = ()
    problem: str = ""


class Preserved(Struct, frozen=True):
    """What a boundary's `detail.preserved` holds in our own format."""

    anchor: str
    entries: tuple[str, ...]


def valid_boundaries(nodes: Mapping[str, TranscriptEntry], parents: Mapping[str, str | None]) -> dict[str, Boundary]:
    """The boundaries that count, by id: those with a summary (a user entry) directly behind them.

    One that was written without its summary, as by a crash in between, is walked through: the earlier one applies.
    """
    named = {
        uuid: entry for uuid, entry in nodes.items() if isinstance(entry, MarkerEntry) and entry.subtype == SUBTYPE
    }
    if not named:
        return {}
    followed = {parent for uuid, parent in parents.items() if parent in named and isinstance(nodes[uuid], UserEntry)}
    return {uuid: _linked(entry, nodes) for uuid, entry in named.items() if uuid in followed}


def _linked(marker: MarkerEntry, nodes: Mapping[str, TranscriptEntry]) -> Boundary:
    """The boundary with those of its preserved entries that are there to be linked."""
    try:
        preserved = _preserved(marker, nodes)
    except (msgspec.MsgspecError, RecursionError):
        problem = "A compact boundary names preserved messages in words that are not known; it is applied without them."
        return Boundary(marker.uuid, problem=problem)
    if preserved is None or not preserved.entries:
        return Boundary(marker.uuid)
    found = tuple(dict.fromkeys(uuid for uuid in preserved.entries if uuid in nodes))
    if preserved.anchor not in nodes or not found or {preserved.anchor, marker.uuid} & set(found):
        return Boundary(marker.uuid, problem=UNLINKED)
    missing = len(preserved.entries) - len(found)
    problem = f"{missing} of {len(preserved.entries)} messages that a compact boundary preserved are missing."
    return Boundary(marker.uuid, preserved.anchor, found, problem if missing else "")


def _preserved(marker: MarkerEntry, nodes: Mapping[str, TranscriptEntry]) -> Preserved | None:
    detail = msgspec.json.decode(marker.detail, type=_Detail)
    if detail.preserved is not None:
        return detail.preserved
    if detail.metadata is None:
        return None
    if detail.metadata.messages is not None:
        return Preserved(detail.metadata.messages.anchor, detail.metadata.messages.uuids)
    segment = detail.metadata.segment
    return None if segment is None else Preserved(segment.anchor, _segment(segment, nodes))


def _segment(segment: _ForeignSegment, nodes: Mapping[str, TranscriptEntry]) -> tuple[str, ...]:
    """The ids from head to tail along the stored parent links; head and tail alone when these do not meet."""
    walked: list[str] = []
    uuid: str | None = segment.tail
    while uuid is not None and uuid in nodes and uuid not in walked:
        walked.append(uuid)
        if uuid == segment.head:
            return tuple(reversed(walked))
        uuid = nodes[uuid].parent
    return (segment.head, segment.tail)


class _ForeignMessages(Struct, frozen=True):
    anchor: str = msgspec.field(name="anchorUuid")
    uuids: tuple[str, ...]


class _ForeignSegment(Struct, frozen=True):
    anchor: str = msgspec.field(name="anchorUuid")
    head: str = msgspec.field(name="headUuid")
    tail: str = msgspec.field(name="tailUuid")


class _ForeignMetadata(Struct, frozen=True):
    messages: _ForeignMessages | None = msgspec.field(default=None, name="preservedMessages")
    segment: _ForeignSegment | None = msgspec.field(default=None, name="preservedSegment")


class _Detail(Struct, frozen=True):
    preserved: Preserved | None = None
    metadata: _ForeignMetadata | None = msgspec.field(default=None, name="compactMetadata")
