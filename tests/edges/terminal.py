"""A real terminal for a test: a pseudo-terminal with the program in it, and what a person would see on the screen."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pyte

from tests.cli.program import command_line, environment

SECONDS = 40.0
"""No more than a limit: what is waited for mostly comes at once."""


class Terminal:
    """`compositor` in a terminal of `columns` times `rows`."""

    def __init__(
        self, *arguments: str, cwd: Path, home: Path, columns: int = 100, rows: int = 40, **changes: str
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=2_000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.bytes = b""
        program, *words = command_line(*arguments)
        variables = {**environment(home, **changes), "TERM": "xterm-256color"}
        self.child: Any = pexpect.spawn(
            str(program),
            [str(word) for word in words],
            cwd=str(cwd),
            env=variables,
            dimensions=(rows, columns),
            timeout=SECONDS,
        )
        self.child.delaybeforesend = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.child.close(force=True)

    def text(self) -> str:
        """The screen, with what has scrolled out of it."""
        history = ["".join(line[at].data for at in range(self.screen.columns)) for line in self.screen.history.top]
        return "\n".join(line.rstrip() for line in [*history, *self.screen.display])

    def until(self, wanted: str | Callable[[str], bool], what: str = "") -> str:
        """Read until the screen shows something; the screen. Fails with the screen when it never does."""
        shows = wanted if callable(wanted) else lambda text: wanted in text
        limit = time.monotonic() + SECONDS
        while not shows(self.text()):
            assert time.monotonic() < limit, f"the screen never showed {what or wanted!r}:\n{self.text()}"
            try:
                piece = self.child.read_nonblocking(65_536, timeout=0.5)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                assert shows(self.text()), f"the program ended before {what or wanted!r}:\n{self.text()}"
                break
            self._take(piece)
        return self.text()

    def _take(self, piece: bytes) -> None:
        self.bytes += piece
        self._stream.feed(piece)
        # What a terminal answers when it is asked where its cursor stands.
        for _ in range(piece.count(b"\x1b[6n")):
            self.child.send(f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R")

    def type(self, text: str) -> None:
        self.child.send(text)

    def enter(self, text: str) -> None:
        """Type a line and send it."""
        self.child.send(text)
        self.until(lambda shown: text[-12:] in shown, f"the typed {text!r}")
        self.child.send("\r")

    def paste(self, text: str) -> None:
        self.child.send(f"\x1b[200~{text}\x1b[201~")

    def ended(self) -> int:
        """Wait for the end of the program; its exit code."""
        while True:
            try:
                self._take(self.child.read_nonblocking(65_536, timeout=SECONDS))
            except pexpect.EOF:
                break
        self.child.wait()
        return int(self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus)

    def picture(self, title: str) -> str:
        """The screen as SVG, with its colors."""
        return as_svg(self.screen, title)


_COLORS = {
    "default": "#d8dee9", "black": "#3b4252", "red": "#bf616a", "green": "#a3be8c", "brown": "#ebcb8b", "blue": "#81a1c1",
    "magenta": "#b48ead", "cyan": "#88c0d0", "white": "#e5e9f0", "brightblack": "#7b88a1",
}  # fmt: skip


def as_svg(screen: Any, title: str) -> str:
    """The cells of a screen as text of a picture, runs of one look together; empty lines at the end are left out."""
    rows = len(screen.display)
    while rows > 1 and not screen.display[rows - 1].strip():
        rows -= 1
    width, height = screen.columns * 8.4 + 24, rows * 18 + 48
    found = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{html.escape(title)}">',
        f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#2e3440"/>',
        f'<text x="12" y="22" fill="#7b88a1" font-family="monospace" font-size="13">{html.escape(title)}</text>',
    ]
    for row in range(rows):
        found += [
            f'<text x="{12 + at * 8.4:.1f}" y="{row * 18 + 46}" fill="{color}" font-family="monospace" font-size="14"'
            f'{" font-weight=" + chr(34) + "bold" + chr(34) if bold else ""} xml:space="preserve">{html.escape(text)}</text>'
            for at, text, color, bold in _runs(screen.buffer[row], screen.columns)
        ]
    return "\n".join([*found, "</svg>", ""])


def _runs(line: Any, columns: int) -> list[tuple[int, str, str, bool]]:
    runs: list[tuple[int, str, str, bool]] = []
    for at in range(columns):
        cell = line[at]
        look = (_COLORS.get(cell.fg, f"#{cell.fg}" if len(cell.fg) == 6 else _COLORS["default"]), cell.bold)
        if runs and runs[-1][2:] == look:
            start, text, *_ = runs[-1]
            runs[-1] = (start, text + cell.data, *look)
        else:
            runs.append((at, cell.data, *look))
    return [run for run in runs if run[1].strip()]
