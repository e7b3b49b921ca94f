"""A summary without a model: what was asked for, which files were touched, what was run, where it stopped.

Decides what is listed and how much of it: the last exit when nobody can write a better one (R314). The same entries give the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from compositor.context.messages.human import is_human_prompt
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import decode_json

PROMPTS, PROMPT_CHARS = 12, 600
FILES, COMMANDS, COMMAND_CHARS = 30, 12, 160
LAST_WORDS_CHARS = 2_000

_CHANGING = frozenset({"Edit", "Write", "NotebookEdit"})


class _Call(Struct, frozen=True):
    name: str
    subject: str
    failed: bool = False


def outline_of(entries: Sequence[TranscriptEntry]) -> str:
    """The outline of a conversation. Lists are cut at their newest items, and say how many were left out."""
    prompts = [shortened(text_of(entry), PROMPT_CHARS) for entry in entries if is_human_prompt(entry)]
    calls = _calls(entries)
    changed = _unique(call.subject for call in calls if call.name in _CHANGING and call.subject and not call.failed)
    read = _unique(call.subject for call in calls if call.name == "Read" and call.subject and not call.failed)
    ran = [
        shortened(call.subject, COMMAND_CHARS) + (" (failed)" if call.failed else "")
        for call in calls
        if call.name == "Bash" and call.subject
    ]
    last = next((text for entry in reversed(entries) if (text := _answer_text(entry))), "")
    sections = [
        _section("What the user asked for, oldest first", prompts, PROMPTS),
        _section("Files that were changed", changed, FILES),
        _section("Files that were only read", [path for path in read if path not in set(changed)], FILES),
        _section("The last commands", ran, COMMANDS),
        f"## The last answer\n\n{shortened(last, LAST_WORDS_CHARS)}" if last else "",
    ]
    head = "Nobody summarized this part of the conversation; this is what its records say."
    return "\n\n".join((head, *(section for section in sections if section)))


def text_of(entry: TranscriptEntry) -> str:
    """The text of an entry that a person or the model wrote."""
    content = entry.content if isinstance(entry, UserEntry | AssistantEntry) else ()
    return "\n".join(block.text for block in content if isinstance(block, TextBlock)).strip()


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, cut in the middle and saying how many were left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]} [... {len(text) - limit} characters left out ...] {text[len(text) - (limit - head) :]}"


def _section(title: str, items: Sequence[str], most: int) -> str:
    if not items:
        return ""
    lines = [f"- {' '.join(item.split())}" for item in items[-most:]]
    if len(items) > most:
        lines.insert(0, f"- ({len(items) - most} earlier ones are left out)")
    return "\n".join((f"## {title}\n", *lines))


def _calls(entries: Iterable[TranscriptEntry]) -> list[_Call]:
    calls: dict[str, _Call] = {}
    for entry in entries:
        if isinstance(entry, AssistantEntry):
            uses = (block for block in entry.content if isinstance(block, ToolUseBlock))
            calls |= {block.id: _Call(block.name, _subject(block)) for block in uses}
        elif isinstance(entry, UserEntry):
            for block in entry.content:
                if isinstance(block, ToolResultBlock) and block.is_error and block.tool_use_id in calls:
                    call = calls[block.tool_use_id]
                    calls[block.tool_use_id] = _Call(call.name, call.subject, failed=True)
    return list(calls.values())


def _subject(block: ToolUseBlock) -> str:
    try:
        fields = decode_json(bytes(block.input))
    except (msgspec.MsgspecError, ValueError):
        return ""
    names = ("file_path", "notebook_path", "command", "path", "pattern", "url")
    found = next((fields[name] for name in names if isinstance(fields, dict) and isinstance(fields.get(name), str)), "")
    return str(found)


def _answer_text(entry: TranscriptEntry) -> str:
    return text_of(entry) if isinstance(entry, AssistantEntry) else ""


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
