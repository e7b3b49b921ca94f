"""A temporary copy of a project, for runs in which a script plays the model: it never touches a person's own files.

Decides which files belong to the copy (those that git does not ignore; all but `.git` outside a repository) and the size above which it
refuses. Links are copied as links.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from compositor.errors import UsageError

LIMIT = 200 * 1024 * 1024
"""Bytes."""


def copy_project(project: str) -> str:
    """Copy the project into a private temporary folder and return its path. Raises `UsageError` above 200 MB."""
    names = list(_listed(project))
    total = sum(Path(project, name).lstat().st_size for name in names)
    if total > LIMIT:
        raise UsageError(
            f"The project is too large for a temporary copy: {total // 2**20} MB, the limit is {LIMIT // 2**20} MB",
            where=project,
            hint="Take a smaller directory with --project",
        )
    target = Path(tempfile.mkdtemp(prefix="compositor-")) / (Path(project).name or "project")
    target.mkdir()
    for name in names:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(Path(project, name), place, follow_symlinks=False)
    return os.path.realpath(target)


def _listed(project: str) -> Iterator[str]:
    """Relative names of the regular files and links of the project, sorted."""
    listed = _listed_by_git(project)
    names = sorted(_walked(project)) if listed is None else listed
    for name in names:
        path = Path(project, name)
        if path.is_symlink() or path.is_file():
            yield name


def _listed_by_git(project: str) -> list[str] | None:
    command = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        result = subprocess.run(  # noqa: S603 - a fixed command
            command, cwd=project, capture_output=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return sorted({os.fsdecode(name) for name in result.stdout.split(b"\0") if name})


def _walked(project: str) -> Iterator[str]:
    for folder, folders, files in os.walk(project):
        folders[:] = [name for name in folders if name != ".git"]
        for name in files:
            yield os.path.relpath(Path(folder, name), project)
