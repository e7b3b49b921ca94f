"""Whether a person typed this: the one predicate that prompt counters, titles and limits use (R215, R216).

Decides by flag, origin and type of the entry, which only the client sets (R217); the text is looked at for one thing alone: commands
and their output, which other tools store as user text in an envelope of their own, are no prompts.
"""

from __future__ import annotations

import re

from compositor.types.attachments import QueuedInput
from compositor.types.blocks import DocumentBlock, ImageBlock, TextBlock, ToolResultBlock
from compositor.types.entries import AttachmentEntry, Origin, TranscriptEntry, UserEntry
from compositor.types.persistent import Rope

_ENVELOPE = re.compile(r"\s*<(?:system-reminder|command-(?:name|message|args)|local-command-\w+|bash-\w+)>")


def last_prompt(entries: Rope[TranscriptEntry]) -> str | None:
    """The id of the newest entry that a person typed; `None` when there is none. Looks back no further than that."""
    newest = (entries[place] for place in range(len(entries) - 1, -1, -1))
    return next((entry.uuid for entry in newest if is_human_prompt(entry)), None)


def is_human_prompt(entry: TranscriptEntry) -> bool:
    """False for results, meta messages, summaries, other origins and envelopes; true for what a person said, queued input included."""
    if isinstance(entry, AttachmentEntry):
        return isinstance(entry.attachment, QueuedInput) and entry.attachment.origin is Origin.HUMAN
    if not isinstance(entry, UserEntry) or entry.is_meta or entry.origin is not Origin.HUMAN:
        return False
    if any(isinstance(block, ToolResultBlock) for block in entry.content):
        return False
    texts = [block.text for block in entry.content if isinstance(block, TextBlock)]
    if texts and all(_ENVELOPE.match(text) for text in texts):
        return False
    return any(text.strip() for text in texts) or any(
        isinstance(block, ImageBlock | DocumentBlock) for block in entry.content
    )
