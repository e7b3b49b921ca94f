"""Outside text cannot speak as the harness: look-alikes of the reminder tag are defused on their way to the wire (F36, R214, R357, R362).

Decides which texts are outside: everything in a user message that is no note of the client, typed words included. What an answer holds
goes back as it came (L75, L80). Stored content is never changed; the edit tools read a defused tag back (`restore_text`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compositor.context.prompt.envelope import count_look_alikes, neutralize_text
from compositor.types.blocks import ContentBlock, ResultContent, TextBlock, ToolResultBlock
from compositor.types.messages import Part, Role
from compositor.types.provenance import Lane

from .drafts import Draft, Notes, RoundContext

STEP = "defuse"


def defuse_tags(_context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """Defuse in typed text and in results; each block in which tags were found is counted and told."""
    return [_defused(draft, notes) if draft.role is Role.USER else draft for draft in drafts]


def _defused(draft: Draft, notes: Notes) -> Draft:
    parts = tuple([_part(part, notes) if part.origin.lane is Lane.CONVERSATION else part for part in draft.parts])
    changed = any(new is not old for new, old in zip(parts, draft.parts, strict=True))
    return msgspec.structs.replace(draft, parts=parts) if changed else draft


def _part(part: Part, notes: Notes) -> Part:
    block, where = part.block, "text of the user message"
    fixed: ContentBlock = block
    if isinstance(block, TextBlock):
        fixed, count = _text(block)
    elif isinstance(block, ToolResultBlock):
        fixed, count = _result(block, own=len(part.notes))
        where = f"the result of {block.tool_use_id!r}"
    else:
        return part
    if not count:
        return part
    tags = "1 look-alike" if count == 1 else f"{count} look-alikes"
    notes.leave_out(STEP, f"{tags} of the reminder tag in {where}", "only the client speaks in it", part.origin.source)
    return msgspec.structs.replace(part, block=fixed)


def _text(block: TextBlock) -> tuple[TextBlock, int]:
    count = count_look_alikes(block.text)
    return (msgspec.structs.replace(block, text=neutralize_text(block.text)), count) if count else (block, 0)


def _result(block: ToolResultBlock, *, own: int) -> tuple[ToolResultBlock, int]:
    """The last `own` items are the client's notes."""
    content = block.content
    if content is None:
        return block, 0
    if isinstance(content, str):
        count = count_look_alikes(content)
        return (msgspec.structs.replace(block, content=neutralize_text(content)), count) if count else (block, 0)
    outside, inside = content[: len(content) - own], content[len(content) - own :]
    fixed, count = _items(outside)
    return (msgspec.structs.replace(block, content=(*fixed, *inside)), count) if count else (block, 0)


def _items(items: Sequence[ResultContent]) -> tuple[Sequence[ResultContent], int]:
    """Neighboring texts are read as one: a tag may be split over two of them."""
    texts = [item.text if isinstance(item, TextBlock) else "\n" for item in items]
    total = count_look_alikes("".join(texts))
    if not total:
        return items, 0
    fixed: list[ResultContent] = []
    for place, item in enumerate(items):
        if not isinstance(item, TextBlock):
            fixed.append(item)
            continue
        # The rest behind this item decides whether what begins in it is a tag; what the rest itself holds is its own affair.
        rest = "".join(texts[place + 1 :])[:_LONGEST_TAG]
        whole = neutralize_text(item.text + rest)
        kept = neutralize_text(rest)
        fixed.append(msgspec.structs.replace(item, text=whole[: len(whole) - len(kept)]))
    return fixed, total


_LONGEST_TAG = 64
