"""The last resort before a refusal: what would still break a wire rule is set aside, with a notice (law 1).

Decides which part goes when the steps did not make a message legal: an item inside a result, the block that the violation names, or the whole
message; of images that are too many, the newest. A call goes together with its result, so that nothing is left unpaired.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from compositor.types.blocks import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock, block_type
from compositor.types.messages import Part, Role, WireMessage

from .clean import empty_answer
from .drafts import Notes
from .legality import Violation

STEP = "set aside"

_PLACE = re.compile(r"messages\[(\d+)\](?:\.content\[(\d+)\](?:\.content\[(\d+)\])?)?")


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
    parts = messages[index].parts
    block = None if place[2] is None or int(place[2]) >= len(parts) else int(place[2])
    reason = f"{violation.message} ({violation.rule})"
    if block is not None and place[3] is not None:
        smaller = _without_item(parts[block], int(place[3]), reason, notes)
        if smaller is not None:
            return _with_part(messages, index, block, smaller)
    return _without_parts(messages, parts if block is None else (parts[block],), reason, notes)


def set_newest_image_aside(messages: Sequence[WireMessage], reason: str, notes: Notes) -> tuple[WireMessage, ...]:
    """`messages` with a note in the place of their newest image; unchanged when they hold none."""
    for index in range(len(messages) - 1, -1, -1):
        parts = messages[index].parts
        for block in range(len(parts) - 1, -1, -1):
            part = parts[block]
            if isinstance(part.block, ImageBlock):
                _note(part, part.block, reason, notes)
                return _with_part(messages, index, block, Part(TextBlock(_stand_in(reason)), part.origin))
            if not isinstance(part.block, ToolResultBlock) or not isinstance(part.block.content, tuple):
                continue
            items = [at for at, item in enumerate(part.block.content) if isinstance(item, ImageBlock)]
            smaller = _without_item(part, items[-1], reason, notes) if items else None
            if smaller is not None:
                return _with_part(messages, index, block, smaller)
    return tuple(messages)


def _without_item(part: Part, position: int, reason: str, notes: Notes) -> Part | None:
    """The result with a note in the place of one item; `None` when it has no such item, or only a note to lose."""
    block = part.block
    if not isinstance(block, ToolResultBlock) or not isinstance(block.content, tuple):
        return None
    if position >= len(block.content) or isinstance(block.content[position], TextBlock):
        return None
    _note(part, block.content[position], reason, notes)
    stand_in = TextBlock(_stand_in(reason))
    content = (*block.content[:position], stand_in, *block.content[position + 1 :])
    return msgspec.structs.replace(part, block=msgspec.structs.replace(block, content=content))


def _with_part(messages: Sequence[WireMessage], index: int, block: int, part: Part) -> tuple[WireMessage, ...]:
    message = messages[index]
    parts = (*message.parts[:block], part, *message.parts[block + 1 :])
    return (*messages[:index], msgspec.structs.replace(message, parts=parts), *messages[index + 1 :])


def _without_parts(
    messages: Sequence[WireMessage], doomed: Sequence[Part], reason: str, notes: Notes
) -> tuple[WireMessage, ...]:
    for part in doomed:
        _note(part, part.block, reason, notes)
    gone = {id(part) for part in doomed}
    calls = {call_id for part in doomed if (call_id := _call_id(part)) is not None}
    kept: list[WireMessage] = []
    for message in messages:
        parts = tuple(part for part in message.parts if id(part) not in gone and _call_id(part) not in calls)
        if not parts and message.role is Role.ASSISTANT and message.parts[0].origin.source.kind != "repair":
            # Whatever stands before may need an answer behind it (L33).
            parts = (empty_answer(),)
        if parts:
            kept.append(msgspec.structs.replace(message, parts=parts))
    return tuple(kept)


def _note(part: Part, block: object, reason: str, notes: Notes) -> None:
    notes.leave_out(STEP, f"a {block_type(block)!r} block", reason, part.origin.source)  # type: ignore[arg-type]


def _stand_in(reason: str) -> str:
    return f"(Something stood here that cannot be sent: {reason}.)"


def _call_id(part: Part) -> str | None:
    match part.block:
        case ToolUseBlock(id=call_id) | ToolResultBlock(tool_use_id=call_id):
            return call_id
        case _:
            return None
