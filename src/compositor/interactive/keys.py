"""What the keys do.

Decides which key does what, and when; what it means is the business of whoever gave the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from prompt_toolkit.application.current import get_app
from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from .board import Board

KEYS: Final[Mapping[str, str]] = {
    "Enter": "send; while a turn is under way: let it wait, or join the turn",
    "Alt-Enter, Ctrl-J, \\ Enter": "a new line",
    "Esc, Ctrl-C": "interrupt the turn; at rest Ctrl-C clears the line, twice it ends",
    "Ctrl-D": "end, where the line is empty",
    "Shift-Tab": "the next permission mode",
    "Up, Down": "earlier prompts; Up on an empty line takes back what waits",
    "Tab": "complete a command behind / or a file behind @",
    "Ctrl-V": "put the picture of the clipboard in",
    "Ctrl-R": "search earlier prompts",
    "Ctrl-X Ctrl-E": "write the prompt in $EDITOR",
}
"""For the help, in its order."""


class Does(Struct, frozen=True, kw_only=True):
    """What keys lead to. `interrupt` answers whether there was something to interrupt, `take_back` with the line that waited."""

    is_busy: Callable[[], bool]
    interrupt: Callable[[], bool]
    leave: Callable[[], None]
    take_back: Callable[[], str | None]
    next_mode: Callable[[], None]
    paste: Callable[[str], str]
    picture: Callable[[], str | None]


def make_keys(board: Board, does: Does) -> KeyBindings:
    """The bindings of the typed line."""
    keys = KeyBindings()
    asked = Condition(lambda: board.choice is not None)
    busy = Condition(does.is_busy)
    empty = Condition(lambda: not get_app().current_buffer.text)
    _bind_typing(keys, does, free=~asked)

    @keys.add(Keys.Any, filter=asked, eager=True)
    def _choose(event: KeyPressEvent) -> None:
        choice, key = board.choice, event.data.lower()
        if choice is not None and key in choice.keys:
            board.answer(key)

    @keys.add("c-c", filter=asked, eager=True)
    @keys.add("escape", filter=asked, eager=True)
    def _refuse(_event: KeyPressEvent) -> None:
        if board.choice is not None:
            board.answer(board.choice.otherwise)

    @keys.add("escape", filter=busy & ~asked)
    def _interrupt(_event: KeyPressEvent) -> None:
        does.interrupt()

    @keys.add("c-c", filter=~asked)
    def _stop(event: KeyPressEvent) -> None:
        if does.interrupt():
            return
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            does.leave()

    @keys.add("c-d", filter=empty & ~asked)
    def _end(event: KeyPressEvent) -> None:
        event.app.exit(exception=EOFError())

    @keys.add("up", filter=empty & busy & ~asked)
    def _take_back(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(does.take_back() or "")

    @keys.add("s-tab", filter=~asked)
    def _mode(event: KeyPressEvent) -> None:
        does.next_mode()
        event.app.invalidate()

    return keys


def _bind_typing(keys: KeyBindings, does: Does, *, free: Filter) -> None:
    @keys.add("enter", filter=free)
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.char_before_cursor == "\\":
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
            return
        buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=free)
    @keys.add("c-j", filter=free)
    def _line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste, filter=free)
    def _paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(does.paste(event.data))

    @keys.add("c-v", filter=free)
    def _picture(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(does.picture() or "")
