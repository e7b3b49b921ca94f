"""Cleaning: what the wire refuses inside a block is taken out, and only that (L06 to L08, L63 to L65, L75 to L78, R157, R172).

Decides block by block. A message that loses all its blocks goes away; the rest of the conversation stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from compositor.types.blocks import (
    THINKING_TYPES,
    ContentBlock,
    RedactedThinkingBlock,
    ResultContent,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    block_type,
)
from compositor.types.entries import AssistantEntry
from compositor.types.messages import Part, Role
from compositor.types.provenance import Attribution, Lane, Lifetime, Source
from compositor.types.snapshot import Latch

from .cleared import without_cleared
from .drafts import Draft, Notes, RoundContext, is_unfinished
from .legality.schemas import BLOCKS
from .refused_images import without_refused

STEP = "clean"
REFUSED = "refusal"
"""The stop reason of an answer that the service broke off."""

EMPTY_ANSWER = "(This answer holds nothing that can be sent again.)"

_ASSISTANT_ONLY = (ToolUseBlock, ServerToolUseBlock, ThinkingBlock, RedactedThinkingBlock)
_SNAPSHOT_DATE = re.compile(r"-\d{8}\Z")


def clean_blocks(context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """Take out blocks that their role or the wire cannot hold, and clean the content of results."""
    cleaned: list[Draft] = []
    refused, cleared = context.facts.refused_images, context.facts.cleared
    for draft in drafts:
        if is_unfinished(draft):
            cleaned.append(draft)
            continue
        if _is_refused(draft):
            cleaned.append(_without_partial(draft, notes))
            continue
        without_thinking = _thinking_refusal(context, draft)
        shown = [without_refused(part, refused, notes) for part in draft.parts] if refused else draft.parts
        shown = [without_cleared(part, cleared, notes) for part in shown] if cleared else shown
        parts = tuple(
            kept
            for part in shown
            if (kept := _clean_part(context, draft.role, part, without_thinking, notes)) is not None
        )
        if not parts and context.after_system and draft.role is Role.ASSISTANT:
            # A user message may not follow a system message (L33).
            parts = (empty_answer(),)
        if parts:
            cleaned.append(draft if parts == draft.parts else msgspec.structs.replace(draft, parts=parts))
        else:
            notes.leave_out(STEP, "a message", "nothing of it can be sent (L06)", draft.source)
    return cleaned


def _is_refused(draft: Draft) -> bool:
    """Whether the service broke the answer off: what had come of it is discarded (wire page 7, `refusal`)."""
    return isinstance(draft.entry, AssistantEntry) and draft.entry.stop_reason == REFUSED


def _without_partial(draft: Draft, notes: Notes) -> Draft:
    """The calls of a broken off answer alone, which have their results behind them, else a word in its place."""
    calls = tuple(part for part in draft.parts if isinstance(part.block, ToolUseBlock))
    parts = calls or (empty_answer(),)
    if parts == draft.parts:
        return draft
    notes.leave_out(STEP, "what had come of an answer", "the service refused it and broke it off", draft.source)
    return msgspec.structs.replace(draft, parts=parts)


def empty_answer() -> Part:
    """What stands in for an answer of which nothing can be sent."""
    source = Source("repair", STEP)
    origin = Attribution(source, Lane.CONVERSATION, Lifetime.CONVERSATION, "an answer has content (L06)")
    return Part(TextBlock(EMPTY_ANSWER), origin)


def _thinking_refusal(context: RoundContext, draft: Draft) -> str | None:
    """Why the thinking of this message cannot be replayed; `None` when it can (R423, F05)."""
    entry = draft.entry
    if not isinstance(entry, AssistantEntry) or not any(isinstance(part.block, THINKING_TYPES) for part in draft.parts):
        return None
    if any(isinstance(part.block, ThinkingBlock) and not part.block.signature for part in draft.parts):
        return "not all thinking of the answer is signed (L76), and it goes back whole or not at all (L75)"
    if _SNAPSHOT_DATE.sub("", entry.model) != _SNAPSHOT_DATE.sub("", context.facts.model):
        return f"it was made by {entry.model!r}, the request goes to {context.facts.model!r}"
    if Latch.THINKING in context.facts.latches:
        return "the service refused replayed thinking in this session"
    if context.facts.binds_thinking and entry.prefix_digest != context.view_digest():
        return "what stands before it is not what it was made under (R423)"
    return None


def _clean_part(
    context: RoundContext, role: Role, part: Part, without_thinking: str | None, notes: Notes
) -> Part | None:
    block = part.block
    reason = _refusal(role, block, without_thinking)
    if reason is not None:
        notes.leave_out(STEP, f"a {block_type(block)!r} block", reason, part.origin.source)
        return None
    if isinstance(block, ToolResultBlock):
        result = _clean_result(context, block, part, notes)
        return part if result is block else msgspec.structs.replace(part, block=result)
    return part


def _refusal(role: Role, block: ContentBlock, without_thinking: str | None) -> str | None:
    if isinstance(block, TextBlock):
        return None if block.text and not block.text.isspace() else "it holds no visible text (L07, L08)"
    if isinstance(block, THINKING_TYPES):
        return without_thinking if role is Role.ASSISTANT else "only the assistant thinks"
    if isinstance(block, ToolResultBlock):
        return None if role is Role.USER else "a result belongs to a user message (L65)"
    if isinstance(block, _ASSISTANT_ONLY):
        return None if role is Role.ASSISTANT else "a call belongs to an assistant message (L65)"
    if isinstance(block, ToolReferenceBlock):
        return "a tool reference stands inside a result only"
    if isinstance(block, UnknownBlock) and (role is Role.USER or block.type not in BLOCKS):
        return "its type is unknown"
    return None


def _clean_result(context: RoundContext, block: ToolResultBlock, part: Part, notes: Notes) -> ToolResultBlock:
    content = block.content
    if content is None or (isinstance(content, str) and content and not content.isspace()):
        return block
    if isinstance(content, str):
        return msgspec.structs.replace(block, content=None)
    kept: list[ResultContent] = []
    for item in content:
        reason = _item_refusal(context, item, is_error=bool(block.is_error))
        if reason is None:
            kept.append(item)
        elif not _empty_text(item):
            notes.leave_out(STEP, f"a {block_type(item)!r} in a result", reason, part.origin.source)
    return block if kept and tuple(kept) == content else msgspec.structs.replace(block, content=tuple(kept) or None)


def _item_refusal(context: RoundContext, item: ResultContent, *, is_error: bool) -> str | None:
    if isinstance(item, TextBlock):
        return "it holds no visible text (L07)" if _empty_text(item) else None
    if is_error:
        return "errors hold text only (L63)"
    if isinstance(item, ToolReferenceBlock) and context.tools is not None and item.tool_name not in context.tools:
        return f"the tool {item.tool_name!r} is not declared (L107)"
    return None


def _empty_text(item: ResultContent) -> bool:
    return isinstance(item, TextBlock) and (not item.text or item.text.isspace())
