"""What files held before a session's tools changed them, by prompt: the way back (project-conventions 10.4).

Decides where contents are kept (by their hash, private, below the product's own folder), when (before the first change after a prompt) and
how they are put back. Knows the changes of file tools alone: what a shell command or another program did to a file is not in it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from compositor.adapters.files import FileBytes, FileProblem, digest_of, read_file, write_file
from compositor.adapters.home import open_private, private_folder, write_private
from compositor.errors import ConfigError
from compositor.ports import Clock
from compositor.types.diagnostics import Diagnostic

FOLDER = "file-history"
LONGEST = 100
"""Points kept for a session; older ones go."""

INDEX = "index.jsonl"


class Point(Struct, frozen=True, kw_only=True, tag="point"):
    """A moment to which files can be brought back. `id` is that of the prompt's entry; `about` says what else it is, where it is no prompt."""

    id: str
    time: str
    about: str = ""


class Kept(Struct, frozen=True, kw_only=True, tag="file"):
    """One file as it was at the point above it; `digest` is `None` where there was no file."""

    path: str
    digest: str | None
    mode: int = 0o644


class Change(Struct, frozen=True, kw_only=True):
    """What going back does to one file. `what`: restore, create, remove, or skip, and then `reason` says why."""

    path: str
    what: str
    reason: str = ""


_Record: TypeAlias = Point | Kept
_decode = msgspec.json.Decoder(_Record).decode


class FileHistory:
    """The file history of one session. `tell` hears of what could not be kept: nothing here stops a tool. Without `is_kept` nothing is."""

    def __init__(self, home: Path, session_id: str, clock: Clock, *, is_kept: bool = True) -> None:
        self._home = home
        self._session = session_id
        self._clock = clock
        self._is_kept = is_kept
        self.tell: Callable[[Diagnostic], None] = lambda _note: None
        self._current: Callable[[], str | None] = lambda: None

    def follow(self, current: Callable[[], str | None]) -> None:
        """`current` gives the entry of the prompt that is being worked on."""
        self._current = current

    @property
    def points(self) -> tuple[Point, ...]:
        """Oldest first."""
        return tuple(record for record in self._all() if isinstance(record, Point))

    def keep(self, paths: Iterable[str]) -> None:
        """Keep what these files hold, unless it was kept since the prompt. Symbolic and hard links are left out (project-conventions 10.4)."""
        point = self._current()
        if point is None or not self._is_kept:
            return
        try:
            self._keep(point, sorted({os.path.realpath(path) for path in paths}), "")
        except (OSError, ConfigError) as problem:
            self._say(f"What the files held before this change could not be kept: {problem}")

    def changes(self, points: Collection[str]) -> tuple[Change, ...]:
        """What `restore` would do, by file. Writes nothing."""
        return tuple(self._plan(kept) for kept in self._since(points))

    def restore(self, points: Collection[str]) -> tuple[Change, ...]:
        """Bring files back to what they held before the first of `points`: a prompt and all that came after it, which changed files or not.

        What they hold now is kept first, as a point of its own.

        Gives what was done; a file that could not be written is among it as skipped.
        """
        files = self._since(points)
        if files:
            now = self._clock.now()
            self._keep(f"restored-{now}", [kept.path for kept in files], "before files were brought back")
        return tuple(self._put_back(kept) for kept in files)

    def _plan(self, kept: Kept) -> Change:
        path = Path(kept.path)
        reason = _unfit(path)
        if reason:
            return Change(path=kept.path, what="skip", reason=reason)
        if kept.digest is None:
            return Change(path=kept.path, what="remove") if path.exists() else _same(kept.path)
        if self._read(kept.digest) is None:
            return Change(path=kept.path, what="skip", reason="its content is not kept any more")
        found = read_file(kept.path)
        if isinstance(found, FileProblem):
            if found.is_missing:
                return Change(path=kept.path, what="create")
            return Change(path=kept.path, what="skip", reason=found.message)
        return _same(kept.path) if found.digest == kept.digest else Change(path=kept.path, what="restore")

    def _put_back(self, kept: Kept) -> Change:
        planned = self._plan(kept)
        if planned.what == "skip":
            return planned
        try:
            if planned.what == "remove":
                Path(kept.path).unlink()
                return planned
            problem = self._write(kept)
        except OSError as error:
            problem = error.strerror or str(error)
        return planned if problem is None else Change(path=kept.path, what="skip", reason=problem)

    def _write(self, kept: Kept) -> str | None:
        found = read_file(kept.path)
        expected = found.stamp if isinstance(found, FileBytes) else None
        data = self._read(kept.digest or "")
        if data is None:
            return "its content is not kept any more"
        written = write_file(kept.path, data, expected)
        if isinstance(written, FileProblem):
            return written.message
        if expected is None:
            Path(kept.path).chmod(kept.mode)
        return None

    def _since(self, points: Collection[str]) -> tuple[Kept, ...]:
        """For each file the oldest content that was kept at the first of `points` or later."""
        found: dict[str, Kept] = {}
        begun = False
        for record in self._all():
            if isinstance(record, Point):
                begun = begun or record.id in points
            elif begun:
                found.setdefault(record.path, record)
        return tuple(found.values())

    def _keep(self, point: str, paths: Iterable[str], about: str) -> None:
        records = self._all()
        last = next((at for at in range(len(records) - 1, -1, -1) if isinstance(records[at], Point)), None)
        is_new = last is None or getattr(records[last], "id", "") != point
        known = set() if is_new or last is None else {one.path for one in records[last:] if isinstance(one, Kept)}
        kept = [one for path in paths if path not in known and (one := self._store(path)) is not None]
        if not kept:
            return
        begin = [Point(id=point, time=self._clock.now(), about=about)] if is_new else []
        self._append([*begin, *kept])

    def _store(self, path: str) -> Kept | None:
        """The content of a file, in the store before any record names it."""
        reason = _unfit(Path(path))
        found = read_file(path)
        if isinstance(found, FileProblem) and found.is_missing:
            return Kept(path=path, digest=None)
        if reason or isinstance(found, FileProblem):
            self._say(f"{path} is not kept before it changes: {reason or getattr(found, 'message', '')}")
            return None
        blob = self._folder() / found.digest
        if not blob.exists():
            write_private(blob, found.data)
        return Kept(path=path, digest=found.digest, mode=stat.S_IMODE(Path(path).stat().st_mode))

    def _say(self, text: str) -> None:
        self.tell(Diagnostic("checkpoints.kept", text, step="checkpoints"))

    def _append(self, records: list[_Record]) -> None:
        everything = [*self._all(), *records]
        points = [at for at, record in enumerate(everything) if isinstance(record, Point)]
        if len(points) > LONGEST:
            self._rewrite(everything[points[-LONGEST] :])
            return
        descriptor = open_private(self._folder() / INDEX, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, b"".join(msgspec.json.encode(record) + b"\n" for record in records))
        finally:
            os.close(descriptor)

    def _rewrite(self, records: list[_Record]) -> None:
        """Only these: contents that nothing names any more go with the records that named them."""
        write_private(self._folder() / INDEX, b"".join(msgspec.json.encode(record) + b"\n" for record in records))
        named = {record.digest for record in records if isinstance(record, Kept)}
        for file in self._folder().iterdir():
            if file.name != INDEX and file.name not in named:
                file.unlink(missing_ok=True)

    def _read(self, digest: str) -> bytes | None:
        try:
            data = (self._home / FOLDER / self._session / digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def _all(self) -> list[_Record]:
        # Not remembered: whoever goes back in a session has a history of the same files.
        return _load(self._home / FOLDER / self._session / INDEX)

    def _folder(self) -> Path:
        return private_folder(self._home, FOLDER, self._session)


def _load(index: Path) -> list[_Record]:
    """The records of an index. A damaged line costs only itself."""
    try:
        lines = index.read_bytes().split(b"\n")
    except OSError:
        return []
    found: list[_Record] = []
    for line in lines:
        try:
            found.append(_decode(line))
        except msgspec.MsgspecError:
            continue
    return found


def _unfit(path: Path) -> str:
    """Why a file has no history: what is reached by several names is not ours to bring back. Empty for one that has."""
    try:
        found = path.lstat()
    except OSError:
        return ""
    if stat.S_ISLNK(found.st_mode):
        return "it is a symbolic link"
    return "it has several names (hard links)" if stat.S_ISREG(found.st_mode) and found.st_nlink > 1 else ""


def _same(path: str) -> Change:
    return Change(path=path, what="skip", reason="it is as it was")
