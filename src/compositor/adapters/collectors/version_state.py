"""Tells the state of version control at the tail, for sessions that keep it out of the system prompt (R091).

Decides nothing but whether it was told: the text is captured once a session, and told again when a history does not hold it or holds another one.
"""

from __future__ import annotations

import msgspec

from compositor.ports import Collected, Collector, Moment
from compositor.types.attachments import TextAttachment

KIND = "git_status"


class VersionStateCollector:
    """`others` collects everything else; `text` is the state when the session opened."""

    def __init__(self, others: Collector, text: str) -> None:
        self._others = others
        self._text = text

    async def collect(self, moment: Moment) -> Collected:
        found = await self._others.collect(moment)
        last = next((note for note in reversed(moment.told) if note.kind == KIND), None)
        if last is not None and last.text == self._text:
            return found
        note = TextAttachment(kind=KIND, text=self._text)
        return msgspec.structs.replace(found, attachments=(note, *found.attachments))
