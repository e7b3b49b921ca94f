"""Tells the state of version control at the tail, for sessions that keep it out of the system prompt (R091).

Decides nothing but whether it was told: the text is captured once a session, and told again when a history does not hold it or holds another one.
"""

from __future__ import annotations

from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment

KIND = "git_status"


class VersionStateCollector:
    """`text` is the state when the session opened."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def collect(self, moment: Moment) -> Collected:
        last = next((note for note in reversed(moment.told) if note.kind == KIND), None)
        if last is not None and last.text == self._text:
            return Collected()
        return Collected(attachments=(TextAttachment(kind=KIND, text=self._text),))
