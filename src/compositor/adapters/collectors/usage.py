"""Tells how much of the window and of the requests of a turn is used up, at a few steps only: each note costs tokens (R194).

Decides the steps. A step that was told is told again only after a compaction has made room.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment

USAGE, BUDGET = "token_usage", "budget"
STEPS = (50, 75, 90)
"""Hundredths of what there is."""


class Meter(Struct, frozen=True):
    """What is used of what there is; `total` 0 for no limit."""

    used: int
    total: int

    @property
    def step(self) -> int:
        """The highest step that was passed, 0 for none."""
        share = 100 * self.used // self.total if self.total else 0
        return max((step for step in STEPS if share >= step), default=0)


class UsageCollector:
    """`window` counts the tokens of the last request, `requests` those of the turn."""

    def __init__(self, window: Callable[[], Meter], requests: Callable[[], Meter]) -> None:
        self._window = window
        self._requests = requests

    async def collect(self, moment: Moment) -> Collected:
        window, requests = self._window(), self._requests()
        notes = (
            _note(USAGE, window, f"About {window.used:,} of {window.total:,} tokens of the window are in use.", moment),
            _note(BUDGET, requests, f"{requests.used} of {requests.total} requests of this turn are made.", moment),
        )
        return Collected(attachments=tuple(note for note in notes if note is not None))


def _note(kind: str, meter: Meter, text: str, moment: Moment) -> TextAttachment | None:
    told = next((note.name for note in reversed(moment.told) if note.kind == kind), "0")
    return TextAttachment(kind=kind, name=str(meter.step), text=text) if meter.step > int(told or 0) else None
