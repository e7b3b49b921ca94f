"""What stands between the scrolled text and the line that is typed: the end of an answer under way, and a question.

Decides how much of it is shown, so that the typed line always stays on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import anyio
from msgspec import Struct

LIVE_LINES = 8
"""Lines of an unfinished answer that are shown while it arrives."""


class Choice(Struct, frozen=True, kw_only=True):
    """A question that one key answers: `keys` gives for each key the words beside it. `otherwise` is the answer where nobody answers."""

    lines: tuple[str, ...]
    keys: Mapping[str, str]
    otherwise: str


class Board:
    """The state of that place. `changed` is called whenever it looks different."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.changed = changed
        self.live = ""
        self.activity = ""
        self.choice: Choice | None = None
        self.asks_text = False
        self._answer = ""
        self._answered = anyio.Event()
        self._turn = anyio.Lock()

    def shows(self, text: str) -> None:
        """The unfinished end of an answer."""
        self.live = "\n".join(text.rstrip("\n").split("\n")[-LIVE_LINES:])
        self.changed()

    def does(self, text: str) -> None:
        """What is going on, in a few words; empty for nothing."""
        self.activity = text
        self.changed()

    async def choose(self, choice: Choice) -> str:
        """The key that the person took. One question after the other."""
        async with self._turn:
            self.choice = choice
            try:
                return await self._wait() or choice.otherwise
            finally:
                self.choice = None
                self.changed()

    async def read(self) -> str:
        """What the person types as the answer to a question that has been shown."""
        async with self._turn:
            self.asks_text = True
            try:
                return await self._wait()
            finally:
                self.asks_text = False
                self.changed()

    def answer(self, text: str) -> None:
        """The person answered what is open."""
        self._answer = text
        self._answered.set()

    def close(self) -> None:
        """Nobody answers any more: what is open gets the answer of nobody."""
        self.answer("")

    async def _wait(self) -> str:
        self._answer, self._answered = "", anyio.Event()
        self.changed()
        await self._answered.wait()
        return self._answer
