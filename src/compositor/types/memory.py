"""Instruction files (CLAUDE.md and its kin) as values.

Decides what is known about one file. Loading is IO (`adapters/memory_files.py`), order and parsing are `context/memory`.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class MemoryLevel(enum.IntEnum):
    """Standing of an instruction file, in load order: lowest priority first (R111)."""

    MANAGED = 0
    USER = 1
    PROJECT = 2
    LOCAL = 3
    TEAM = 4
    AUTOMATIC = 5
    AGENT = 6


SHARING: dict[MemoryLevel, str] = {
    MemoryLevel.MANAGED: "set by the organization",
    MemoryLevel.USER: "personal, for all projects",
    MemoryLevel.PROJECT: "checked into the repository, shared",
    MemoryLevel.LOCAL: "personal, for this project, not checked in",
    MemoryLevel.TEAM: "notes that a team shares",
    MemoryLevel.AUTOMATIC: "notes from earlier sessions, for this project",
    MemoryLevel.AGENT: "notes that this agent kept",
}


class MemoryFile(Struct, frozen=True, kw_only=True):
    """One loaded file. `path` is what the model is shown; `text` is after front matter and comments were taken off.

    `first_line` is the line of the file where `text` begins; `parent` the file that imported this one.
    """

    path: str
    level: MemoryLevel
    text: str
    first_line: int = 1
    parent: str | None = None
