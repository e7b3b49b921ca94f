"""The steps from entries to wire messages, as an ordered tuple (R169).

Decides their order. A step is a plain function over the drafts of one round (an assistant message and what follows it): it looks at nothing of
the settled past but what `RoundContext` holds, and what it leaves out or repairs it says. Run again over its own result, the whole gives
that result (R178). Markers come later and elsewhere (R001).

An answer that did not end is taken out after pairs and fields, as R169 has it. Nothing of it was ever dispatched (R014), so the
steps before do not look for results of its calls (`is_unfinished`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compositor.context.attachments.render import render_attachment
from compositor.types.attachments import TOOL_ADDITION
from compositor.types.blocks import TextBlock, ToolResultBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.messages import TURN_SCOPED, Part, Role, WireMessage
from compositor.types.provenance import Attribution, Lane, Lifetime, Source

from .additions import added_tools
from .clean import clean_blocks
from .defuse import defuse_tags
from .drafts import Draft, Notes, RoundContext, Step, conversation, internal_kind, is_unfinished
from .lanes import SYSTEM_LANES, choose_lane, note_part
from .pairs import repair_pairs
from .place import place_notes
from .server_pairs import repair_server_pairs
from .split import split_oversized


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


def expand_attachments(context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """Each attachment becomes zero or more messages, each in its lane (R171, R209)."""
    expanded: list[Draft] = []
    for draft in drafts:
        entry = draft.entry
        if not isinstance(entry, AttachmentEntry):
            expanded.append(draft)
            continue
        blocks = render_attachment(entry.attachment)
        chosen = choose_lane(entry, context.facts)
        if blocks and entry.attachment.kind == TOOL_ADDITION:
            blocks = added_tools(blocks, chosen.lane, context, notes, draft.source)
        if not blocks:
            reason = "its kind is unknown" if blocks is None else "it says nothing"
            notes.leave_out("expand", f"an attachment of kind {entry.attachment.kind!r}", reason, draft.source)
            continue
        role = Role.SYSTEM if chosen.lane in SYSTEM_LANES else Role.USER
        parts = tuple(note_part(entry, block, chosen) for block in blocks)
        expanded.append(Draft(role=role, parts=parts, source=draft.source))
    return expanded


def leave_out_unfinished(_context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """An answer without a stop reason must not be sent (R173)."""
    kept: list[Draft] = []
    for draft in drafts:
        if is_unfinished(draft):
            notes.leave_out("unfinished", "an answer", "it did not end, nothing of it was carried out", draft.source)
        else:
            kept.append(draft)
    return kept


def merge_roles(_context: RoundContext, drafts: Sequence[Draft], _notes: Notes) -> Sequence[Draft]:
    """Neighbors of one role become one message, results first (L59, R174, R218). Works inside the round, so never on what was sent."""
    if len(drafts) < 2:
        return drafts
    merged: list[Draft] = []
    for draft in drafts:
        if merged and merged[-1].role is draft.role and _clear_at(merged[-1]) == _clear_at(draft):
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
    ("pairs", repair_pairs),
    ("server pairs", repair_server_pairs),
    ("clean", clean_blocks),
    ("defuse", defuse_tags),
    ("unfinished", leave_out_unfinished),
    ("place", place_notes),
    ("merge", merge_roles),
    ("split", split_oversized),
    ("opening", open_with_user),
)


def render_round(context: RoundContext, entries: Sequence[TranscriptEntry], notes: Notes) -> tuple[WireMessage, ...]:
    """The wire messages of one round: at most one assistant message, one user message behind it, then system messages."""
    drafts = normalize(context, [as_draft(entry) for entry in entries], notes)
    return tuple([WireMessage(draft.role, draft.parts, _clear_at(draft)) for draft in drafts])


def normalize(context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """All steps in their order. A second time over the result changes nothing and says nothing (R178)."""
    for _, step in STEPS:
        drafts = step(context, drafts, notes)
    return drafts


def _clear_at(draft: Draft) -> str | None:
    is_turn_scoped = draft.role is Role.SYSTEM and draft.parts[0].origin.lane is Lane.TURN_SYSTEM
    return TURN_SCOPED if is_turn_scoped else None


def as_draft(entry: TranscriptEntry) -> Draft:
    source = Source("entry", entry.uuid)
    if not isinstance(entry, (UserEntry, AssistantEntry)):
        return Draft(role=Role.USER, parts=(), source=source, entry=entry)
    origin = conversation(entry)
    role = Role.USER if isinstance(entry, UserEntry) else Role.ASSISTANT
    return Draft(role=role, parts=tuple([Part(block, origin) for block in entry.content]), source=source, entry=entry)
