"""Mentions: what the `@...` of a prompt may mean (R184, F24).

Decides which words are mentions and how they are spelled; whether anything answers to one is found out elsewhere. The prompt stays as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

MAX_MENTIONS = 50
"""More in one prompt are not followed."""

# At the start, or behind a blank or an opening sign: what stands inside a word (an address of mail) is none.
_MENTION = re.compile(
    r"""(?:(?<=[\s(\[{<'"\u201c\u2018,;:])|^)@(?:"(?P<quoted>[^"\n]+)"(?P<behind>\S*)|(?P<bare>[^\s"@][^\s"]*))""",
    re.MULTILINE,
)
_RANGE = re.compile(r"(?:#L(?P<a>\d{1,9})(?:-L?(?P<b>\d{1,9}))?|:(?P<c>\d{1,9})(?:-(?P<d>\d{1,9}))?)$")
_CLOSING = ".,;:!?)]}>'\"\u201d\u2019\u2026"


class Reading(Struct, frozen=True):
    """One thing that a mention may mean: a name, and the lines of it where some are named; `last` 0 for one line open at its end."""

    name: str
    first: int = 0
    last: int = 0


class Mention(Struct, frozen=True):
    """One mention: as it was typed, and its readings, the most literal first. A quoted one must mean something."""

    typed: str
    readings: tuple[Reading, ...]
    is_quoted: bool = False


def find_mentions(prompt: str) -> tuple[Mention, ...]:
    """The mentions of a prompt in their order, each spelling once."""
    found: dict[str, Mention] = {}
    for match in _MENTION.finditer(prompt):
        mention = _quoted(match) if match["quoted"] else _bare(match["bare"])
        if mention is not None:
            found.setdefault(mention.typed, mention)
        if len(found) == MAX_MENTIONS:
            break
    return tuple(found.values())


def quote_mention(path: str) -> str:
    """The mention of a path as completion inserts it: in quotes where it could be cut otherwise."""
    plain = re.fullmatch(r"[\w./~+\-]+", path) and path[-1] not in _CLOSING
    return f"@{path}" if plain else f'@"{path}"'


def _quoted(match: re.Match[str]) -> Mention:
    name = match["quoted"]
    lines = _RANGE.match(match["behind"].rstrip(_CLOSING)) if match["behind"] else None
    typed = f'@"{name}"' + (lines[0] if lines else "")
    inside = tuple(_readings(name))
    return Mention(typed, (_lines(name, lines), *inside) if lines else inside, is_quoted=True)


def _bare(text: str) -> Mention | None:
    stripped = text.rstrip(_CLOSING)
    if not stripped:
        return None
    readings = [*_readings(stripped)]
    if stripped != text:
        readings.insert(0, Reading(text))
    return Mention(f"@{stripped}", tuple(readings))


def _readings(name: str) -> Iterator[Reading]:
    yield Reading(name)
    lines = _RANGE.search(name)
    if lines is not None and lines.start() > 0:
        yield _lines(name[: lines.start()], lines)


def _lines(name: str, found: re.Match[str]) -> Reading:
    first = int(found["a"] or found["c"])
    last = int(found["b"] or found["d"] or first)
    return Reading(name, max(1, min(first, last)), max(1, first, last))
