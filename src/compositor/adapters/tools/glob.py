"""Glob: files by name.

Decides what a pattern means and how results are sorted. The walk itself is the search program's.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from anyio import to_thread
from msgspec import Struct

from compositor.adapters.files import is_directory
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .paths import Target, find_target, show_path
from .results import Problem, done, failed, read_input
from .search import MAX_PATTERN, SearchEnd, run_search

MAX_RESULTS = 100

# Beyond this the pattern is no help, and sorting by time would have to look at every file.
_MAX_FOUND = 200_000
_MAGIC = re.compile(r"[*?\[\]{}]")
_ENTRY = re.compile(rb"([^\0]+)\0")


class GlobInput(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    path: str | None = None


class GlobTool:
    definition: ToolDefinition = BUILTIN["Glob"]

    def __init__(self, is_visible: Callable[[str], bool], find_program: Callable[[ToolScope], str | None]) -> None:
        self._is_visible = is_visible
        self._find_program = find_program

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        wanted = read_input(call, GlobInput)
        plan = wanted if isinstance(wanted, Problem) else plan_glob(wanted, scope)
        return () if isinstance(plan, Problem) else plan[0].touched

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        began = time.monotonic()
        wanted = read_input(call, GlobInput)
        plan = wanted if isinstance(wanted, Problem) else plan_glob(wanted, scope)
        if isinstance(plan, Problem):
            return failed(call, plan.message)
        base, pattern = plan
        if not await to_thread.run_sync(is_directory, base.real):
            return failed(call, f"{base.path!r} is not a directory.")
        found: list[bytes] = []

        def take(match: re.Match[bytes]) -> bool:
            found.append(match[1])
            return len(found) < _MAX_FOUND

        try:
            end = await run_search(
                ("--files", "--null", "--no-ignore", f"--glob={pattern}", *_depth(pattern)),
                base=base.real,
                root="./",
                env=scope.env,
                record=_ENTRY,
                take=take,
                ripgrep=self._find_program(scope),
            )
        except OSError as error:
            return failed(call, f"The search could not be run: {error.strerror or error}.")
        if end.code == 2 and not found and end.error:
            return failed(call, f"The search failed: {end.error}")
        paths = await to_thread.run_sync(self._newest_first, base, found)
        return _answer(call, scope, paths, end, int((time.monotonic() - began) * 1000))

    def _newest_first(self, base: Target, found: Sequence[bytes]) -> list[str]:
        dated: list[tuple[int, str]] = []
        for name in found:
            path, real = Path(base.path, os.fsdecode(name)), Path(base.real, os.fsdecode(name))
            if not (self._is_visible(str(path)) and self._is_visible(str(real))):
                continue
            try:
                dated.append((-path.stat().st_mtime_ns, str(path)))
            except OSError:
                continue  # gone since it was listed
        return [path for _, path in sorted(dated)]


def plan_glob(wanted: GlobInput, scope: ToolScope) -> tuple[Target, str] | Problem:
    """The directory to search and the pattern below it: folders before the first wildcard belong to the directory."""
    pattern = wanted.pattern
    if not pattern or "\0" in pattern or len(pattern) > MAX_PATTERN:
        return Problem(f"The pattern must have between 1 and {MAX_PATTERN:,} characters, and no NUL.")
    folder = wanted.path or "."
    if "/" in pattern:
        parts = pattern.split("/")
        fixed = 0
        while fixed < len(parts) - 1 and not _MAGIC.search(parts[fixed]):
            fixed += 1
        start = "/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else ".")
        folder, pattern = str(Path(folder, start)), "/" + "/".join(parts[fixed:])
    if ".." in re.split(r"[/{},]", pattern):
        return Problem("The pattern holds '..' after a wildcard. Give the folder with path instead.")
    target = find_target(folder, scope)
    # A leading slash anchors the pattern, and keeps `!` and `#` from meaning something of their own.
    return target if isinstance(target, Problem) else (target, pattern if pattern.startswith("/") else f"**/{pattern}")


def _depth(pattern: str) -> tuple[str, ...]:
    """A pattern without `**` reaches only as deep as it has slashes; `/etc/*` need not walk the whole disk."""
    return () if "**" in pattern else (f"--max-depth={pattern.count('/')}",)


def _answer(call: ToolCall, scope: ToolScope, paths: list[str], end: SearchEnd, milliseconds: int) -> ToolOutcome:
    names = [show_path(path, scope) for path in paths[:MAX_RESULTS]]
    is_cut = len(paths) > MAX_RESULTS
    notes = list(end.notes)
    if is_cut:
        notes.insert(
            0, f"[Cut: the {MAX_RESULTS} most recently changed of {len(paths):,} files. Use a narrower pattern.]"
        )
    if end.error:
        notes.append(f"[Not everything could be searched: {end.error.splitlines()[0]}]")
    return done(
        call,
        "\n".join((*(names or ["No files found."]), *notes)),
        display=f"{display_call(call)}: {counted(len(paths), 'file')}",
        structured={"durationMs": milliseconds, "numFiles": len(names), "filenames": names, "truncated": is_cut},
    )
