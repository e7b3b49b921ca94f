"""Where a conversation may be cut in two: never between a call and its result (F25).

Decides the places, and how much of the end is kept word for word beside a summary.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compositor.context.attachments.render import render_attachment
from compositor.context.tokens import estimate_tokens
from compositor.types.blocks import ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry


def cut_places(entries: Sequence[TranscriptEntry]) -> tuple[int, ...]:
    """The indexes at which `entries[index:]` may stand behind a summary: an answer or a prompt begins there and no call is open."""
    open_calls: set[str] = set()
    places: list[int] = []
    for index, entry in enumerate(entries):
        if not open_calls and _begins(entry):
            places.append(index)
        if isinstance(entry, AssistantEntry):
            open_calls.update(block.id for block in entry.content if isinstance(block, ToolUseBlock))
        elif isinstance(entry, UserEntry):
            open_calls -= answered_calls(entry)
    return tuple(places)


def kept_from(entries: Sequence[TranscriptEntry], room: int, scale: float = 1.0) -> int:
    """The earliest place of a cut behind which at most `room` estimated tokens stand; `len(entries)` when nothing fits."""
    places = set(cut_places(entries))
    best, total = len(entries), 0
    for index in range(len(entries) - 1, -1, -1):
        total += entry_tokens(entries[index], scale)
        if total > room:
            break
        if index in places:
            best = index
    return best


def unanswered_from(entries: Sequence[TranscriptEntry]) -> int:
    """Where the part begins that has no answer yet: the last complete answer when it waits for results, else what was said behind it.

    Notes alone ask for nothing; their owners tell them again.
    """
    last = next((at for at in range(len(entries) - 1, -1, -1) if _is_answer(entries[at])), None)
    if last is None:
        return 0
    if _has_calls(entries[last]):
        return last
    return last + 1 if any(isinstance(entry, UserEntry) for entry in entries[last + 1 :]) else len(entries)


def entry_tokens(entry: TranscriptEntry, scale: float = 1.0) -> int:
    """About how many tokens an entry costs in a request."""
    match entry:
        case UserEntry(content=content) | AssistantEntry(content=content):
            return estimate_tokens(msgspec.json.encode(content), scale)
        case AttachmentEntry(attachment=attachment):
            return estimate_tokens(msgspec.json.encode(render_attachment(attachment)), scale)
        case _:
            return 0


def answered_calls(entry: UserEntry) -> set[str]:
    """The ids of the calls that this entry holds results of."""
    return {block.tool_use_id for block in entry.content if isinstance(block, ToolResultBlock)}


def _begins(entry: TranscriptEntry) -> bool:
    return isinstance(entry, AssistantEntry) or (isinstance(entry, UserEntry) and not answered_calls(entry))


def _is_answer(entry: TranscriptEntry) -> bool:
    return isinstance(entry, AssistantEntry) and entry.stop_reason is not None


def _has_calls(entry: TranscriptEntry) -> bool:
    return isinstance(entry, AssistantEntry) and any(isinstance(block, ToolUseBlock) for block in entry.content)
