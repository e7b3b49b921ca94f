"""The conversation behind a compaction: what is written to the transcript, and the prefix that the next request is made from (R307, R312).

Decides the order of the four parts of continuity: summary, kept messages, what is restored, and whatever comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import ContentBlock
from compositor.types.entries import AttachmentEntry, MarkerEntry, TranscriptEntry
from compositor.types.request import Head, HeadTool
from compositor.types.snapshot import EventName, PrefixEvent

from .record import Report, boundary_entry, summary_entry, tools_entries


class Rebuild(Struct, frozen=True, kw_only=True):
    """What a compaction has come to. `content` carries the summary, `kept` are earlier entries that stay, word for word."""

    report: Report
    content: tuple[ContentBlock, ...]
    kept: tuple[TranscriptEntry, ...] = ()
    tools: tuple[HeadTool, ...] = ()


class Rebuilt(Struct, frozen=True, kw_only=True):
    """`records` go to the transcript behind the old end, `path` is the conversation now; `tip` is the parent of what comes next."""

    records: tuple[TranscriptEntry, ...]
    path: tuple[TranscriptEntry, ...]
    tip: str


Stamping = Callable[[], tuple[str, str]]
"""Gives an id and a time."""


def rebuild(plan: Rebuild, *, model: str, parent: str | None, stamp: Stamping) -> Rebuilt:
    """The boundary behind `parent`, the summary, and the tools that were found."""
    boundary_id, time = stamp()
    summary_id, summary_time = stamp()
    summary = summary_entry(plan.content, uuid=summary_id, time=summary_time, parent=boundary_id)
    tools = tools_entries(plan.tools, plan.report.discovered, model=model, parent=summary_id, stamp=stamp)
    anchor = tools[-1].uuid if tools else summary_id
    boundary = boundary_entry(plan.report, plan.kept, uuid=boundary_id, time=time, parent=parent, anchor=anchor)
    sent = tuple(entry for entry in tools if not isinstance(entry, MarkerEntry))
    return Rebuilt(records=(boundary, summary, *tools), path=(summary, *sent, *plan.kept), tip=anchor)


def with_notes(rebuilt: Rebuilt, notes: Sequence[TextAttachment], *, stamp: Stamping) -> Rebuilt:
    """The same with what the owners handed over behind it."""
    entries: list[AttachmentEntry] = []
    tip = rebuilt.tip
    for note in notes:
        uuid, time = stamp()
        entries.append(AttachmentEntry(uuid=uuid, parent=tip, time=time, attachment=note))
        tip = uuid
    return Rebuilt(records=(*rebuilt.records, *entries), path=(*rebuilt.path, *entries), tip=tip)


def compacted_prefix(before: Prefix, head: Head, rebuilt: Rebuilt, cause: str) -> Prefix:
    """The prefix of the rebuilt conversation: a prefix event (law 2). Lanes are chosen anew, and what was refused stays refused."""
    event = PrefixEvent(name=EventName.COMPACT, cause=cause, entry=before.leaf)
    facts = msgspec.structs.replace(before.facts, lanes={})
    start = empty_prefix(head, facts, before.wire, (*before.events, event))
    return msgspec.structs.replace(extend(start, rebuilt.path), leaf=rebuilt.tip)
