"""Walks a project for the report on instruction files: every file name, and the folders that may hold instructions.

Performs the walk and opens no file. Links to folders are not followed, and what git keeps for itself is not entered.
"""

from __future__ import annotations

import os

from compositor.context.memory.other_tools import is_other_tools
from compositor.context.memory.report import Survey

MAX_FILES = 1_000_000
"""Files that a report looks at; a folder of this size is no project."""

# `.claude` stands among the files where it is a link.
_INSTRUCTIONS = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude"})


def survey_project(top: str, limit: int = MAX_FILES) -> Survey:
    """Everything below the real path `top`, folder by folder in the order of their names, until `limit` files are found."""
    files: list[str] = []
    nested: list[str] = []
    waiting = [""]
    while waiting and len(files) < limit:
        folder = waiting.pop()
        try:
            with os.scandir(f"{top}/{folder}" if folder else top) as entries:
                listing = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:
            continue
        lead = f"{folder}/" if folder else ""
        names = [name for name, is_folder in listing if not is_folder]
        files += [lead + name for name in names]
        below = [name for name, is_folder in listing if is_folder and name != ".git"]
        waiting += [lead + name for name in reversed(below)]
        if folder and (".claude" in below or not _INSTRUCTIONS.isdisjoint(names)):
            nested.append(f"{top}/{folder}")
    return Survey(
        is_whole=not waiting,
        top=top,
        files=tuple(files),
        nested=tuple(nested),
        others=tuple(name for name in files if is_other_tools(name)),
    )
