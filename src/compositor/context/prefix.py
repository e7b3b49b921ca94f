"""The prefix: head, settled messages, carried state, and the unsent tail. `extend` is the fold's step.

Decides what is settled: whatever has a complete assistant entry behind it. Settled chunks are never rendered, encoded, hashed or checked again;
a step looks at new entries and the carried state only (law 2). A round is an assistant message and all that follows it up to the next
one; the newest round is the tail, rendered anew with every extension.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from compositor.errors import UsageError
from compositor.types.attachments import TextAttachment
from compositor.types.diagnostics import Severity
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry
from compositor.types.persistent import Rope
from compositor.types.provenance import Omission
from compositor.types.request import Chunk, Head, HeadTool
from compositor.types.snapshot import EventName, Facts, Latch, PrefixEvent

from .cache.marks import Ahead, Mark, count_blocks, find_mark
from .cache.positions import Boundary
from .head import compile_head
from .messages.legality import LegalityState, Violation, WireContext, check_messages
from .messages.legality.head import check_regions
from .messages.rounds import Before, render_all
from .view import ViewState


class Tail(Struct, frozen=True, kw_only=True):
    """The unsent end: entries of the newest round and what they render to. `violations` break a wire rule all the same.

    `mark` is the block that carries the last marker of the request.
    """

    entries: tuple[TranscriptEntry, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    legality: LegalityState
    view: ViewState
    omissions: tuple[Omission, ...] = ()
    violations: tuple[Violation, ...] = ()
    mark: Mark | None = None


class Prefix(Struct, frozen=True, kw_only=True):
    """An immutable value: extending it gives another one and shares what is settled.

    `entries` are all it was made from. `size` counts the settled messages' bytes; `violations` are rules that these break all the same;
    `boundaries` are the ends of the rounds that settled. `notes` are the attachments with a text that were told so far (R200).
    `head_violations` are found once, since the head never changes.
    """

    head: Head
    head_violations: tuple[Violation, ...]
    tool_names: frozenset[str]
    facts: Facts
    wire: WireContext
    events: tuple[PrefixEvent, ...]
    entries: Rope[TranscriptEntry]
    settled: Rope[Chunk]
    violations: tuple[Violation, ...]
    boundaries: Rope[Boundary]
    size: int
    legality: LegalityState
    view: ViewState
    omissions: Rope[Omission]
    notes: Rope[TextAttachment]
    leaf: str | None
    tail: Tail

    @property
    def view_digest(self) -> str:
        """Digest of the prefix view of the request that this prefix makes, tail included."""
        return self.tail.view.digest


def empty_prefix(head: Head, facts: Facts, wire: WireContext, events: tuple[PrefixEvent, ...] = ()) -> Prefix:
    """The fold's start. A prefix event (clear, compact, head rebuild and so on) starts here anew, with its name in `events`."""
    view = ViewState.start(head)
    legality = LegalityState()
    if head.context is not None and head.context.message is not None:
        legality, _ = check_messages(legality, (head.context.message,), wire)
    return Prefix(
        head=head,
        head_violations=check_regions(head, wire),
        tool_names=frozenset(tool.definition.name for tool in head.parts.tools),
        facts=facts,
        wire=wire,
        events=events,
        entries=Rope(),
        settled=Rope(),
        violations=(),
        boundaries=Rope(),
        size=0,
        legality=legality,
        view=view,
        omissions=Rope(),
        notes=Rope(),
        leaf=None,
        tail=Tail(legality=legality, view=view),
    )


def extend(prefix: Prefix, entries: Sequence[TranscriptEntry]) -> Prefix:
    """Append entries of the active path, in order. Costs what is new and the tail; the same entries in any grouping give the same bytes."""
    if not entries:
        return prefix
    leaf = entries[-1].uuid
    rounds = _rounds((*prefix.tail.entries, *entries))
    settling, newest = rounds[:-1], rounds[-1]
    if settling:
        prefix = _settle(prefix, settling)
    notes = [entry.attachment for entry in entries if isinstance(entry, AttachmentEntry)]
    said = prefix.notes.append_all([note for note in notes if isinstance(note, TextAttachment)])
    said_by_all = prefix.entries.append_all(entries)
    tail = _render_tail(prefix, newest)
    return msgspec.structs.replace(prefix, leaf=leaf, entries=said_by_all, notes=said, tail=tail)


def offer_tools(prefix: Prefix, tools: Sequence[HeadTool], omissions: Sequence[Omission] = ()) -> Prefix:
    """More tools. Deferred ones stand beside the head and move nothing (R243); others only join while nothing is settled.

    Raises `UsageError` for tools that would move settled bytes.
    """
    parts = prefix.head.parts
    head = compile_head(
        msgspec.structs.replace(parts, tools=(*parts.tools, *tools), omissions=(*parts.omissions, *omissions))
    )
    if head.digest != prefix.head.digest:
        if len(prefix.settled):
            raise UsageError("a tool that is not deferred cannot join a conversation that has begun (R243)")
        return extend(empty_prefix(head, prefix.facts, prefix.wire, prefix.events), tuple(prefix.entries))
    wider = msgspec.structs.replace(
        prefix,
        head=head,
        head_violations=check_regions(head, prefix.wire),
        tool_names=prefix.tool_names | {tool.definition.name for tool in tools},
    )
    return msgspec.structs.replace(wider, tail=_render_tail(wider, wider.tail.entries)) if wider.tail.entries else wider


def last_mark(prefix: Prefix) -> Mark | None:
    """Where the previous request had its last marker; a round without any block that may carry one is passed over."""
    return next((end.mark for end in reversed(prefix.boundaries.tail(4)) if end.mark is not None), None)


def mark_at(prefix: Prefix, message: int) -> Mark | None:
    """The mark inside one message, counted behind the head's own. Looks at the round that holds it."""
    if message >= len(prefix.settled):
        start = prefix.boundaries[-1] if len(prefix.boundaries) else None
        chunks = prefix.tail.chunks
    else:
        ends = prefix.boundaries
        number = bisect.bisect_right(range(len(ends)), message, key=lambda at: ends[at].messages)
        start = ends[number - 1] if number else None
        chunks = tuple(prefix.settled[at] for at in range(start.messages if start else 0, ends[number].messages))
    view = start.view if start is not None else ViewState.start(prefix.head)
    messages, blocks = (start.messages, start.blocks) if start is not None else (0, 0)
    inside = chunks[: message - messages + 1]
    view = view.add(inside[:-1], prefix.head)
    ahead = _ahead(prefix, view, message, blocks + count_blocks(inside[:-1]))
    return find_mark(ahead, inside[-1:], view.add(inside[-1:], prefix.head), settled=True)


def refold(prefix: Prefix, facts: Facts, name: EventName, cause: str) -> Prefix:
    """The same entries under other facts, from the start.

    When that changes what was settled, it is a prefix event of that name (law 2); else it is none.
    """
    start = empty_prefix(prefix.head, facts, prefix.wire, prefix.events)
    fresh = msgspec.structs.replace(extend(start, tuple(prefix.entries)), leaf=prefix.leaf)
    if fresh.view == prefix.view:
        return fresh
    event = PrefixEvent(name=name, cause=cause, entry=prefix.leaf)
    return msgspec.structs.replace(fresh, events=(*prefix.events, event))


def _rounds(entries: Iterable[TranscriptEntry]) -> list[tuple[TranscriptEntry, ...]]:
    """Cut before every complete assistant entry. The first round has no assistant unless the entries begin with one."""
    rounds: list[list[TranscriptEntry]] = [[]]
    for entry in entries:
        if isinstance(entry, AssistantEntry) and entry.stop_reason is not None and rounds[-1]:
            rounds.append([])
        rounds[-1].append(entry)
    return [tuple(entries) for entries in rounds]


def _settle(prefix: Prefix, rounds: Sequence[tuple[TranscriptEntry, ...]]) -> Prefix:
    chunks: list[Chunk] = []
    omissions: list[Omission] = []
    ends: list[Boundary] = []
    broken: list[Violation] = []
    before = _before(prefix)
    blocks = prefix.boundaries[-1].blocks if len(prefix.boundaries) else 0
    messages = len(prefix.settled)
    spares = _spares_system(prefix)
    legality, view = before.legality, before.view
    for rendered in render_all(before, rounds):
        legality = rendered.legality
        omissions.extend(rendered.omissions)
        broken.extend([found for found in rendered.violations if found.severity is Severity.ERROR])
        for own, behind in zip(rendered.rounds, rendered.views, strict=True):
            ahead = Ahead(head=prefix.head, view=view, messages=messages, blocks=blocks, spares_system=spares)
            mark = find_mark(ahead, own, behind, settled=True)
            chunks.extend(own)
            blocks += count_blocks(own)
            view = behind
            messages += len(own)
            ends.append(Boundary(messages=messages, blocks=blocks, view=view, mark=mark, images=legality.images))
    return msgspec.structs.replace(
        prefix,
        settled=prefix.settled.append_all(chunks),
        violations=(*prefix.violations, *broken),
        boundaries=prefix.boundaries.append_all(ends),
        size=prefix.size + sum([len(chunk.data) for chunk in chunks]),
        legality=legality,
        view=view,
        omissions=prefix.omissions.append_all(omissions),
    )


def _render_tail(prefix: Prefix, entries: tuple[TranscriptEntry, ...]) -> Tail:
    (rendered,) = render_all(_before(prefix), (entries,))
    blocks = prefix.boundaries[-1].blocks if len(prefix.boundaries) else 0
    ahead = _ahead(prefix, prefix.view, len(prefix.settled), blocks)
    return Tail(
        entries=entries,
        chunks=rendered.rounds[0],
        legality=rendered.legality,
        view=rendered.views[0],
        omissions=rendered.omissions,
        violations=rendered.violations,
        mark=find_mark(ahead, rendered.rounds[0], rendered.views[0], settled=False),
    )


def _ahead(prefix: Prefix, view: ViewState, messages: int, blocks: int) -> Ahead:
    spares = _spares_system(prefix)
    return Ahead(head=prefix.head, view=view, messages=messages, blocks=blocks, spares_system=spares)


def _spares_system(prefix: Prefix) -> bool:
    return Latch.SYSTEM_MARKER in prefix.facts.latches


def _before(prefix: Prefix) -> Before:
    return Before(
        head=prefix.head,
        tools=prefix.tool_names,
        facts=prefix.facts,
        wire=prefix.wire,
        legality=prefix.legality,
        view=prefix.view,
    )
