"""What was spent today, by every session of this home together: one line an answer, in one private file a day.

Decides nothing. A line is appended at once, so that sessions side by side see each other; a torn one costs only itself.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from compositor.adapters.home import open_private, private_folder
from compositor.adapters.sessions.reading import read_transcript
from compositor.config.price import Said, priced
from compositor.loop.budget import Spent, add_spent, decode_spent, encode_spent, spent_by
from compositor.ports import Clock


class DaySpending:
    """The file of the day the clock says it is."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._home = home
        self._clock = clock
        self._path: Path | None = None
        self._offset = 0
        self._sum = Spent()

    def add(self, spent: Spent) -> None:
        """Append what an answer cost."""
        descriptor = open_private(self._file(), os.O_WRONLY | os.O_APPEND)
        with os.fdopen(descriptor, "ab") as file:
            file.write(encode_spent(spent) + b"\n")

    def today(self) -> Spent:
        """The sum so far; reads only what is new."""
        path = self._file()
        try:
            with path.open("rb") as file:
                file.seek(self._offset)
                whole, found, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return self._sum
        if found:
            self._offset += len(whole) + 1
        for line in whole.split(b"\n"):
            try:
                self._sum = add_spent(self._sum, decode_spent(line))
            except msgspec.MsgspecError:
                continue
        return self._sum

    def _file(self) -> Path:
        path = private_folder(self._home, "spending") / f"{self._clock.today()}.jsonl"
        if path != self._path:
            self._path, self._offset, self._sum = path, 0, Spent()
        return path


def spent_before(transcript: str, said: Said) -> Spent:
    """What a stored session has spent, from its whole journal; nothing for one that begins."""
    total = Spent()
    path = Path(transcript)
    if not path.exists() or not path.stat().st_size:
        return total
    for send in read_transcript(path).journal.paid:
        if send.usage is not None:
            total = add_spent(total, spent_by(send.usage, priced(send.record.options.model, said)))
    return total
