"""Paths as tools take and show them.

Decides what a path in an input means and how a path is written for the model. The gate is told exactly the paths that a call
then uses. Never decides whether a path is allowed.
"""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path, PurePosixPath

from msgspec import Struct

from compositor.ports import ToolScope
from compositor.types.json import repair_text

from .results import Problem

MAX_PATH = 4_096
"""Bytes; no system takes more."""

_BREAKING = ("Cc", "Zl", "Zp")


class Target(Struct, frozen=True):
    """A path of a call: `path` as it was named, made absolute; `real` with every link resolved, which is what is opened (R298)."""

    path: str
    real: str

    @property
    def touched(self) -> tuple[str, ...]:
        """Both spellings, for the gate; one when they are the same."""
        return (self.path,) if self.path == self.real else (self.path, self.real)


def find_target(text: str, scope: ToolScope) -> Target | Problem:
    """What `text` means: absolute, under the home folder for `~/`, or relative to the working directory."""
    if not text:
        return Problem("The path is empty.")
    if "\0" in text:
        return Problem("The path holds a NUL character, which no file name can.")
    if len(os.fsencode(repair_text(text))) > MAX_PATH:
        return Problem(f"The path is longer than {MAX_PATH:,} bytes.")
    home = scope.env.get("HOME")
    if home and (text == "~" or text.startswith("~/")):
        text = home + text[1:]
    joined = str(Path(scope.cwd, text))
    if joined.startswith("//"):
        # POSIX lets two slashes at the start mean something else; no system here does, and a rule on `/etc` must see `//etc`.
        joined = "/" + joined.lstrip("/")
    try:
        return Target(os.path.normpath(joined), os.path.realpath(joined))
    except OSError as error:
        return Problem(f"The path {shorten(text)!r} cannot be followed: {error.strerror}.")


def show_path(path: str, scope: ToolScope) -> str:
    """`path` for the model: relative to the working directory when inside it; quoted when it holds a line break or a control."""
    named = PurePosixPath(path)
    shown = repair_text(str(named.relative_to(scope.cwd) if named.is_relative_to(scope.cwd) else named))
    if any(unicodedata.category(char) in _BREAKING for char in shown):
        return json.dumps(shown, ensure_ascii=False)
    return shown


def shorten(text: str, limit: int = 200) -> str:
    """A path in a message: long ones lose their middle."""
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[-limit // 2 :]}"
