"""Placement: where notes stand so that every pair holds and nothing sent moves (R230 to R235).

Decides the place of each lane inside its round. System messages go behind the user message (L32 to L34); a reminder goes into the last result that
may hold one, as a block of its own with its own origin, else it stays a block behind the results (R232).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compositor.types.blocks import DocumentBlock, ImageBlock, SearchResultBlock, TextBlock, ToolResultBlock
from compositor.types.messages import Part, Role
from compositor.types.provenance import Lane

from .drafts import Draft, Notes, RoundContext
from .lanes import as_reminder

_HOMELESS = "no user message is there for a system message to follow (L32)"


def place_notes(_context: RoundContext, drafts: Sequence[Draft], _notes: Notes) -> Sequence[Draft]:
    """Nothing is left out here; what had to change its lane says so in its attribution."""
    if not any(_is_note(draft) for draft in drafts):
        return drafts
    system = [draft for draft in drafts if draft.role is Role.SYSTEM]
    others = [draft for draft in drafts if draft.role is not Role.SYSTEM]
    if system and not any(draft.role is Role.USER for draft in others):
        others = [*others, *(_demoted(draft) for draft in system)]
        system = []
    return [*_with_notes_in_results(others), *system]


def _is_note(draft: Draft) -> bool:
    return draft.role is Role.SYSTEM or _is_reminder(draft)


def _is_reminder(draft: Draft) -> bool:
    return draft.role is Role.USER and bool(draft.parts) and all(p.origin.lane is Lane.REMINDER for p in draft.parts)


def _is_words(draft: Draft) -> bool:
    """A picture stays a block of its own: only text may stand beside an error (L63)."""
    return _is_reminder(draft) and all(isinstance(part.block, TextBlock) for part in draft.parts)


def _demoted(draft: Draft) -> Draft:
    parts = tuple(as_reminder(part, _HOMELESS) for part in draft.parts)
    return msgspec.structs.replace(draft, role=Role.USER, parts=parts)


def _with_notes_in_results(drafts: Sequence[Draft]) -> Sequence[Draft]:
    host = _last_host(drafts)
    reminders = [part for draft in drafts if _is_words(draft) for part in draft.parts]
    if host is None or not reminders:
        return drafts
    at, position = host
    placed = list(drafts)
    parts = list(placed[at].parts)
    parts[position] = _with_notes(parts[position], reminders)
    placed[at] = msgspec.structs.replace(placed[at], parts=tuple(parts))
    return [draft for draft in placed if not _is_words(draft)]


def _last_host(drafts: Sequence[Draft]) -> tuple[int, int] | None:
    for at in range(len(drafts) - 1, -1, -1):
        parts = drafts[at].parts
        for position in range(len(parts) - 1, -1, -1):
            if _may_hold_note(parts[position]):
                return at, position
    return None


def _may_hold_note(part: Part) -> bool:
    """A result with content, but neither references, which stand alone (L107), nor a toolset's, whose content is closed (L67)."""
    block = part.block
    if not isinstance(block, ToolResultBlock) or not block.content or block.toolset_name is not None:
        return False
    return isinstance(block.content, str) or all(isinstance(item, _PLAIN) for item in block.content)


def _with_notes(part: Part, reminders: Sequence[Part]) -> Part:
    block = part.block
    if not isinstance(block, ToolResultBlock):
        return part
    content = (TextBlock(block.content),) if isinstance(block.content, str) else block.content or ()
    added = tuple(reminder.block for reminder in reminders if isinstance(reminder.block, TextBlock))
    return msgspec.structs.replace(
        part,
        block=msgspec.structs.replace(block, content=(*content, *added)),
        notes=(*part.notes, *(reminder.origin for reminder in reminders)),
    )


_PLAIN = (TextBlock, ImageBlock, DocumentBlock, SearchResultBlock)
