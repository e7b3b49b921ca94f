"""The prefix: head, settled messages, carried state, and the unsent tail. `extend` is the fold's step.

Decides what is settled: whatever has a complete assistant entry behind it. Settled chunks are never rendered, encoded, hashed or checked again;
a step looks at new entries and the carried state only (law 2). A round is an assistant message and all that follows it up to the next
one; the newest round is the tail, rendered anew with every extension.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from compositor.types.blocks import ToolUseBlock
from compositor.types.diagnostics import Severity
from compositor.types.entries import AssistantEntry, TranscriptEntry
from compositor.types.messages import Role, WireMessage
from compositor.types.persistent import Ledger, Rope
from compositor.types.provenance import Omission
from compositor.types.request import Chunk, Head
from compositor.types.snapshot import Facts, PrefixEvent

from .messages.drafts import Notes, RoundContext
from .messages.legality import LegalityState, Violation, WireContext, check_messages
from .messages.legality.head import check_regions
from .messages.setaside import set_aside
from .messages.steps import render_round
from .view import ViewState
from .wire.canonical import encode_messages


class Tail(Struct, frozen=True, kw_only=True):
    """The unsent end: entries of the newest round and what they render to. `violations` break a wire rule all the same."""

    entries: tuple[TranscriptEntry, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    legality: LegalityState
    view: ViewState
    omissions: tuple[Omission, ...] = ()
    violations: tuple[Violation, ...] = ()


class Prefix(Struct, frozen=True, kw_only=True):
    """An immutable value: extending it gives another one and shares what is settled.

    `size` counts the settled messages' bytes. `head_violations` are found once, since the head never changes.
    """

    head: Head
    head_violations: tuple[Violation, ...]
    tool_names: frozenset[str]
    facts: Facts
    wire: WireContext
    events: tuple[PrefixEvent, ...]
    settled: Rope[Chunk]
    size: int
    used_ids: Ledger[str]
    legality: LegalityState
    view: ViewState
    omissions: Rope[Omission]
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
        settled=Rope(),
        size=0,
        used_ids=Ledger(),
        legality=legality,
        view=view,
        omissions=Rope(),
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
    return msgspec.structs.replace(prefix, leaf=leaf, tail=_render_tail(prefix, newest))


def _rounds(entries: Iterable[TranscriptEntry]) -> list[tuple[TranscriptEntry, ...]]:
    """Cut before every complete assistant entry. The first round has no assistant unless the entries begin with one."""
    rounds: list[list[TranscriptEntry]] = [[]]
    for entry in entries:
        if isinstance(entry, AssistantEntry) and entry.stop_reason is not None and rounds[-1]:
            rounds.append([])
        rounds[-1].append(entry)
    return [tuple(entries) for entries in rounds]


class _Rendered(Struct, frozen=True, kw_only=True):
    chunks: tuple[Chunk, ...]
    legality: LegalityState
    view: ViewState
    omissions: tuple[Omission, ...]
    violations: tuple[Violation, ...]


def _settle(prefix: Prefix, rounds: Sequence[tuple[TranscriptEntry, ...]]) -> Prefix:
    chunks: list[Chunk] = []
    omissions: list[Omission] = []
    used_ids, legality, view = prefix.used_ids, prefix.legality, prefix.view
    for entries in rounds:
        rendered = _render(prefix, used_ids, legality, view, entries)
        chunks.extend(rendered.chunks)
        omissions.extend(rendered.omissions)
        used_ids = used_ids.add_all(_call_ids(rendered.chunks))
        legality, view = rendered.legality, rendered.view
    return msgspec.structs.replace(
        prefix,
        settled=prefix.settled.append_all(chunks),
        size=prefix.size + sum([len(chunk.data) for chunk in chunks]),
        used_ids=used_ids,
        legality=legality,
        view=view,
        omissions=prefix.omissions.append_all(omissions),
    )


def _render_tail(prefix: Prefix, entries: tuple[TranscriptEntry, ...]) -> Tail:
    rendered = _render(prefix, prefix.used_ids, prefix.legality, prefix.view, entries)
    return Tail(
        entries=entries,
        chunks=rendered.chunks,
        legality=rendered.legality,
        view=rendered.view,
        omissions=rendered.omissions,
        violations=rendered.violations,
    )


def _render(
    prefix: Prefix,
    used_ids: Ledger[str],
    legality: LegalityState,
    view: ViewState,
    entries: tuple[TranscriptEntry, ...],
) -> _Rendered:
    """One round: steps, rules, bytes, digest. What still breaks a rule after the steps is set aside, newest first (law 1)."""
    notes = Notes()
    context = RoundContext(
        facts=prefix.facts, opens=legality.index == 0, used_ids=used_ids, view_digest=lambda: view.digest
    )
    messages = render_round(context, entries, notes)
    after, violations = check_messages(legality, messages, prefix.wire)
    if any(violation.severity is Severity.ERROR for violation in violations):
        messages, after, violations = _set_aside_until_legal(prefix.wire, legality, messages, violations, notes)
    chunks = encode_messages(messages) if messages else ()
    return _Rendered(
        chunks=chunks,
        legality=after,
        view=view.add(chunks, prefix.head),
        omissions=tuple(notes.omissions),
        violations=violations,
    )


def _set_aside_until_legal(
    wire: WireContext,
    legality: LegalityState,
    messages: tuple[WireMessage, ...],
    violations: tuple[Violation, ...],
    notes: Notes,
) -> tuple[tuple[WireMessage, ...], LegalityState, tuple[Violation, ...]]:
    after = legality
    while errors := [violation for violation in violations if violation.severity is Severity.ERROR]:
        smaller = set_aside(messages, legality.index, errors[-1], notes)
        if smaller == messages:
            break
        messages = smaller
        after, violations = check_messages(legality, messages, wire)
    return messages, after, violations


def _call_ids(chunks: Iterable[Chunk]) -> list[str]:
    return [
        part.block.id
        for chunk in chunks
        if chunk.message is not None and chunk.message.role is Role.ASSISTANT
        for part in chunk.message.parts
        if isinstance(part.block, ToolUseBlock)
    ]
