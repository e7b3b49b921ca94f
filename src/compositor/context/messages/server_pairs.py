"""Calls that the service answers itself: one that never got its result is taken out (L68, L70, R176).

Decides that such a call stays only where the service still owes the result: in a paused answer with nothing behind it, which goes back unchanged
(L72), while its tool is declared (L69). Anywhere else it would make the next message with anything but results illegal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from compositor.types.blocks import ContentBlock, ServerToolUseBlock, UnknownBlock
from compositor.types.entries import AssistantEntry
from compositor.types.json import decode_json
from compositor.types.messages import Part, Role

from .drafts import Draft, Notes, RoundContext
from .legality.schemas import CALLED_AS, SERVER_RESULTS

STEP = "server pairs"
PAUSED = "pause_turn"


def repair_server_pairs(context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """Take out calls of server tools without a result in their own message."""
    return [
        draft if draft.role is not Role.ASSISTANT or _is_waiting(context, drafts, at) else _repaired(draft, notes)
        for at, draft in enumerate(drafts)
    ]


def _is_waiting(context: RoundContext, drafts: Sequence[Draft], at: int) -> bool:
    entry = drafts[at].entry
    is_paused = at == len(drafts) - 1 and isinstance(entry, AssistantEntry) and entry.stop_reason == PAUSED
    return is_paused and all(_is_declared(part.block, context.tools) for part in drafts[at].parts)


def _is_declared(block: ContentBlock, tools: Collection[str] | None) -> bool:
    """Whether the service can go on with this call; where no tools are known, nobody can say."""
    if not isinstance(block, ServerToolUseBlock) or not tools:
        return True
    return any(name in tools for name in CALLED_AS.get(block.name, (block.name,)))


def _repaired(draft: Draft, notes: Notes) -> Draft:
    calls = {call_id for part in draft.parts if (call_id := _call_id(part.block)) is not None}
    if not calls:
        return draft
    open_ids = calls - {_answered_id(part.block) for part in draft.parts}
    kept: list[Part] = []
    for part in draft.parts:
        if _call_id(part.block) in open_ids:
            what = f"the call {_call_id(part.block)!r} of a server tool"
            notes.leave_out(STEP, what, "its result never came (L68)", part.origin.source)
        else:
            kept.append(part)
    return msgspec.structs.replace(draft, parts=tuple(kept)) if open_ids else draft


def _call_id(block: ContentBlock) -> str | None:
    if isinstance(block, ServerToolUseBlock):
        return block.id
    return _field(block, "id") if isinstance(block, UnknownBlock) and block.type == "mcp_tool_use" else None


def _answered_id(block: ContentBlock) -> str | None:
    return _field(block, "tool_use_id") if isinstance(block, UnknownBlock) and block.type in SERVER_RESULTS else None


def _field(block: UnknownBlock, name: str) -> str | None:
    value = decode_json(bytes(block.raw)).get(name)
    return value if isinstance(value, str) else None
