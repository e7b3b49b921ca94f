"""The memory of a session: notes that a helper keeps in the background, and a summary that costs no model call when it is needed.

Decides the template, when a helper is due (R329), what it may do (R330) and how much of its file counts (R333). Runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from compositor.context.tokens import estimate_tokens
from compositor.types.blocks import ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry

TOKENS, CALLS = 10_000, 3
"""Both must be reached since the last extraction, at or above (R329)."""

MEMORY_TOKENS = 12_000
"""The most of a memory file that counts (R333)."""

WAIT_SECONDS = 15.0
"""The longest that a compaction waits for an extraction under way (R332)."""

SECTIONS: tuple[tuple[str, str], ...] = (
    ("Title", "five to ten words that name the work of this session"),
    ("Current state", "what is being done right now, and the immediate next steps"),
    ("Task", "what the user asked for, with the constraints they gave"),
    ("Files", "the files that matter, with what is in them and why they matter"),
    ("Commands", "commands that are run again and again, how, and how to read what they print"),
    ("Errors and corrections", "what failed, what fixed it, what the user corrected"),
    ("Codebase", "how the parts of the system fit together, as far as it was learned here"),
    ("Lessons", "what worked and what did not, so that it is not tried twice"),
    ("Worklog", "step by step and short: what was done"),
)
"""Nine sections (R333): heading, and what belongs under it."""


class Progress(Struct, frozen=True):
    """What has happened since the last extraction: estimated tokens of new conversation, and tool calls."""

    tokens: int = 0
    calls: int = 0

    @property
    def is_due(self) -> bool:
        return self.tokens >= TOKENS and self.calls >= CALLS


def progress(entries: Iterable[TranscriptEntry], sizes: Iterable[int]) -> Progress:
    """What the entries since the last extraction add up to; `sizes` are their tokens."""
    calls = sum(
        isinstance(block, ToolUseBlock)
        for entry in entries
        if isinstance(entry, AssistantEntry)
        for block in entry.content
    )
    return Progress(tokens=sum(sizes), calls=calls)


def empty_memory() -> str:
    """The file that a helper begins with."""
    return "\n".join(f"# {name}\n_{what}_\n" for name, what in SECTIONS)


def memory_prompt(path: str, current: str) -> str:
    """What the helper is asked for. It has one tool and one file; the gate holds it to both, whatever it was told (R330)."""
    headings = ", ".join(name for name, _ in SECTIONS)
    return f"""\
Bring the notes of this session up to date, from the conversation above. They stand in {path} and are used later in place of the conversation, so \
write down what somebody needs to go on: exact paths, names, commands, figures.

Rules:
- Use the Edit tool on that file and nothing else. Make your edits in one answer, then stop.
- Keep the headings ({headings}) and the line in italics under each; write below them.
- Leave out what the project's instruction files say anyway. Shorten what is old, so that the whole stays under {MEMORY_TOKENS:,} tokens.
- These notes are not part of the conversation: do not mention them there.

The file as it is now:

<notes>
{current}
</notes>"""


def usable_memory(text: str) -> tuple[str, bool]:
    """The memory as a summary, and whether it was cut at `MEMORY_TOKENS`. Empty when nothing was written below the headings."""
    hints = {f"_{what}_" for _, what in SECTIONS}
    headings = {f"# {name}" for name, _ in SECTIONS}
    lines = [line for line in text.splitlines() if line.strip() not in hints]
    if not any(line.strip() and line.strip() not in headings for line in lines):
        return "", False
    kept: list[str] = []
    total = 0
    for line in lines:
        total += estimate_tokens(f"{line}\n".encode("utf-8", "replace"))
        if total > MEMORY_TOKENS:
            return "\n".join((*kept, "[The rest of the notes is left out: they are too long.]")), True
        kept.append(line)
    return "\n".join(kept).strip(), False
