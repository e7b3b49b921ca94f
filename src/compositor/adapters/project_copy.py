"""A temporary copy of a project, for runs in which a script plays the model: it never touches a person's own files.

Decides which files belong to the copy (those that git does not ignore, also of submodules; all but `.git` where git does not answer), what
becomes of links, and the size above which it refuses. A copy is never copied again: its own path is given back.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from compositor.errors import UsageError

from .git import list_files

LIMIT = 200 * 1024 * 1024
"""Bytes."""

_MARK = ".compositor-copy"
"""Beside the copied project: tells a copy from a folder of somebody else's."""


class ProjectCopy(Struct, frozen=True, kw_only=True):
    """`path` is real and absolute. `left_out` names, relative to the project, the links that lead out of it."""

    path: str
    left_out: tuple[str, ...] = ()


def copy_project(project: str) -> ProjectCopy:
    """Copy the project into a private temporary folder. Raises `UsageError` above 200 MB and for what cannot be read; then no copy is left."""
    root = os.path.realpath(project)
    if is_copy(root):
        return ProjectCopy(path=root)
    names = _within_limit(root, _listed(root))
    folder = Path(tempfile.mkdtemp(prefix="compositor-"))
    try:
        target = folder / (Path(root).name or "project")
        target.mkdir()
        left_out = tuple(name for name in names if not _copy(root, target, name))
        (folder / _MARK).write_bytes(os.fsencode(root))
    except OSError as problem:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(
            f"The project cannot be copied: {problem.strerror or problem}",
            where=os.fsdecode(problem.filename or root),
            hint="Make the file readable, or let git ignore it",
        ) from problem
    return ProjectCopy(path=os.path.realpath(target), left_out=left_out)


def is_copy(project: str) -> bool:
    """Whether this folder was made by `copy_project`."""
    return Path(os.path.realpath(project)).parent.joinpath(_MARK).is_file()


def _within_limit(root: str, listed: Iterable[str]) -> list[str]:
    names, total = [], 0
    for name in listed:
        names.append(name)
        total += Path(root, name).lstat().st_size
        if total > LIMIT:
            raise UsageError(
                f"The project is too large for a temporary copy: the limit is {LIMIT // 2**20} MB",
                where=root,
                hint="Take a smaller directory with --project",
            )
    return names


def _listed(root: str) -> Iterator[str]:
    """Relative names of the regular files and links below `root`; no sockets, pipes or devices."""
    names = list_files(root, os.environ)
    for name in _walked(root) if names is None else names:
        path = Path(root, name)
        if path.is_symlink() or path.is_file():
            yield name
        elif (path / ".git").exists():
            # A submodule, or a repository inside this one: git names it and says nothing about its files.
            yield from (os.path.join(name, inner) for inner in _listed(str(path)))  # noqa: PTH118 - odd names stay as they are


def _walked(root: str) -> Iterator[str]:
    def stop(problem: OSError) -> None:
        raise UsageError(
            f"The project cannot be copied: {problem.strerror}", where=os.fsdecode(problem.filename)
        ) from problem

    for folder, folders, files in os.walk(root, onerror=stop):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name != ".git" and name not in links)
        for name in sorted((*files, *links)):
            yield os.path.relpath(Path(folder, name), root)


def _copy(root: str, target: Path, name: str) -> bool:
    """Copy one file or link. False for a link that leads out of the project: through it, the person's own files would be changed."""
    source, place = Path(root, name), target / name
    if source.is_symlink():
        aim = Path(os.path.normpath(source.parent / source.readlink()))
        if not aim.is_relative_to(root):
            return False
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(aim, source.parent))
        return True
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, place)
    return True
