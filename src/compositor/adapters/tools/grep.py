"""Grep: file contents by regular expression.

Decides how a search is put to the search program, and how its matches are shown and cut.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from anyio import to_thread
from msgspec import Struct, field

from compositor.adapters.files import is_directory, is_regular_file
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .grep_records import RECORDS, Hit, Records
from .paths import Target, find_target, show_path
from .results import Problem, done, failed, read_input
from .search import MAX_PATTERN, SearchEnd, run_search

DEFAULT_LIMIT = 250

MAX_CHARACTERS = 30_000
"""Of all matches together; more is cut, whatever `head_limit` says."""


class GrepInput(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    path: str | None = None
    glob: str | None = None
    output_mode: Literal["content", "files_with_matches", "count"] = "files_with_matches"
    after: int | None = field(name="-A", default=None)
    before: int | None = field(name="-B", default=None)
    around: int | None = field(name="-C", default=None)
    context: int | None = None
    has_numbers: bool = field(name="-n", default=True)
    ignore_case: bool = field(name="-i", default=False)
    only_matching: bool = field(name="-o", default=False)
    type: str | None = None
    head_limit: int = DEFAULT_LIMIT
    offset: int = 0
    multiline: bool = False


class GrepTool:
    definition: ToolDefinition = BUILTIN["Grep"]

    def __init__(self, is_visible: Callable[[str], bool], find_program: Callable[[ToolScope], str | None]) -> None:
        self._is_visible = is_visible
        self._find_program = find_program

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        wanted = read_input(call, GrepInput)
        target = wanted if isinstance(wanted, Problem) else find_target(wanted.path or ".", scope)
        return () if isinstance(target, Problem) else target.touched

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, GrepInput)
        refusal = wanted.message if isinstance(wanted, Problem) else _refusal(wanted)
        if isinstance(wanted, Problem) or refusal is not None:
            return failed(call, str(refusal))
        target = find_target(wanted.path or ".", scope)
        if isinstance(target, Problem):
            return failed(call, target.message)
        place = await to_thread.run_sync(_place, target)
        if isinstance(place, Problem):
            return failed(call, place.message)
        collector = Collector(wanted, target, place, self._is_visible, lambda path: show_path(path, scope))
        try:
            end = await run_search(
                _arguments(wanted),
                base=place.base,
                root=place.root,
                env=scope.env,
                record=collector.records.pattern,
                take=collector.take,
                ripgrep=self._find_program(scope),
            )
        except OSError as error:
            return failed(call, f"The search could not be run: {error.strerror or error}.")
        if end.code == 2 and not collector.lines and end.error:
            return failed(call, f"The search failed: {end.error}")
        return _answer(call, wanted, collector, end)


class Place(Struct, frozen=True):
    """Where the search program runs: in `base`, over `root`, which is `./` or one file in it."""

    base: str
    root: str


class Collector:
    """Takes records as they come, and stops the search when enough lines are there."""

    def __init__(
        self,
        wanted: GrepInput,
        target: Target,
        place: Place,
        is_visible: Callable[[str], bool],
        show: Callable[[str], str],
    ) -> None:
        self.records: Records = RECORDS[wanted.output_mode]
        self.lines: list[str] = []
        self.files: dict[str, None] = {}
        self.matches = 0
        self.is_cut = False
        self._wanted = wanted
        self._is_file = place.root != "./"
        self._named = str(Path(target.path).parent) if self._is_file else target.path
        self._place = place
        self._is_visible = is_visible
        self._show = show
        self._skip = wanted.offset
        self._size = 0
        self._last: tuple[str, int] | None = None
        self._shown: dict[str, str | None] = {}

    def take(self, match: re.Match[bytes]) -> bool:
        """One record. False when no more is wanted."""
        return all(self._add(hit) for hit in self.records.read(match, only_matching=self._wanted.only_matching))

    def _add(self, hit: Hit) -> bool:
        name = self._name(hit.path)
        if name is None:
            return True
        if self._skip > 0:
            self._skip -= 1
            return True
        line = self._line(name, hit)
        self._size += len(line) + 1
        limit = self._wanted.head_limit
        if self._size > MAX_CHARACTERS or (limit and len(self.lines) >= limit):
            self.is_cut = True
            return False
        if self._has_gap(hit):
            self.lines.append("--")
        self._last = (hit.path, hit.number)
        self.lines.append(line)
        self.files[name] = None
        self.matches += hit.matches
        return True

    def _name(self, path: str) -> str | None:
        """How the file is shown; `None` when the model may not see it."""
        if path not in self._shown:
            named, real = str(Path(self._named, path)), str(Path(self._place.base, path))
            is_visible = self._is_visible(named) and self._is_visible(real)
            self._shown[path] = self._show(named) if is_visible else None
        return self._shown[path]

    def _line(self, name: str, hit: Hit) -> str:
        if self._wanted.output_mode == "files_with_matches":
            return name
        if self._wanted.output_mode == "count":
            return f"{name}:{hit.matches}"
        mark = ":" if hit.is_match else "-"
        path = "" if self._is_file else f"{name}{mark}"
        number = f"{hit.number}{mark}" if self._wanted.has_numbers else ""
        return f"{path}{number}{hit.text}"

    def _has_gap(self, hit: Hit) -> bool:
        """Whether lines of context were asked for and this line does not follow the last one."""
        if self._last is None or self._wanted.output_mode != "content" or not any(_context(self._wanted)):
            return False
        path, number = self._last
        return hit.path != path or hit.number > number + 1


def _arguments(wanted: GrepInput) -> tuple[str, ...]:
    before, after = _context(wanted)
    content = (f"--before-context={before}", f"--after-context={after}") if wanted.output_mode == "content" else ()
    return (
        *RECORDS[wanted.output_mode].options,
        "--sort=path",
        *content,
        *(("--ignore-case",) if wanted.ignore_case else ()),
        *(("--multiline", "--multiline-dotall") if wanted.multiline else ()),
        *((f"--type={wanted.type}",) if wanted.type else ()),
        *((f"--glob={wanted.glob}",) if wanted.glob else ()),
        f"--regexp={wanted.pattern}",
    )


def _context(wanted: GrepInput) -> tuple[int, int]:
    around = wanted.around if wanted.around is not None else wanted.context or 0
    before = around if wanted.before is None else wanted.before
    after = around if wanted.after is None else wanted.after
    return before, after


def _refusal(wanted: GrepInput) -> str | None:
    texts = (wanted.pattern, wanted.glob or "", wanted.type or "")
    if any("\0" in text for text in texts):
        return "The pattern holds a NUL character, which cannot be searched for."
    if any(len(text) > MAX_PATTERN for text in texts):
        return f"The pattern is longer than {MAX_PATTERN:,} characters."
    if min(*_context(wanted), wanted.head_limit, wanted.offset) < 0:
        return "Numbers of lines must not be negative."
    return None


def _place(target: Target) -> Place | Problem:
    if is_directory(target.real):
        return Place(target.real, "./")
    if is_regular_file(target.real):
        return Place(str(Path(target.real).parent), f"./{Path(target.real).name}")
    reason = "is neither a file nor a directory" if os.path.lexists(target.path) else "does not exist"
    return Problem(f"{target.path!r} {reason}.")


def _answer(call: ToolCall, wanted: GrepInput, found: Collector, end: SearchEnd) -> ToolOutcome:
    notes = list(end.notes)
    if found.is_cut:
        shown = sum(line != "--" for line in found.lines)
        notes.insert(0, f"[Cut after {shown}. Go on with offset={wanted.offset + shown}, or narrow the search.]")
    if end.error:
        notes.append(f"[Not everything could be searched: {end.error.splitlines()[0]}]")
    text = "\n".join(found.lines)
    structured: dict[str, Any] = {
        "mode": wanted.output_mode,
        "numFiles": len(found.files),
        "filenames": list(found.files),
        "appliedLimit": wanted.head_limit if found.is_cut else None,
        "appliedOffset": wanted.offset or None,
    }
    if wanted.output_mode != "files_with_matches":
        structured |= {"content": text, "numLines": len(found.lines), "numMatches": found.matches}
    is_content = wanted.output_mode == "content"
    summary = counted(len(found.lines), "line") if is_content else counted(len(found.files), "file")
    return done(
        call,
        "\n".join((text or "No matches found.", *notes)),
        display=f"{display_call(call)}: {summary}",
        structured={key: value for key, value in structured.items() if value is not None},
    )
