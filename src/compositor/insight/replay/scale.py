"""What the prompt of a recorded request must have held: the part that is not in the record, and the ratio of reported to estimated tokens.

Decides the reconstruction. The first request of a conversation teaches the size of tools and system prompt, which no transcript holds; each
answered one then corrects the ratio (`context/tokens.py`). So the first of a conversation is never judged by its own figure.
"""

from __future__ import annotations

from compositor.context.tokens import calibrate


class Scale:
    """Per session. `estimate` before `learn`, both in the order of the requests."""

    def __init__(self) -> None:
        self._heads: dict[int, int] = {}
        self._scales: dict[str, float] = {}

    def estimate(self, follows: int, position: int, messages: int, model: str) -> int | None:
        """The whole prompt in tokens; `None` where nothing has been learned about its head."""
        head = self._heads.get(follows)
        if head is None:
            return None
        self._heads[position] = head
        return round(head + self._scales.get(model, 1.0) * messages)

    def learn(self, position: int, messages: int, reported: int, model: str) -> None:
        """Take the reported prompt of a request."""
        scale = self._scales.get(model, 1.0)
        head = self._heads.setdefault(position, max(reported - round(scale * messages), 0))
        estimated = round(scale * messages)
        if estimated > _ENOUGH and reported > head:
            self._scales[model] = calibrate(scale, estimated, reported - head)


_ENOUGH = 2_000
"""Estimated tokens of messages below which the ratio says little."""
