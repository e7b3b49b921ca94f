"""What the model has seen of each file in this session.

Decides when a file counts as read: the whole of it, and unchanged since (R291, R295). Never reads a file itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

Ranges = tuple[tuple[int, int], ...]


class FileView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of one file as the model saw it.

    `path` is the real path, `digest` the sha256 hex of the bytes, `lines` how many lines it has, `seen` the line ranges (from 1,
    both ends included, merged and sorted) that were shown. `from_context` marks a file that came with the start of the session.
    """

    path: str
    digest: str
    mtime_ns: int
    lines: int
    seen: Ranges = ()
    from_context: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether every line was seen (R299)."""
        return self.lines == 0 or self.seen == ((1, self.lines),)


class _Seen(Struct, frozen=True):
    view: FileView


class FileTable:
    """Views by real path. One table serves all tools of a session; it is touched from the event loop only."""

    def __init__(self) -> None:
        self._views: dict[str, FileView] = {}

    def view(self, path: str) -> FileView | None:
        """The last view of the real path `path`."""
        return self._views.get(path)

    def views(self) -> tuple[FileView, ...]:
        """All views, in the order in which the files were first seen."""
        return tuple(self._views.values())

    def saw(self, view: FileView) -> FileView:
        """Record a view; ranges of the same content add up. Returns what is known now."""
        known = self._views.get(view.path)
        if known is not None and known.digest == view.digest:
            view = replace(view, seen=merge_ranges(known.seen + view.seen), from_context=known.from_context)
        self._views[view.path] = view
        return view

    def forget(self) -> None:
        """No file was seen: what was shown of them is no longer before the model."""
        self._views.clear()

    def seed(self, views: Iterable[FileView]) -> None:
        """Take over views from elsewhere: files loaded at the start (R120), or what a resumed session had seen."""
        for view in views:
            self.saw(view)

    def seed_outcomes(self, structured: Iterable[Raw]) -> None:
        """Take over the views that the structured results of earlier Read, Edit and Write calls hold, in their order."""
        for raw in structured:
            try:
                found = msgspec.json.decode(bytes(raw), type=_Seen)
            except msgspec.MsgspecError:
                continue
            self.saw(found.view)

    def refusal(self, path: str, digest: str) -> str | None:
        """Why the file at the real path `path`, whose bytes have `digest` now, may not be changed; `None` when it may."""
        view = self._views.get(path)
        if view is None:
            return "it has not been read yet. Read it first"
        if view.digest != digest:
            return "it has changed since it was read (by the user, a formatter or a command). Read it again first"
        if not view.is_whole:
            seen = ", ".join(f"{first}-{last}" for first, last in view.seen) or "none"
            return f"only a part of it has been read (lines {seen} of {view.lines}). Read the rest first"
        return None


def merge_ranges(ranges: Ranges) -> Ranges:
    """Ranges sorted, with those that overlap or touch made one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)
