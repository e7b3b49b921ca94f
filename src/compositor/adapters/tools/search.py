"""Searches in a child process, so that a runaway one can be killed: ripgrep, or the fallback that speaks its language.

Decides which program searches, and how its records are read. Never decides what the model sees of them.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from compositor.ports import ToolScope

from .environment import child_environment
from .process import Ending, run_process

SEARCH_SECONDS = 20.0
"""A search that takes longer is ended; what it found until then counts."""

MAX_PATTERN = 20_000
"""Characters of a pattern."""

# Everything a user's configuration could change is off; version-control data is never searched.
_ALWAYS = ("--no-config", "--color=never", "--hidden")
_NEVER_SEARCHED = ("--glob", "!.git", "--glob", "!.hg", "--glob", "!.svn", "--glob", "!.jj")
_ERROR_BYTES = 20_000
_FALLBACK = Path(__file__).with_name("search_fallback.py")


class SearchEnd(Struct, frozen=True, kw_only=True):
    """How a search ended. `error` is what the program complained about; `notes` are words for the model."""

    code: int | None
    error: str
    notes: tuple[str, ...] = ()


def find_ripgrep(scope: ToolScope) -> str | None:
    """`rg` on the path, else the one installed beside this interpreter.

    Folders of the project on the path do not count: a search needs no permission, so it must not run what a project brings along.
    """
    folders = [Path(folder) for folder in scope.env.get("PATH", "").split(os.pathsep)]
    trusted = [
        str(folder)
        for folder in folders
        if folder.is_absolute() and not any(folder.resolve().is_relative_to(root) for root in scope.roots)
    ]
    found = shutil.which("rg", path=os.pathsep.join(trusted)) if trusted else None
    return found or shutil.which("rg", path=sysconfig.get_path("scripts"))


async def run_search(
    arguments: Sequence[str],
    *,
    base: str,
    root: str,
    env: Mapping[str, str],
    record: re.Pattern[bytes],
    take: Callable[[re.Match[bytes]], bool],
    ripgrep: str | None,
) -> SearchEnd:
    """Search `root`, a path below the directory `base` that begins with `./`. Each match of `record` in the output goes to `take`, which returns False to end it.

    A record ends with its only line break or NUL. Raises `OSError` when no program can be started.
    """
    program = (ripgrep,) if ripgrep is not None else (sys.executable, "-I", str(_FALLBACK))
    rest = bytearray()
    errors = bytearray()

    def read(data: bytes) -> bool:
        nonlocal rest
        rest += data
        if b"\n" not in data and b"\0" not in data:
            return True
        # A record that has begun is left alone: looking for its end from every start would be quadratic.
        whole = max(rest.rfind(b"\n"), rest.rfind(b"\0")) + 1
        used = 0
        for match in record.finditer(rest, 0, whole):
            used = match.end()
            if not take(match):
                return False
        del rest[:used]
        return True

    def complain(data: bytes) -> bool:
        errors.extend(data[: max(0, _ERROR_BYTES - len(errors))])
        return True

    end = await run_process(
        (*program, *_ALWAYS, *arguments, *_NEVER_SEARCHED, "--", root),
        cwd=base,
        env=child_environment(env),
        seconds=SEARCH_SECONDS,
        output=read,
        errors=complain,
    )
    notes = []
    if end.ending is Ending.TIMED_OUT:
        notes.append(f"[The search was ended after {SEARCH_SECONDS:g} s; this is what it had found.]")
    if ripgrep is None:
        notes.append("[ripgrep is not installed: a slower search with Python's regular expressions was used.]")
    return SearchEnd(code=end.code, error=errors.decode("utf-8", "replace").strip(), notes=tuple(notes))
