"""What a person typed while a turn is under way.

Decides what of it may join the turn: plain text goes with the next request, the rest waits for a turn of its own, and so does all that was
typed behind it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class TypedAhead(Generic[T]):
    """First in, first out. `T` is whatever the face makes of a line; `text` what of it may be said at once."""

    def __init__(self) -> None:
        self._waiting: list[tuple[T, str | None]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, item: T, *, text: str | None) -> None:
        """Let `item` wait; it may join the turn under way as `text`, or not at all (`None`)."""
        self._waiting.append((item, text))

    def joining(self) -> tuple[str, ...]:
        """Take out the texts at the front that may join: nothing overtakes what was typed before it."""
        taken: list[str] = []
        while self._waiting and (text := self._waiting[0][1]) is not None:
            taken.append(text)
            del self._waiting[0]
        return tuple(taken)

    def next(self) -> T | None:
        """Take out what comes next; `None` when nothing waits."""
        return self._waiting.pop(0)[0] if self._waiting else None

    def take_back(self) -> T | None:
        """Take out what was typed last, so that it can be changed."""
        return self._waiting.pop()[0] if self._waiting else None
