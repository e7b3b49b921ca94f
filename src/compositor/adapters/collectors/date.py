"""Tells that another day has begun: the date in the system prompt is that of the start of the session (R192).

Decides nothing but whether it was told.
"""

from __future__ import annotations

from collections.abc import Callable

from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment

KIND = "date_change"


class DateCollector:
    """`today` gives the local date, `YYYY-MM-DD`; `start` is the one that the head tells."""

    def __init__(self, today: Callable[[], str], start: str) -> None:
        self._today = today
        self._start = start

    async def collect(self, moment: Moment) -> Collected:
        last = next((note for note in reversed(moment.told) if note.kind == KIND), None)
        today = self._today()
        if today == self._start if last is None else today in last.text:
            return Collected()
        text = f"The date has changed: today is {today}. There is no need to speak of it."
        return Collected(attachments=(TextAttachment(kind=KIND, name=today, text=text),))
