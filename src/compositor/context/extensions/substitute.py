"""The body of a skill with its arguments in place, and the commands in it that have to be run first (project-conventions 5.4, 5.5).

Decides what stands for what, in one pass over the body as its author wrote it: neither an argument nor the output of a command is read
again, so neither can bring a command or a placeholder of its own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from .skills import Skill

_ARGUMENT = r"(?P<escape>\\)?\$(?:ARGUMENTS(?:\[(?P<index>\d+)\])?(?![A-Za-z0-9_])|(?P<number>\d+)(?![A-Za-z0-9_])|(?P<name>[A-Za-z_]\w*))"
_VARIABLE = r"\$\{(?P<variable>CLAUDE_[A-Z_]+)\}"
_PLAIN = re.compile(_VARIABLE)
_PLACE = re.compile(f"{_ARGUMENT}|{_VARIABLE}")
_COMMAND = re.compile(
    r"(?:^|(?<=[ \t]))!`(?P<inline>[^`\n]+)`|^```!\n(?P<block>.*?)\n```[ \t]*$", re.MULTILINE | re.DOTALL
)


class Command(Struct, frozen=True):
    """A command line whose output stands here."""

    line: str


Part: TypeAlias = str | Command


def fill_body(skill: Skill, arguments: str, variables: Mapping[str, str]) -> tuple[Part, ...]:
    """Texts and commands in order. `variables` holds what `${CLAUDE_...}` stands for; an unknown one stays as it is."""
    filling = _Filling(skill.arguments, arguments, variables)
    parts: list[Part] = []
    start = 0
    for found in _COMMAND.finditer(skill.body):
        parts += [
            filling.fill(skill.body[start : found.start()]),
            Command(filling.fill(found["inline"] or found["block"])),
        ]
        start = found.end()
    parts.append(filling.fill(skill.body[start:]))
    if arguments.strip() and not filling.used:
        parts.append(f"\n\nARGUMENTS: {arguments}")
    return tuple(part for part in parts if part != "")


def fill_variables(text: str, variables: Mapping[str, str]) -> str:
    """`text` with `${CLAUDE_...}` in place, and nothing else touched."""
    return _PLAIN.sub(lambda found: variables.get(found["variable"], found[0]), text)


def split_arguments(text: str) -> tuple[str, ...]:
    """Words with the quoting of a shell; a quote that is never closed leaves words between blanks."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


class _Filling:
    def __init__(self, names: Sequence[str], arguments: str, variables: Mapping[str, str]) -> None:
        self._names = names
        self._arguments = arguments
        self._words = split_arguments(arguments)
        self._variables = variables
        self.used = False

    def fill(self, text: str) -> str:
        return _PLACE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        variable, name = found["variable"], found["name"]
        if variable is not None:
            return self._variables.get(variable, found[0])
        if name is not None and name not in self._names:
            return found[0]
        if found["escape"]:
            return found[0][1:]
        self.used = True
        if name is not None:
            return self._word(self._names.index(name)) or ""
        number = found["index"] or found["number"]
        if number is None:
            return self._arguments
        word = self._word(int(number))
        return found[0] if word is None else word

    def _word(self, index: int) -> str | None:
        return self._words[index] if index < len(self._words) else None
