"""What an editor shows, from a file that the editor writes: for every editor that can run a command.

Performs the reading. The file is `editor/<project>.json` in the product's home; a program that writes it replaces it in one step.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.adapters.files import FileProblem, read_file
from compositor.adapters.home import project_key
from compositor.types.editor import EditorFacts, Report, Selection

MAX_BYTES = 1024 * 1024
"""A larger file is not read."""


class _Selection(Struct, frozen=True):
    path: str
    first: int
    last: int
    text: str


class _Report(Struct, frozen=True):
    path: str
    line: int
    message: str
    severity: str = "error"
    source: str = ""


class _Drop(Struct, frozen=True):
    open: str = ""
    selection: _Selection | None = None
    diagnostics: tuple[_Report, ...] = ()


def editor_file(home: str, cwd: str) -> Path:
    """Where an editor may write what it shows of the project at `cwd`."""
    return Path(home, "editor", f"{project_key(cwd)}.json")


class EditorDrop:
    """Relative paths in the file are completed by `root`, the folder of the project."""

    def __init__(self, path: Path, root: str) -> None:
        self._path = path
        self._root = root

    def facts(self) -> EditorFacts | None:
        """Raises `ValueError` for a file that is none of this kind."""
        found = read_file(str(self._path), MAX_BYTES)
        if isinstance(found, FileProblem):
            if found.is_missing:
                return None
            raise ValueError(found.message)
        try:
            drop = msgspec.json.decode(found.data, type=_Drop)
        except msgspec.MsgspecError as problem:
            raise ValueError(f"{str(self._path)!r} is no editor file: {problem}") from problem
        selected = drop.selection
        return EditorFacts(
            open=self._real(drop.open) if drop.open else "",
            selection=None
            if selected is None
            else Selection(self._real(selected.path), selected.first, selected.last, selected.text),
            diagnostics=tuple(
                Report(self._real(one.path), one.line, one.message, one.severity, one.source)
                for one in drop.diagnostics
            ),
            age=max(0.0, time.time() - found.stamp.mtime_ns / 1e9),
        )

    def _real(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._root, path))  # noqa: PTH118  `Path` would keep `..`
