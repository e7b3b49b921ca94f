"""What a person said about imports from outside a project, remembered in the product's own folder (R138).

Performs the reading and writing; what an answer means is decided in `context/memory`. One private file a project; no file of the project is
ever touched.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.types.diagnostics import Diagnostic

from .home import private_folder, project_key, write_private

_FOLDER = "approvals"


class ImportApprovals(Struct, frozen=True, kw_only=True):
    """Real paths of files and folders. `project` is the repository they were given for; the newest answer to a path is the only one."""

    project: str
    allowed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class FoundApprovals(Struct, frozen=True):
    """The answers for a project, and what is wrong with the file that holds them: then there are none."""

    approvals: ImportApprovals
    diagnostics: tuple[Diagnostic, ...] = ()


def read_approvals(home: Path, project: str) -> FoundApprovals:
    """The answers for the repository or folder `project`."""
    path = home / _FOLDER / f"{project_key(project)}.json"
    nothing = ImportApprovals(project=project)
    try:
        return FoundApprovals(msgspec.json.decode(path.read_bytes(), type=ImportApprovals))
    except FileNotFoundError:
        return FoundApprovals(nothing)
    except (OSError, msgspec.MsgspecError) as problem:
        message = f"The remembered answers about imports cannot be read and count for nothing: {problem}"
        return FoundApprovals(nothing, (Diagnostic("memory.approvals", message, str(path), step="memory"),))


def remember_import(home: Path, project: str, path: str, *, allowed: bool) -> ImportApprovals:
    """Remember the answer to an import of the file or folder `path`; gives all answers for the project."""
    real = os.path.realpath(path)
    known = read_approvals(home, project).approvals
    kept = (_without(known.allowed, real), _without(known.refused, real))
    answers = ImportApprovals(
        project=project,
        allowed=(*kept[0], real) if allowed else kept[0],
        refused=kept[1] if allowed else (*kept[1], real),
    )
    folder = private_folder(home, _FOLDER)
    write_private(folder / f"{project_key(project)}.json", msgspec.json.encode(answers), durable=True)
    return answers


def _without(paths: tuple[str, ...], path: str) -> tuple[str, ...]:
    return tuple(known for known in paths if known != path)
