"""Where instruction files may stand: the candidates of the chain, in load order (R111 to R113).

Decides the order and the names. Whether a file exists is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from posixpath import dirname, join
from typing import TypeAlias

from msgspec import Struct

from compositor.types.memory import MemoryLevel

from .facts import MemoryPlace
from .imports import by_bytes, is_inside


class FileCandidate(Struct, frozen=True, kw_only=True):
    """A file that is loaded if it is there and none of `unless` is. `base` is the folder whose content it may import freely.

    `is_rule`: its `paths`, where it has any, must match a file that was reached.
    """

    path: str
    level: MemoryLevel
    base: str
    unless: tuple[str, ...] = ()
    is_rule: bool = False


class RulesCandidate(Struct, frozen=True, kw_only=True):
    """A folder of rules: every Markdown file below it, in the order of their path bytes."""

    path: str
    level: MemoryLevel
    base: str


Candidate: TypeAlias = FileCandidate | RulesCandidate


def plan_chain(place: MemoryPlace) -> Iterator[Candidate]:
    """All candidates, lowest priority first: managed, user, then each directory from the root down to `cwd`, then additional ones."""
    if not place.is_on:
        return
    for path, _ in place.managed_texts:
        yield FileCandidate(path=path, level=MemoryLevel.MANAGED, base=dirname(path))
    for folder in place.managed:
        yield FileCandidate(path=join(folder, "CLAUDE.md"), level=MemoryLevel.MANAGED, base=folder)
    if "user" in place.sources and place.config_home:
        home = place.config_home
        yield FileCandidate(path=join(home, "CLAUDE.md"), level=MemoryLevel.USER, base=home)
        yield RulesCandidate(path=join(home, "rules"), level=MemoryLevel.USER, base=home)
    ancestors = [str(folder) for folder in reversed(PurePosixPath(place.cwd).parents)]
    for folder in dict.fromkeys((*ancestors, place.cwd, *place.extra)):
        yield from _plan_directory(folder, place)


def plan_nested(place: MemoryPlace, reached: Iterable[str], told: Iterable[str] = ()) -> Iterator[Candidate]:
    """Candidates of the folders between the working directory, or an additional one, and the absolute paths `reached` (R122).

    An instruction file that was `told` before stands for its own folder.
    """
    if not place.is_on:
        return
    roots = (place.cwd, *place.extra)
    between = {
        str(folder)
        for path in (*reached, *filter(None, map(_own_folder, told)))
        for root in roots
        if is_inside(path, root)
        for folder in PurePosixPath(path).parents
        if str(folder) != root and is_inside(str(folder), root)
    }
    # An outer folder's path is the beginning of an inner one's.
    for folder in by_bytes(between):
        yield from _plan_directory(folder, place)


def twin_in_worktree(path: str, place: MemoryPlace) -> str | None:
    """The same file of the repository in the worktree, when `path` lies in the main checkout around it (F19)."""
    main, worktree = place.main_checkout, place.project_root
    if main is None or main == worktree or not is_inside(path, main) or is_inside(path, worktree):
        return None
    return join(worktree, str(PurePosixPath(path).relative_to(main)))


def _own_folder(path: str) -> str:
    """A path in the folder whose instruction file `path` is; empty for an import, which says nothing about folders."""
    folder, _, name = path.rpartition("/")
    above, rules, _ = path.partition("/.claude/rules/")
    if rules:
        return f"{above}/{name}"
    return f"{folder.removesuffix('/.claude')}/{name}" if name in _NAMES else ""


_NAMES = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"})


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
