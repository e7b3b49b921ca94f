"""How an instruction file is introduced to the model: one line with its level, sharing and path (R117).

Decides the form of the label and of a file's text under it, wherever that stands: in the head or at the tail.
"""

from __future__ import annotations

from compositor.types.memory import SHARING, MemoryFile, MemoryLevel

_NOTES = frozenset({MemoryLevel.TEAM, MemoryLevel.AUTOMATIC, MemoryLevel.AGENT})


def memory_label(file: MemoryFile) -> str:
    """Level, sharing and path of a file in one line."""
    origin = f", imported by {file.parent}" if file.parent else ""
    kind = "memory" if file.level in _NOTES else "instructions"
    return f"Contents of {file.path} ({file.level.name.lower()} {kind}, {SHARING[file.level]}{origin}):"


def memory_text(file: MemoryFile) -> str:
    """A file as the model reads it: its label, a blank line, its text."""
    return f"{memory_label(file)}\n\n{file.text}"
