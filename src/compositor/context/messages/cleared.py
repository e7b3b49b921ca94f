"""Old tool results that were cleaned out of the conversation: a note stands in for each of them (R273, R276, R278).

Decides what stands in their place. Which go, and whether that pays, is `loop/cleaning.py`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from compositor.types.blocks import ToolResultBlock
from compositor.types.messages import Part

from .drafts import Notes

STEP = "cleared result"
STAND_IN = "(An old tool result stood here; it was cleaned out. Call the tool again if it is needed.)"


def without_cleared(part: Part, cleared: AbstractSet[str], notes: Notes) -> Part:
    """`part` with the stand-in for its content when it is a cleaned result."""
    block = part.block
    if not isinstance(block, ToolResultBlock) or block.tool_use_id not in cleared:
        return part
    notes.leave_out(STEP, "an old tool result", "cleaned out while nothing of it was in the cache", part.origin.source)
    return msgspec.structs.replace(part, block=msgspec.structs.replace(block, content=STAND_IN), notes=())
