"""What the memory chain asks of the outside, and what it is told: requests and facts as values.

Decides the shape of the question and of the answer. Never decides which file is wanted, and never reads one.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

from msgspec import Struct

FILE_LIMIT = 4 * 1024 * 1024
"""Bytes. A larger instruction file is left out whole, never cut (project-conventions 1.1)."""


class Missing(enum.StrEnum):
    """Why there is no content."""

    ABSENT = "absent"
    NOT_A_FILE = "not_a_file"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"


class FileFact(Struct, frozen=True, kw_only=True):
    """One path at one moment. `data` is the whole content, or `None` with the reason in `missing`.

    `real` has every symbolic link resolved and is `None` where nothing is there. `size` is in bytes, `modified` in nanoseconds since the
    epoch; `detail` says in words why a file could not be read.
    """

    path: str
    real: str | None = None
    data: bytes | None = None
    size: int = 0
    modified: int = 0
    missing: Missing | None = None
    detail: str = ""


class FolderFact(Struct, frozen=True, kw_only=True):
    """The Markdown files and the folders directly inside a folder, by name, in any order; both empty where there is no such folder."""

    path: str
    real: str | None = None
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    detail: str = ""


Fact: TypeAlias = FileFact | FolderFact


class Need(Struct, frozen=True, kw_only=True):
    """A question: the facts of these paths, each absolute and normalized. `limit` is the largest content wanted, in bytes."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    limit: int = FILE_LIMIT


class MemoryPlace(Struct, frozen=True, kw_only=True):
    """Where to look. All paths are absolute; `cwd`, `project_root`, `main_checkout` and `extra` have their links resolved.

    `managed` are the administrator's directories, `config_home` the user's (`~/.claude`) with `config_home_real` its resolved spelling.
    `project_root` is the root of the repository, or `cwd` outside one. In a linked git worktree `project_root` is the worktree and
    `main_checkout` the first checkout. `extra` are additional directories whose instruction files count. `sources` are the settings sources
    in force, `excludes` globs over absolute paths, `approved` real paths of files and folders that may be imported from outside.
    """

    cwd: str
    project_root: str
    home: str | None = None
    config_home: str | None = None
    config_home_real: str | None = None
    managed: tuple[str, ...] = ()
    main_checkout: str | None = None
    extra: tuple[str, ...] = ()
    sources: tuple[str, ...] = ("user", "project", "local")
    excludes: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    reads_agents_md: bool = True
