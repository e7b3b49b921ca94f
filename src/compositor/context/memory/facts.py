"""What the memory chain asks of the outside, and what it is told: requests and facts as values.

Decides the shape of the question and of the answer. Never decides which file is wanted, and never reads one.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from compositor.types.memory import MemoryLevel

from .excludes import is_excluded

INDEX_NAME = "MEMORY.md"
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


class MemoryFolder(Struct, frozen=True, kw_only=True):
    """A folder of notes with an index: `level` TEAM, AUTOMATIC or AGENT.

    `is_kept`: the model is told how to keep notes there; `is_found`: the folder was there when the session opened.
    """

    path: str
    level: MemoryLevel
    is_kept: bool = False
    is_found: bool = False

    @property
    def index(self) -> str:
        return f"{self.path}/{INDEX_NAME}"


class MemoryPlace(Struct, frozen=True, kw_only=True):
    """Where to look. All paths are absolute; `cwd`, `project_root`, `main_checkout` and `extra` have their links resolved.

    `managed` are the administrator's directories, `config_home` the user's (`~/.claude`) with `config_home_real` its resolved spelling.
    `project_root` is the root of the repository, or `cwd` outside one. In a linked git worktree `project_root` is the worktree and
    `main_checkout` the first checkout. `extra` are additional directories whose instruction files count. `sources` are the settings sources
    in force, `excludes` globs over absolute paths, `approved` and `refused` real paths of files and folders outside, for imports that were
    asked for before. `managed_texts` are instructions of managed settings: where each stands, and its text. `folders` hold
    notes of a team or of earlier sessions. `is_on` false reads no instruction file. `is_hidden` says whether a rule denies reading a path: such
    a file stays out, imported or not (R397).
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
    refused: tuple[str, ...] = ()
    reads_agents_md: bool = True
    managed_texts: tuple[tuple[str, str], ...] = ()
    folders: tuple[MemoryFolder, ...] = ()
    is_on: bool = True
    is_hidden: Callable[[str], bool] | None = None

    def excludes_path(self, path: str) -> bool:
        """Whether a glob or a path among `excludes` names the absolute `path` (`claudeMdExcludes`, project-conventions 1.7)."""
        return is_excluded(path, self.excludes, self.home)
