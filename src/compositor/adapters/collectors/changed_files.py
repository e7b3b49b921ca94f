"""Looks whether files that the model saw whole were changed by somebody else, and hands over what changed, once a change (R299 to R306).

Performs the looking. A file is read again only when its stamp differs (R300), and only through the check that every way to its text passes (R301).
What is said of a change is decided in `context/freshness/changed.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace

from compositor.adapters.differences import differ
from compositor.adapters.files import FileBytes, FileProblem, read_file
from compositor.adapters.tools.images import is_image
from compositor.adapters.tools.text_files import decode_text
from compositor.context.freshness.changed import (
    TOUCHED,
    Changed,
    Edited,
    EditedImage,
    Gone,
    Replaced,
    Told,
    tell_changes,
)
from compositor.context.freshness.file_table import FileTable, FileView, Stamp
from compositor.types.collected import Collected, Moment
from compositor.types.diagnostics import Diagnostic, Severity

_SEARCHED_FOLDERS = 200


class Seen(Struct, frozen=True):
    """One file that differs: its view as it was, what became of it, and its view as it is; `None` when it is not looked after any more."""

    before: FileView
    change: Changed | None
    after: FileView | None


class ChangedFilesCollector:
    """`may_read` says whether a real path may be shown."""

    def __init__(self, table: FileTable, may_read: Callable[[str], bool], root: str) -> None:
        self._table = table
        self._may_read = may_read
        self._root = root
        self._head = _version_head(root)
        self._cleared = 0

    async def collect(self, moment: Moment) -> Collected:
        if moment.cleared > self._cleared:
            self._table.fade()
            self._cleared = moment.cleared
        stamps = self._table.stamps()
        if not stamps:
            return Collected()
        return await to_thread.run_sync(self.look, stamps, abandon_on_cancel=True)

    def look(self, stamps: Sequence[Stamp]) -> Collected:
        """What `collect` hands over, in the calling thread; the table changes once it is taken."""
        suspects = [stamp.path for stamp in differing(stamps)]
        if not suspects:
            return Collected()
        views = {stamp.path: self._table.view(stamp.path) for stamp in stamps}
        found = [self._compare(view) for path in suspects if (view := views[path]) is not None]
        moves = _find_moves([seen.before for seen in found if isinstance(seen.change, Gone)], views)
        changes = [_with_move(seen.change, moves) for seen in found if seen.change is not None]
        head = _version_head(self._root)
        told = tell_changes(changes, differ, cause=", as another commit was checked out" if head != self._head else "")
        touched = tuple(_touched(seen.before.path) for seen in found if seen.change is None and seen.after is not None)
        return Collected(attachments=told.notes, diagnostics=touched, taken=lambda: self._take(found, told, head))

    def _take(self, found: Sequence[Seen], told: Told, head: str) -> None:
        """From here on the files are known as they are now: each change is told once (R305)."""
        self._head = head
        for seen in found:
            path = seen.before.path
            if self._table.view(path) != seen.before:
                continue  # a tool has been at it since
            self._table.drop(path)
            if seen.after is not None:
                knows_all = seen.change is None or path in told.known or seen.after.is_media
                self._table.saw(seen.after if knows_all else replace(seen.after, seen=(), is_watched=True))

    def _compare(self, view: FileView) -> Seen:
        if not self._may_read(view.path):
            return Seen(view, None, None)
        found = read_file(view.path)
        if isinstance(found, FileProblem):
            return Seen(view, Gone(view.path) if found.is_missing else None, None)
        if found.digest == view.digest:
            return Seen(view, None, _restamped(view, found))
        if is_image(found.data):
            return Seen(view, EditedImage(view.path), replace(_restamped(view, found), digest=found.digest, text=None))
        text = decode_text(found.data)
        if text is None:
            return Seen(view, Replaced(view.path), None)
        lines = len(text.lines)
        after = replace(
            _restamped(view, found),
            digest=found.digest,
            lines=lines,
            seen=((1, lines),) if lines else (),
            text=text.text,
            is_shown=False,
            is_watched=False,
        )
        return Seen(view, Edited(path=view.path, before=view.text, after=text.text), after)


def differing(stamps: Iterable[Stamp]) -> list[Stamp]:
    """The files whose stamp is not what it was, or that cannot be looked at."""
    found = []
    stat = os.stat
    for stamp in stamps:
        try:
            now = stat(stamp.path)
        except OSError:
            found.append(stamp)
            continue
        if now.st_mtime_ns != stamp.mtime_ns or now.st_size != stamp.size or now.st_ino != stamp.inode:
            found.append(stamp)
    return found


def _touched(path: str) -> Diagnostic:
    message = "A file has another time and the same content; nothing is told of it"
    return Diagnostic(TOUCHED, message, path, Severity.INFO, "freshness")


def _restamped(view: FileView, found: FileBytes) -> FileView:
    stamp = found.stamp
    return replace(view, mtime_ns=stamp.mtime_ns, size=stamp.size, inode=stamp.inode)


def _find_moves(gone: Sequence[FileView], views: Iterable[str]) -> dict[str, str]:
    """Where files went that are not there any more: the same inode, in the folders where files were seen."""
    wanted = {view.inode: view.path for view in gone if view.inode}
    if not wanted:
        return {}
    moves: dict[str, str] = {}
    folders = dict.fromkeys(os.path.dirname(path) for path in (*wanted.values(), *views))  # noqa: PTH120  thousands of them
    for folder in list(folders)[:_SEARCHED_FOLDERS]:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        moves.update({wanted[entry.inode()]: entry.path for entry in entries if entry.inode() in wanted})
    return moves


def _with_move(change: Changed, moves: dict[str, str]) -> Changed:
    return Gone(change.path, moves.get(change.path, "")) if isinstance(change, Gone) else change


def _version_head(root: str) -> str:
    """What is checked out: tells a switch of branch from the work of a program. Empty where nobody knows."""
    try:
        head = Path(root, ".git", "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    name = head.removeprefix("ref: ")
    try:
        return f"{head} {Path(root, '.git', name).read_text(encoding='utf-8', errors='replace').strip()}"
    except OSError:
        return head
