"""The steps from entries to wire messages, as an ordered tuple (R169).

Decides their order. A step is a plain function over the drafts of one round (an assistant message and what follows it): it looks at nothing of
the settled past but what `RoundContext` holds, and what it leaves out or repairs it says. Markers come later and elsewhere (R001).

An unfinished answer is left out before pairs are repaired: nothing of it was ever dispatched (R014), so its calls need no results.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compositor.types.blocks import TextBlock, ToolResultBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.messages import Part, Role, WireMessage
from compositor.types.provenance import Attribution, Lane, Lifetime, Source

from .clean import clean_blocks
from .drafts import Draft, Notes, RoundContext, Step, conversation, internal_kind
from .lanes import render_attachment
from .pairs import repair_pairs


def leave_out_internal(_context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """Internal markers, progress and unknown entries are never sent (R170)."""
    kept: list[Draft] = []
    for draft in drafts:
        reason = internal_kind(draft.entry) if draft.entry is not None else None
        if reason is None:
            kept.append(draft)
        else:
            notes.leave_out("filter", "an entry", f"it is {reason}", draft.source)
    return kept


def expand_attachments(_context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """Each attachment becomes zero or more messages (R171)."""
    expanded: list[Draft] = []
    for draft in drafts:
        entry = draft.entry
        if not isinstance(entry, AttachmentEntry):
            expanded.append(draft)
            continue
        text = render_attachment(entry.attachment)
        if text is None:
            notes.leave_out(
                "expand", f"an attachment of kind {entry.attachment.kind!r}", "its kind is unknown", draft.source
            )
        else:
            expanded.append(msgspec.structs.replace(draft, parts=(Part(TextBlock(text), conversation(entry)),)))
    return expanded


def leave_out_unfinished(_context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """An answer without a stop reason must not be sent (R173)."""
    kept: list[Draft] = []
    for draft in drafts:
        if isinstance(draft.entry, AssistantEntry) and draft.entry.stop_reason is None:
            notes.leave_out("unfinished", "an answer", "it did not end, nothing of it was carried out", draft.source)
        else:
            kept.append(draft)
    return kept


def merge_roles(_context: RoundContext, drafts: Sequence[Draft], _notes: Notes) -> Sequence[Draft]:
    """Neighbors of one role become one message, results first (L59, R174). Works inside the round, so never on what was sent."""
    if len(drafts) < 2:
        return drafts
    merged: list[Draft] = []
    for draft in drafts:
        if merged and merged[-1].role is draft.role:
            merged[-1] = msgspec.structs.replace(merged[-1], parts=_results_first(merged[-1].parts + draft.parts))
        else:
            merged.append(draft)
    return merged


def _results_first(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: not isinstance(part.block, ToolResultBlock)))


OPENING = "(The beginning of this conversation is not available.)"


def open_with_user(context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """The first message must come from the user (L05); a history that lost its beginning gets a stand-in."""
    if not context.opens or not drafts or drafts[0].role is Role.USER:
        return drafts
    source = Source("repair", "opening")
    notes.leave_out("opening", "the first prompt", "the history begins with an answer; a note stands in (L05)", None)
    origin = Attribution(source, Lane.CONVERSATION, Lifetime.CONVERSATION, "the first message must be the user's (L05)")
    return [Draft(role=Role.USER, parts=(Part(TextBlock(OPENING), origin),), source=source), *drafts]


STEPS: tuple[tuple[str, Step], ...] = (
    ("filter", leave_out_internal),
    ("expand", expand_attachments),
    ("unfinished", leave_out_unfinished),
    ("pairs", repair_pairs),
    ("clean", clean_blocks),
    ("merge", merge_roles),
    ("opening", open_with_user),
)


def render_round(context: RoundContext, entries: Sequence[TranscriptEntry], notes: Notes) -> tuple[WireMessage, ...]:
    """The wire messages of one round: at most one assistant message and one user message behind it."""
    drafts: Sequence[Draft] = [_draft(entry) for entry in entries]
    for _, step in STEPS:
        drafts = step(context, drafts, notes)
    return tuple(WireMessage(draft.role, draft.parts) for draft in drafts)


def _draft(entry: TranscriptEntry) -> Draft:
    source = Source("entry", entry.uuid)
    if not isinstance(entry, (UserEntry, AssistantEntry)):
        return Draft(role=Role.USER, parts=(), source=source, entry=entry)
    origin = conversation(entry)
    role = Role.USER if isinstance(entry, UserEntry) else Role.ASSISTANT
    return Draft(role=role, parts=tuple([Part(block, origin) for block in entry.content]), source=source, entry=entry)
