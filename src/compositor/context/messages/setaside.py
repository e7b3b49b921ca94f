"""The last resort before a refusal: what would still break a wire rule is set aside, with a notice (law 1).

Decides which part goes when the steps did not make a message legal: the block that the violation names, or the whole message. A call goes
together with its result, so that nothing is left unpaired.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compositor.types.blocks import ToolResultBlock, ToolUseBlock, block_type
from compositor.types.messages import Part, WireMessage

from .drafts import Notes
from .legality import Violation

STEP = "set aside"

_PLACE = re.compile(r"messages\[(\d+)\](?:\.content\[(\d+)\])?")


def set_aside(
    messages: Sequence[WireMessage], first_index: int, violation: Violation, notes: Notes
) -> tuple[WireMessage, ...]:
    """`messages` without the part that `violation` names; unchanged when it names none of them.

    `first_index` is the index of `messages[0]` in the request.
    """
    place = _PLACE.match(violation.path)
    if place is None:
        return tuple(messages)
    index = int(place[1]) - first_index
    if not 0 <= index < len(messages):
        return tuple(messages)
    message = messages[index]
    block = None if place[2] is None else int(place[2])
    doomed = message.parts if block is None or block >= len(message.parts) else (message.parts[block],)
    reason = f"{violation.message} ({violation.rule})"
    for part in doomed:
        notes.leave_out(STEP, f"a {block_type(part.block)!r} block", reason, part.origin.source)
    gone = {id(part) for part in doomed}
    calls = {call_id for part in doomed if (call_id := _call_id(part)) is not None}
    kept = (
        WireMessage(
            message.role, tuple(part for part in message.parts if id(part) not in gone and _call_id(part) not in calls)
        )
        for message in messages
    )
    return tuple(message for message in kept if message.parts)


def _call_id(part: Part) -> str | None:
    match part.block:
        case ToolUseBlock(id=call_id) | ToolResultBlock(tool_use_id=call_id):
            return call_id
        case _:
            return None
