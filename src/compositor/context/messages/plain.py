"""The plain round: an answer and what the client said to it, with nothing that any step would touch.

Decides whether a round is one, by looking; almost every round of a long session is. It never repairs: whatever it does not know goes through the
steps, and for what it does know the steps give the same messages (a property holds it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compositor.context.prompt.envelope import count_look_alikes
from compositor.types.blocks import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.messages import Part, Role, WireMessage
from compositor.types.persistent import Ledger

from .drafts import RoundContext, conversation
from .split import LIMIT

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")


def plain_round(context: RoundContext, entries: Sequence[TranscriptEntry]) -> tuple[WireMessage, ...] | None:
    """The messages of a plain round; `None` for any other."""
    if context.after_system or len(entries) > 2:
        return None
    first, last = entries[0], entries[-1]
    if type(first) is UserEntry:
        return (_message(Role.USER, first),) if len(entries) == 1 and _plain_said(first, ()) else None
    if type(first) is not AssistantEntry or first.stop_reason is None or context.opens:
        return None
    calls = _plain_calls(first.content, context.used_ids)
    if calls is None:
        return None
    if len(entries) == 1:
        return None if calls else (_message(Role.ASSISTANT, first),)
    if type(last) is not UserEntry or not _plain_said(last, calls):
        return None
    return _message(Role.ASSISTANT, first), _message(Role.USER, last)


def _message(role: Role, entry: UserEntry | AssistantEntry) -> WireMessage:
    origin = conversation(entry)
    return WireMessage(role, tuple([Part(block, origin) for block in entry.content]))


def _plain_calls(content: tuple[ContentBlock, ...], used: Ledger[str]) -> Sequence[str] | None:
    """The ids of the calls of a plain answer (visible text and calls with new, legal ids); `None` for any other."""
    calls: list[str] = []
    for block in content:
        if type(block) is TextBlock:
            if not block.text or block.text.isspace():
                return None
        elif type(block) is ToolUseBlock:
            call_id = block.id
            if call_id in used or call_id in calls or _LEGAL_ID.match(call_id) is None:
                return None
            calls.append(call_id)
        else:
            return None
    return calls if content else None


def _plain_said(entry: UserEntry, calls: Sequence[str]) -> bool:
    """Whether these are the results of the calls, in order and as text, and then nothing but ordinary visible text."""
    content = entry.content
    if len(content) < max(len(calls), 1):
        return False
    for position, block in enumerate(content):
        if position < len(calls):
            if type(block) is not ToolResultBlock or block.tool_use_id != calls[position]:
                return False
            text = block.content
        elif type(block) is TextBlock:
            text = block.text
        else:
            return False
        if not isinstance(text, str) or not text or text.isspace() or len(text) > LIMIT or count_look_alikes(text):
            return False
    return True
