"""What scrolls by above the prompt: answers, tools, differences, notes.

Decides how each of them looks at any width, with and without color, and for a program that reads the screen aloud. Nothing that comes from
outside can move the cursor or color the screen: control characters are taken out of every text.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from compositor.adapters.tools.output import clean_output

from .themes import Theme

NARROWEST = 20
"""Columns that are counted with, however narrow the terminal is."""

LONGEST_DIFF = 60
"""Lines of a difference that are shown; the rest is counted."""


class Screen:
    """Writes whole lines to standard output. `plain`: no frames, no marks that mean something only to the eye."""

    def __init__(self, theme: Theme, *, plain: bool = False) -> None:
        self.theme = theme
        self.plain = plain

    @property
    def width(self) -> int:
        return max(shutil.get_terminal_size().columns, NARROWEST)

    def rendered(self, *pieces: RenderableType) -> str:
        """The pieces as text of the terminal, one below the other."""
        console = Console(
            file=io.StringIO(),
            width=self.width,
            force_terminal=not self.theme.is_plain,
            color_system=None if self.theme.is_plain else "256",
            no_color=self.theme.is_plain,
            highlight=False,
            legacy_windows=False,
        )
        with console.capture() as captured:
            console.print(*pieces, sep="\n")
        return captured.get()

    def show(self, *pieces: RenderableType) -> None:
        sys.stdout.write(self.rendered(*pieces))
        sys.stdout.flush()

    def piece(self, text: str, style: str = "") -> Text:
        """Text of any origin as something that can be shown."""
        return Text(clean_output(text), style=style, overflow="fold")

    def line(self, text: str, style: str = "") -> None:
        """Text of any origin, as it is."""
        self.show(self.piece(text, style))

    def note(self, text: str) -> None:
        self.line(text, self.theme.muted)

    def warn(self, text: str) -> None:
        self.line(text, self.theme.warn)

    def error(self, text: str) -> None:
        self.line(text, self.theme.bad)

    def said(self, text: str, *, mark: str = "") -> None:
        """What the person typed, as it stands in the history."""
        sign = "you: " if self.plain else "> "
        self.line(f"\n{sign}{text}{f'   ({mark})' if mark else ''}", self.theme.person)

    def markdown(self, text: str) -> None:
        """A finished block of an answer."""
        text = clean_output(text)
        if self.plain:
            self.line(text.strip("\n"))
            return
        self.show(Markdown(text, code_theme=_code(self.theme), hyperlinks=False))

    def tool(self, text: str, *, allowed: bool, reason: str) -> None:
        """A call as it was judged; the reason where it was refused."""
        if self.plain:
            self.line(f"tool: {text}" if allowed else f"refused: {text}: {reason}")
            return
        mark, style = ("●", self.theme.good) if allowed else ("✗", self.theme.bad)
        words = Text(f"{mark} ", style=style)
        words.append(clean_output(text), style="" if allowed else self.theme.bad)
        self.show(words)
        if not allowed:
            self.below(reason)

    def below(self, text: str, style: str | None = None) -> None:
        """A remark that belongs to the line above it."""
        words = Text(clean_output(text), style=self.theme.muted if style is None else style)
        self.show(words if self.plain else Padding(words, (0, 0, 0, 2)))

    def diff(self, hunks: Sequence[dict[str, Any]]) -> None:
        """The hunks of an edit, with the numbers of their lines."""
        lines = list(_numbered(hunks))
        for mark, number, text in lines[:LONGEST_DIFF]:
            style = {"+": self.theme.good, "-": self.theme.bad}.get(mark, self.theme.muted)
            words = Text(f"{number:5} {mark} {clean_output(text)}", style=style, no_wrap=True, overflow="ellipsis")
            self.show(words if self.plain else Padding(words, (0, 0, 0, 2)))
        if len(lines) > LONGEST_DIFF:
            self.below(f"… {len(lines) - LONGEST_DIFF} more lines")


def _code(theme: Theme) -> str:
    return {"default": "ansi_dark"}.get(theme.code, theme.code)


def _numbered(hunks: Sequence[dict[str, Any]]) -> Iterable[tuple[str, int, str]]:
    """Each line with its mark and its number: of the old file for what goes, of the new one for the rest."""
    for hunk in hunks:
        old, new = int(hunk["oldStart"]), int(hunk["newStart"])
        for line in hunk["lines"]:
            mark, text = line[:1], line[1:]
            yield mark, old if mark == "-" else new, text
            old += mark != "+"
            new += mark != "-"
