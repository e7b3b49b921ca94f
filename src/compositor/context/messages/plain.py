"""Plain rounds: an answer and what the client said to it, with nothing that any step would touch or any wire rule would mind.

Decides whether a round is one, by looking; almost every round of a long session is. It never repairs: whatever it does not know goes through the
steps and the rules, and for what it does know these give the same messages and the same state (properties hold it).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from compositor.context.prompt.envelope import count_look_alikes
from compositor.types.blocks import ABSENT, ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.messages import Part, Role, WireMessage
from compositor.types.persistent import Ledger

from .clean import REFUSED
from .drafts import conversation
from .legality.raw import has_lone_surrogate
from .split import LIMIT

_USER, _ASSISTANT = Role.USER, Role.ASSISTANT
_LEGAL_ID = re.compile(r"(?!srvtoolu_)[a-zA-Z0-9_-]+\Z")


class PlainRun(NamedTuple):
    """The messages of plain rounds in a row, and the ids of their calls in order."""

    rounds: list[tuple[WireMessage, ...]]
    calls: dict[str, None]


def plain_run(used: Ledger[str], rounds: Iterable[Sequence[TranscriptEntry]], *, opens: bool) -> PlainRun:
    """As many plain rounds as stand first among `rounds`. `used` are the call ids that went out before; `opens`: nothing stands before them."""
    found: list[tuple[WireMessage, ...]] = []
    seen: dict[str, None] = {}
    for entries in rounds:
        calls = _plain_calls(entries, used, seen, opens=opens)
        if calls is None:
            break
        for call in calls:
            seen[call] = None
        found.append(_messages(entries))
        opens = False
    return PlainRun(found, seen)


def _messages(entries: Sequence[TranscriptEntry]) -> tuple[WireMessage, ...]:
    messages: list[WireMessage] = []
    for entry in entries:
        # The checks let nothing else through.
        if isinstance(entry, (UserEntry, AssistantEntry)):
            origin = conversation(entry)
            parts = tuple([Part(block, origin) for block in entry.content])
            messages.append(WireMessage(_USER if type(entry) is UserEntry else _ASSISTANT, parts))
    return tuple(messages)


def _plain_calls(
    entries: Sequence[TranscriptEntry], used: Ledger[str], seen: Mapping[str, None], *, opens: bool
) -> Collection[str] | None:
    """The ids of the calls of a plain round; `None` for any other."""
    first, last = entries[0], entries[-1]
    if len(entries) > 2:
        return None
    if type(first) is UserEntry:
        return () if len(entries) == 1 and _plain_said(first, ()) else None
    if type(first) is not AssistantEntry or first.stop_reason in {None, REFUSED} or opens:
        return None
    calls = _plain_answer(first.content, used, seen)
    if calls is None:
        return None
    if len(entries) == 1:
        return None if calls else calls
    return calls if type(last) is UserEntry and _plain_said(last, calls) else None


def _plain_answer(
    content: tuple[ContentBlock, ...], used: Ledger[str], seen: Mapping[str, None]
) -> Sequence[str] | None:
    """The ids of the calls of a plain answer (visible text and calls with new, legal ids); `None` for any other."""
    calls: list[str] = []
    for block in content:
        if type(block) is TextBlock:
            if not _is_visible(block.text) or block.citations is not ABSENT:
                return None
        elif type(block) is ToolUseBlock:
            call_id = block.id
            if call_id in used or call_id in seen or call_id in calls or _LEGAL_ID.match(call_id) is None:
                return None
            if block.toolset_name is not None or not bytes(block.input).startswith(b"{"):
                return None
            calls.append(call_id)
        else:
            return None
    return calls if content else None


def _plain_said(entry: UserEntry, calls: Sequence[str]) -> bool:
    """Whether these are the results of the calls, in order and as text, and then nothing but ordinary visible text."""
    content = entry.content
    expected = len(calls)
    if len(content) < expected or not content:
        return False
    for position, block in enumerate(content):
        if position < expected:
            if type(block) is not ToolResultBlock or block.tool_use_id != calls[position]:
                return False
            text = block.content if block.toolset_name is None else None
        elif type(block) is TextBlock and block.citations is ABSENT:
            text = block.text
        else:
            return False
        if not isinstance(text, str) or len(text) > LIMIT or not _is_visible(text) or count_look_alikes(text):
            return False
    return True


def _is_visible(text: str) -> bool:
    """Whether it shows something and can be encoded."""
    return text != "" and not text.isspace() and (text.isascii() or not has_lone_surrogate(text))
