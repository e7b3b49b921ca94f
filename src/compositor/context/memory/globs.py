"""Globs over paths: what a pattern of a rule or of an exclusion means, and which patterns mean nothing.

Decides the language: `*`, `?`, `[...]` and `[!...]` inside a name, `**` for any number of folders, `{a,b}` and `{1..3}` for alternatives, a
backslash before a character that is meant. Names that begin with a dot match like all others; case counts. No pattern is slow, whoever
wrote it: stars never backtrack. Never looks at a file.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

MAX_PATTERNS = 1_000
"""Patterns that the braces of one file may expand to (project-conventions 1.3)."""
MAX_EXPANDED = 4 * 1024 * 1024
"""Characters of all of them together."""

Segment: TypeAlias = re.Pattern[str] | None
"""One name of a path; `None` is `**`."""


class Glob(Struct, frozen=True, kw_only=True):
    """One pattern as written. `problem` says why it means less than it looks like; with no `alternatives` it matches nothing."""

    text: str
    alternatives: tuple[tuple[Segment, ...], ...] = ()
    problem: str = ""

    def matches(self, names: Sequence[str]) -> bool:
        """Whether the path made of these names matches, from its first to its last."""
        return any(_matches(alternative, names) for alternative in self.alternatives)


@lru_cache(maxsize=1_024)
def compile_globs(texts: tuple[str, ...]) -> tuple[Glob, ...]:
    """The patterns of one file. Their braces share one budget; a pattern that would go over it stays unexpanded."""
    globs: list[Glob] = []
    patterns, size = MAX_PATTERNS, MAX_EXPANDED
    for text in texts:
        expanded = _expand(text, patterns, size)
        problem = "" if expanded else "its braces stand for too many patterns and are taken literally"
        expanded = expanded or (text,)
        patterns -= len(expanded)
        size -= sum(map(len, expanded))
        if any(map(_has_open_bracket, expanded)):
            globs.append(
                Glob(text=text, problem="a '[' is never closed; it matches nothing (write '\\[' for the character)")
            )
        else:
            globs.append(Glob(text=text, alternatives=tuple(map(_segments, expanded)), problem=problem))
    return tuple(globs)


def _expand(text: str, patterns: int, size: int) -> tuple[str, ...]:
    """The alternatives of `text`; nothing when they do not fit the budget."""
    if "{" not in text:
        return (text,)
    if patterns < 1:
        return ()
    import bracex

    try:
        expanded = tuple(bracex.expand(text, keep_escapes=True, limit=patterns))
    except (bracex.ExpansionLimitException, RecursionError):
        return ()
    return expanded if sum(map(len, expanded)) <= size else ()


_BRACKET = re.compile(r"\\.|\[(?:[!^]?\]?(?:\\.|[^\]\\])*\])|(?P<open>\[)", re.DOTALL)


def _has_open_bracket(pattern: str) -> bool:
    return any(found["open"] for found in _BRACKET.finditer(pattern))


def _segments(pattern: str) -> tuple[Segment, ...]:
    names = pattern.split("/")
    return tuple(None if name == "**" else re.compile(_regex(name)) for name in names)


_TOKEN = re.compile(r"\\(?P<escaped>.)|(?P<set>\[[!^]?\]?(?:\\.|[^\]\\])*\])|(?P<plain>.)", re.DOTALL)


def _regex(name: str) -> str:
    """The pattern of one name in the spelling that the standard library translates without backtracking."""
    parts: list[str] = []
    for found in _TOKEN.finditer(name):
        if found["escaped"]:
            parts.append(f"[{found['escaped']}]" if found["escaped"] in "*?[" else found["escaped"])
        elif found["set"]:
            negated = found["set"][1] in "!^"
            body = re.sub(r"\\(.)", r"\1", found["set"][2 if negated else 1 : -1])
            parts.append(f"[{'!' if negated else ''}{body}]")
        else:
            parts.append(found["plain"])
    return fnmatch.translate("".join(parts))


def _matches(segments: Sequence[Segment], names: Sequence[str]) -> bool:
    """Both from left to right; after a mismatch only the newest `**` takes one name more, so the work is bounded by the product."""
    at = name = 0
    resume: tuple[int, int] | None = None
    while name < len(names):
        segment = segments[at] if at < len(segments) else _NOTHING
        if segment is None:
            resume = (at, name)
            at += 1
            continue
        if segment.match(names[name]):
            at, name = at + 1, name + 1
        elif resume is not None:
            resume = (resume[0], resume[1] + 1)
            at, name = resume[0] + 1, resume[1]
        else:
            return False
    # What is left of the pattern must need no name; a closing `**` stands for at least one.
    rest = segments[at:]
    return not rest


_NOTHING = re.compile(r"(?!)")
