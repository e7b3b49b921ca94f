"""Plain statements of two files that pull in different directions: a hint to look, never a verdict (R116).

Decides what counts as a plain statement (one short line that says what to do or not to do) and when two of them clash: the same thing wanted
and not wanted, or two things of which people pick one. Resolves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from .loaded import LoadedFile

_LONGEST = 160
_NEVER = re.compile(
    r"\b(?:never|don't|do not|avoid|must not|should not|shouldn't|no longer|without)\b\s*", re.IGNORECASE
)
_ALWAYS = re.compile(
    r"^(?:(?:please|always|must|should|we|you|prefer|use|do|using|to|the|a|an|all|only)\s+)+", re.IGNORECASE
)
_VERB = re.compile(r"\b(?:use|prefer|write|indent|format|run|install|test)\b", re.IGNORECASE)
_MARKUP = re.compile(r"[*_`]+|^[\s>#*+-]*(?:\d+[.)]\s*)?(?:\[[ xX]\]\s*)?")

CHOICES: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split(","))
    for line in (
        "tabs,spaces",
        "single quotes,double quotes",
        "npm,yarn,pnpm,bun",
        "pip,poetry,uv,pipenv,conda",
        "jest,vitest,mocha",
        "pytest,unittest",
        "black,ruff format,yapf",
        "camelcase,snake_case,kebab-case",
        "squash,rebase,merge commits",
        "2 spaces,4 spaces,8 spaces,two spaces,four spaces",
    )
)
"""Things of which one excludes the others."""


class Statement(Struct, frozen=True, kw_only=True):
    """One line that says what to do. `core` is what it speaks of, in lower case; `wanted` false for a line that forbids it."""

    path: str
    line: int
    text: str
    core: str
    wanted: bool


class Contradiction(Struct, frozen=True, kw_only=True):
    one: Statement
    other: Statement
    about: str


def find_contradictions(files: Iterable[LoadedFile]) -> tuple[Contradiction, ...]:
    """Pairs of statements of two different files, in the order of the files."""
    statements = [statement for loaded in files for statement in plain_statements(loaded)]
    by_core: dict[str, list[Statement]] = {}
    for statement in statements:
        by_core.setdefault(statement.core, []).append(statement)
    opposed = [
        Contradiction(one=one, other=other, about=core)
        for core, said in by_core.items()
        for one, other in _pairs(said)
        if one.wanted is not other.wanted
    ]
    return (*opposed, *_choices(statements))


def plain_statements(loaded: LoadedFile) -> Iterator[Statement]:
    """The plain statements of a file; lines in fenced blocks are none."""
    fenced = False
    for piece in loaded.pieces:
        for offset, row in enumerate(piece.text.split("\n")):
            fenced ^= row.lstrip().startswith(("```", "~~~"))
            text = _MARKUP.sub("", row).strip().rstrip(".!")
            if fenced or not text or len(text) > _LONGEST or not (_VERB.search(text) or _NEVER.search(text)):
                continue
            positive = _NEVER.sub("", text)
            core = _ALWAYS.sub("", positive).strip().lower()
            if core:
                yield Statement(
                    path=loaded.file.path, line=piece.line + offset, text=text, core=core, wanted=positive == text
                )


def _choices(statements: Sequence[Statement]) -> Iterator[Contradiction]:
    for group in CHOICES:
        patterns = {name: re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") for name in group}
        picks: list[tuple[str, Statement]] = []
        for statement in statements:
            named = [name for name, pattern in patterns.items() if statement.wanted and pattern.search(statement.core)]
            # A line that names two of them compares them, and picks none.
            if len(named) == 1:
                picks.append((named[0], statement))
        first: dict[str, Statement] = {}
        for name, statement in picks:
            first.setdefault(name, statement)
        for one, other in _pairs(list(first.values())):
            yield Contradiction(one=one, other=other, about=" or ".join(sorted(first)))


def _pairs(statements: Sequence[Statement]) -> Iterator[tuple[Statement, Statement]]:
    """Each later statement with the first of another file before it."""
    for place, other in enumerate(statements):
        one = next((one for one in statements[:place] if one.path != other.path), None)
        if one is not None:
            yield one, other
