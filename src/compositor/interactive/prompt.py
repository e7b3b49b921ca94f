"""The line that is typed, with what stands around it.

Decides how the lower end of the terminal is put together. Reads keys and nothing else; every text in it comes from the board and the status.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, to_formatted_text
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.patch_stdout import StdoutProxy
from prompt_toolkit.styles import Style

from .board import Board
from .screen import Screen

ESCAPE_SECONDS = 0.3
"""How long a lone Esc waits for the key that would make another of it."""

REDRAW_SECONDS = 0.05


class Prompt:
    """Reads one line after the other while everything else scrolls by above it. `status` gives the status line for a width."""

    def __init__(
        self,
        screen: Screen,
        board: Board,
        *,
        status: Callable[[int], str],
        keys: KeyBindings,
        history: History,
        completer: Completer,
    ) -> None:
        self._screen = screen
        self.board = board
        self._status = status
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            key_bindings=keys,
            history=history,
            completer=completer,
            complete_while_typing=Condition(lambda: not screen.plain),
            complete_in_thread=True,
            bottom_toolbar=None if screen.plain else self._toolbar,
            prompt_continuation=lambda _width, _number, _soft: "" if screen.plain else "  ",
            style=Style.from_dict({"bottom-toolbar": "noreverse", "bottom-toolbar.text": ""}),
            color_depth=ColorDepth.DEPTH_1_BIT if screen.theme.is_plain else None,
            erase_when_done=True,
            enable_open_in_editor=True,
            reserve_space_for_menu=0 if screen.plain else 4,
            refresh_interval=0 if screen.plain else 1.0,
        )
        self._session.app.timeoutlen = self._session.app.ttimeoutlen = ESCAPE_SECONDS
        self._session.app.min_redraw_interval = REDRAW_SECONDS
        board.changed = self._session.app.invalidate

    async def read(self) -> str:
        """The next line. Raises `EOFError` when the person is done."""
        return await self._session.prompt_async(handle_sigint=False)

    def leave(self) -> None:
        """End the reading that is under way as if the person were done."""
        if self._session.app.is_running:
            self._session.app.exit(exception=EOFError())

    @contextmanager
    def above(self) -> Iterator[None]:
        """Within it, what is written to standard output and error scrolls by above the line."""
        before = sys.stdout, sys.stderr
        with StdoutProxy(sleep_between_writes=REDRAW_SECONDS, raw=True) as proxy:
            sys.stdout = sys.stderr = proxy
            try:
                yield
            finally:
                sys.stdout, sys.stderr = before

    def _message(self) -> AnyFormattedText:
        board, screen = self.board, self._screen
        if screen.plain:
            return "answer: " if board.choice is not None or board.asks_text else "prompt: "
        above = ""
        if board.live:
            above += screen.rendered(screen.piece(board.live))
        if board.choice is not None:
            above += screen.rendered(*(screen.piece(line) for line in board.choice.lines))
            above += screen.rendered(*(screen.piece(f"  [{key}] {words}") for key, words in board.choice.keys.items()))
        elif board.activity:
            above += screen.rendered(screen.piece(board.activity, screen.theme.muted))
        return [*to_formatted_text(ANSI(above)), ("bold", "? " if board.asks_text or board.choice else "> ")]

    def _toolbar(self) -> AnyFormattedText:
        return [("", self._status(self._screen.width))]
