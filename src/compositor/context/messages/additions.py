"""Tools that are added inside the conversation: from a note with names to the blocks that bring deferred tools into view (L45, L46).

Decides the blocks. Which lane carries them is decided in `lanes.py`, which tools are added in `context/tools/deferral.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from compositor.types.attachments import TOOL_ADDITION
from compositor.types.blocks import ContentBlock, TextBlock, UnknownBlock
from compositor.types.json import raw_json
from compositor.types.provenance import Lane, Source

from .drafts import Notes, RoundContext
from .lanes import searchable


def added_tools(
    words: Sequence[ContentBlock], lane: Lane, context: RoundContext, notes: Notes, source: Source
) -> tuple[ContentBlock, ...]:
    """One block for each name in `words` that the request declares; where no tool can be added, one that says how they are found."""
    names = [name for block in words if isinstance(block, TextBlock) for name in block.text.split()]
    declared = [name for name in names if context.tools is None or name in context.tools]
    for name in names:
        if name not in declared:
            notes.leave_out(
                "expand", f"the addition of the tool {name!r}", "the request does not declare it (L46)", source
            )
    if not declared or lane is Lane.API_SYSTEM:
        return tuple(_addition(name) for name in declared)
    return (TextBlock(searchable(declared)),)


def _addition(name: str) -> UnknownBlock:
    tool = {"type": "tool_reference", "name": name}
    return UnknownBlock(TOOL_ADDITION, raw_json({"type": TOOL_ADDITION, "tool": tool}))
