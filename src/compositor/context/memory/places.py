"""Where instruction files may stand: the candidates of the chain, in load order (R111 to R113).

Decides the order and the names. Whether a file exists is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import join
from typing import TypeAlias

from msgspec import Struct

from compositor.types.memory import MemoryLevel

from .facts import MemoryPlace
from .imports import is_inside


class FileCandidate(Struct, frozen=True, kw_only=True):
    """A file that is loaded if it is there and none of `unless` is. `base` is the folder whose content it may import freely."""

    path: str
    level: MemoryLevel
    base: str
    unless: tuple[str, ...] = ()


class RulesCandidate(Struct, frozen=True, kw_only=True):
    """A folder of rules: every Markdown file below it, in the order of their path bytes."""

    path: str
    level: MemoryLevel
    base: str


Candidate: TypeAlias = FileCandidate | RulesCandidate


def plan_chain(place: MemoryPlace) -> Iterator[Candidate]:
    """All candidates, lowest priority first: managed, user, then each directory from the root down to `cwd`, then additional ones."""
    for folder in place.managed:
        yield FileCandidate(path=join(folder, "CLAUDE.md"), level=MemoryLevel.MANAGED, base=folder)
    if "user" in place.sources and place.config_home:
        home = place.config_home
        yield FileCandidate(path=join(home, "CLAUDE.md"), level=MemoryLevel.USER, base=home)
        yield RulesCandidate(path=join(home, "rules"), level=MemoryLevel.USER, base=home)
    ancestors = [str(folder) for folder in reversed(PurePosixPath(place.cwd).parents)]
    for folder in dict.fromkeys((*ancestors, place.cwd, *place.extra)):
        yield from _plan_directory(folder, place)


def twin_in_worktree(path: str, place: MemoryPlace) -> str | None:
    """The same file of the repository in the worktree, when `path` lies in the main checkout around it (F19)."""
    main, worktree = place.main_checkout, place.project_root
    if main is None or main == worktree or not is_inside(path, main) or is_inside(path, worktree):
        return None
    return join(worktree, str(PurePosixPath(path).relative_to(main)))


def _plan_directory(folder: str, place: MemoryPlace) -> Iterator[Candidate]:
    plain, nested = join(folder, "CLAUDE.md"), join(folder, ".claude", "CLAUDE.md")
    project, local = MemoryLevel.PROJECT, MemoryLevel.LOCAL
    if "project" in place.sources:
        yield FileCandidate(path=plain, level=project, base=folder)
        yield FileCandidate(path=nested, level=project, base=folder)
        if place.reads_agents_md:
            yield FileCandidate(path=join(folder, "AGENTS.md"), level=project, base=folder, unless=(plain, nested))
        yield RulesCandidate(path=join(folder, ".claude", "rules"), level=project, base=folder)
    if "local" in place.sources:
        yield FileCandidate(path=join(folder, "CLAUDE.local.md"), level=local, base=folder)
