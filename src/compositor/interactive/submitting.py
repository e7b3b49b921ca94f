"""What a typed line means: a command, a shell line, an extension, or a prompt.

Decides by its first character. Runs nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import TypeAlias

from msgspec import Struct

from .pastes import Submission


class Command(Struct, frozen=True, kw_only=True):
    """A slash command of the table."""

    name: str
    argument: str = ""


class ShellLine(Struct, frozen=True):
    """A line that the person runs in the shell, behind `!`."""

    text: str


class Unknown(Struct, frozen=True):
    """A slash command that there is none of; `near` is what may have been meant."""

    name: str
    near: str


Typed: TypeAlias = Submission | Command | ShellLine | Unknown


def read_typed(submission: Submission, names: Collection[str], extensions: Collection[str]) -> Typed:
    """The meaning of a line.

    A path such as `/etc/hosts` is a prompt like any other text, and so is the name of an extension (a skill, a command file), which the
    agent invokes.
    """
    text = submission.typed.strip()
    if text.startswith("!") and text[1:].strip():
        return ShellLine(text[1:].strip())
    name, _, argument = text[1:].partition(" ")
    if not text.startswith("/") or not name or "/" in name or "\n" in name:
        return submission
    if name in names:
        return Command(name=name, argument=argument.strip())
    if name in extensions:
        return submission
    near = difflib.get_close_matches(name, [*names, *extensions], n=1)
    return Unknown(name, near[0] if near else "")
