"""The one function that places cache markers (law 8, F08).

Decides positions only: the end of the static system block, the end of what the previous request sent, and the end of this one (R253 to R258).
Stored content holds no markers, and a block that may not carry one is passed over for the nearest that may.
"""

from __future__ import annotations

from collections.abc import Sequence

from compositor.types.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    UnknownBlock,
)
from compositor.types.messages import Part
from compositor.types.request import CacheRegion, Chunk, Head, MarkerPlan, RequestOptions

# Of the four that a request may hold (L120): up to two for tools and system, up to two for messages (R254).
MAXIMUM = 4


def plan_markers(
    head: Head, settled: Sequence[Chunk], pending: Sequence[Chunk], count: int, options: RequestOptions
) -> tuple[MarkerPlan, ...]:
    """Markers in wire order. `settled` are the last chunks behind an answer, `count` the number of messages before `pending`."""
    if not options.caching:
        return ()
    plans = list(_system_plan(head, options))
    start = count - len(settled)
    last_sent = _last_eligible(settled, start)
    newest = _last_eligible(pending, count)
    if newest is None and last_sent is None and head.context is not None:
        newest = (0, 0)
    for place, reason in ((last_sent, "end of the previous request"), (newest, "end of this request")):
        if place is not None:
            plans.append(
                MarkerPlan(region=CacheRegion.MESSAGES, index=place[0], block=place[1], ttl=options.ttl, reason=reason)
            )
    return tuple(plans[:MAXIMUM])


def _system_plan(head: Head, options: RequestOptions) -> Sequence[MarkerPlan]:
    """The widest shared part: the static block, or the tools where there is no system prompt at all."""
    if head.system:
        return (
            MarkerPlan(region=CacheRegion.SYSTEM, index=0, ttl=options.ttl, reason="end of the static system block"),
        )
    if head.tools:
        last = len(head.tools) - 1
        return (MarkerPlan(region=CacheRegion.TOOLS, index=last, ttl=options.ttl, reason="end of the tools"),)
    return ()


def _last_eligible(chunks: Sequence[Chunk], first_index: int) -> tuple[int, int] | None:
    for offset in range(len(chunks) - 1, -1, -1):
        message = chunks[offset].message
        if message is None:
            continue
        for block in range(len(message.parts) - 1, -1, -1):
            if may_carry_marker(message.parts[block]):
                return first_index + offset, block
    return None


def may_carry_marker(part: Part) -> bool:
    """Whether the block's type takes `cache_control` (wire page 2.2; L89, L122); unknown types are left alone."""
    match part.block:
        case ThinkingBlock() | RedactedThinkingBlock() | ToolReferenceBlock() | UnknownBlock():
            return False
        case TextBlock(text=text):
            return bool(text.strip())
        case ToolResultBlock():
            return True
        case _:
            return True
