"""What the model has seen of each file in this session: one table, shared by the file tools and by whoever compiles a request (R287).

Decides when a file counts as read: the whole of it, and unchanged since (R291, R295), and what is kept of its text. Never reads a file itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

Ranges = tuple[tuple[int, int], ...]

MAX_FILES = 5_000
"""Files in the table; the one that was seen longest ago leaves first (R287)."""

MAX_BYTES = 25 * 1024 * 1024
"""Bytes of text kept in all (R287)."""

KEPT_BYTES = 4_096
"""A longer text is kept only where it is needed: for a file that was seen whole (R288)."""


class FileView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of one file as the model saw it.

    `path` is the real path, `digest` the sha256 hex of the bytes, `size` their number, `inode` 0 where nobody knows it, `lines` how many lines it
    has, `seen` the line ranges (from 1, both ends included, merged and sorted) that were shown: the coverage, explicitly (R299).
    `text` is the file's text where it is kept. `from_context` marks a file that came with the start of the session, `is_media` one that is no
    text. `is_shown`: a Read call's result still stands before the model. `is_watched`: a change is told although not all of it was seen.
    """

    path: str
    digest: str
    mtime_ns: int
    lines: int
    size: int = 0
    inode: int = 0
    seen: Ranges = ()
    text: str | None = None
    from_context: bool = False
    is_media: bool = False
    is_shown: bool = False
    is_watched: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether every line was seen (R299)."""
        return self.lines == 0 or self.seen == ((1, self.lines),)

    def covers(self, first: int, last: int) -> bool:
        """Whether these lines were seen."""
        return any(start <= first and last <= end for start, end in self.seen)


class Stamp(Struct, frozen=True):
    """What a look at a file is compared with: a file whose stamp is the same is not read (R300)."""

    path: str
    mtime_ns: int
    size: int
    inode: int


class _Seen(Struct, frozen=True):
    view: FileView


class FileTable:
    """Views by real path. One table serves all tools of a session; it is touched from the event loop only."""

    def __init__(self, *, max_files: int = MAX_FILES, max_bytes: int = MAX_BYTES) -> None:
        self._views: OrderedDict[str, FileView] = OrderedDict()
        self._max_files = max_files
        self._max_bytes = max_bytes
        self._bytes = 0
        self._stamps: tuple[Stamp, ...] | None = None

    def view(self, path: str) -> FileView | None:
        """The last view of the real path `path`."""
        return self._views.get(path)

    def views(self) -> tuple[FileView, ...]:
        """All views, the one seen longest ago first."""
        return tuple(self._views.values())

    def stamps(self) -> tuple[Stamp, ...]:
        """The files whose changes are told: seen whole, and none of those that the instructions' owner looks after (R299)."""
        if self._stamps is None:
            self._stamps = tuple(
                Stamp(view.path, view.mtime_ns, view.size, view.inode)
                for view in self._views.values()
                if (view.is_whole or view.is_watched) and not view.from_context
            )
        return self._stamps

    def saw(self, view: FileView) -> FileView:
        """Record a view; ranges of the same content add up. Returns what is known now."""
        known = self._views.pop(view.path, None)
        if known is not None:
            self._bytes -= _kept(known)
            if known.digest == view.digest:
                text = known.text if view.text is None else view.text
                seen = merge_ranges(known.seen + view.seen)
                view = replace(view, seen=seen, text=text, from_context=known.from_context)
        if view.text is not None and not view.is_whole and view.size > KEPT_BYTES:
            view = replace(view, text=None)
        self._views[view.path] = view
        self._bytes += _kept(view)
        self._shrink()
        self._stamps = None
        return view

    def forget(self) -> None:
        """No file was seen: what was shown of them is no longer before the model."""
        self._views.clear()
        self._bytes = 0
        self._stamps = None

    def drop(self, path: str) -> None:
        """This file was not seen."""
        known = self._views.pop(path, None)
        self._bytes -= 0 if known is None else _kept(known)
        self._stamps = None

    def fade(self) -> None:
        """Old results were taken out of the conversation: what was read counts as read, but may be asked for again."""
        for path, view in list(self._views.items()):
            self._views[path] = replace(view, is_shown=False)

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

    def _shrink(self) -> None:
        """Within both limits again. A text that is too long for the table alone leaves it; its view stays."""
        while len(self._views) > self._max_files or (self._bytes > self._max_bytes and len(self._views) > 1):
            _, gone = self._views.popitem(last=False)
            self._bytes -= _kept(gone)
        if self._bytes > self._max_bytes:
            path, view = self._views.popitem()
            self._views[path] = replace(view, text=None)
            self._bytes = 0


def view_record(view: FileView) -> dict[str, Any]:
    """A view as it stands in a structured result: without the text, which the session holds anyway."""
    record: dict[str, Any] = msgspec.to_builtins(replace(view, text=None, is_shown=False))
    return record


def merge_ranges(ranges: Ranges) -> Ranges:
    """Ranges sorted, with those that overlap or touch made one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)


def _kept(view: FileView) -> int:
    return 0 if view.text is None else view.size or len(view.text)
