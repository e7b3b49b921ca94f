"""Cutting of what programs and models wrote: at a line end, and never unseen (R144, R145, F20).

Decides the limits and the words that mark a cut. A file that a person wrote by hand is never cut.
"""

from __future__ import annotations

from msgspec import Struct

INDEX_LINES = 200
"""Lines of an index that are loaded."""
INDEX_BYTES = 25_000
"""Bytes of an index that are loaded, if they come first."""
NOTE_CHARACTERS = 40_000
"""Characters of one note of team or automatic memory."""


class Cut(Struct, frozen=True, kw_only=True):
    """The text that is kept, with the mark of the cut; `missing` in bytes, 0 when nothing was cut. `lines` of the original are whole."""

    text: str
    missing: int = 0
    lines: int


def cut_index(text: str, path: str) -> Cut:
    """An index, whole or its beginning."""
    return _cut(text, path, min(_after_lines(text, INDEX_LINES), _after_bytes(text, INDEX_BYTES)))


def cut_note(text: str, path: str, size: int | None = None) -> Cut:
    """A note, whole or its beginning; `size` in bytes is what room there is besides the limit of one note."""
    end = min(len(text), NOTE_CHARACTERS)
    return _cut(text, path, end if size is None else min(end, _after_bytes(text, size)))


def _cut(text: str, path: str, end: int) -> Cut:
    if end >= len(text):
        return Cut(text=text, lines=text.count("\n") + 1)
    newline = text.rfind("\n", 0, end + 1)
    # One line that is longer than all there is room for ends in its middle, between two characters.
    kept = text[: newline if newline > 0 else end].rstrip("\n")
    missing = len(text.encode()) - len(kept.encode())
    mark = f"[Cut here: {missing:,} more bytes are in {path}. Read the file for the rest.]"
    return Cut(text=f"{kept}\n\n{mark}", missing=missing, lines=kept.count("\n") + 1)


def _after_lines(text: str, lines: int) -> int:
    place = -1
    for _ in range(lines):
        place = text.find("\n", place + 1)
        if place < 0:
            return len(text)
    return place


def _after_bytes(text: str, size: int) -> int:
    data = text.encode()
    return len(text) if len(data) <= size else len(data[:size].decode("utf-8", "ignore"))
