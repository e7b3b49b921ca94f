"""One session as an append-only JSONL file (R149): the store that a running session writes to.

Decides what an acknowledgement means: when `append` returns, the whole batch is in the file and survives the death of the
process; with `durable` also a loss of power. Never rewrites a record and never interprets one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from compositor.adapters.home import open_private, private_folder, project_key, session_file, sync_folder
from compositor.context.transcript.codec import Damaged, SessionHeader, decode_line, encode_record
from compositor.context.transcript.raw import BLANK
from compositor.errors import TranscriptError, UsageError
from compositor.types.entries import ProgressEntry, TranscriptEntry
from compositor.types.journal import OutcomeRecord, SendRecord
from compositor.types.request import Head, HeadParts
from compositor.types.snapshot import PrefixEvent

from .heads import HeadStore
from .lock import SessionLock


class JsonlSession:
    """An open session; the only writer of its file. Implements `ports.SessionStore`.

    Nothing is written before the first record, so that a run that says nothing leaves nothing behind.
    """

    def __init__(
        self, path: Path, header: SessionHeader, heads: HeadStore, lock: SessionLock, *, durable: bool
    ) -> None:
        self._path = path
        self._header = header
        self._heads = heads
        self._lock = lock
        self._durable = durable
        self._descriptor = open_private(path, os.O_RDWR | os.O_APPEND)

    @classmethod
    def open(
        cls, home: Path, header: SessionHeader, *, durable: bool = False, folder: Path | None = None
    ) -> JsonlSession:
        """Open the session that `header` names, or begin it; in `folder` where it does not lie with the other sessions of its project.

        A torn tail is repaired first (F30). Raises `SessionBusyError` when another process writes it.
        """
        folder = folder or private_folder(home, "sessions", project_key(header.cwd))
        path = session_file(folder, header.session_id)
        lock = SessionLock.take(path)
        try:
            session = cls(path, header, HeadStore(home), lock, durable=durable)
        except BaseException:
            lock.release()
            raise
        try:
            session._repair_tail()
        except BaseException:
            session.close()
            raise
        return session

    @property
    def session_id(self) -> str:
        return self._header.session_id

    @property
    def path(self) -> str:
        return str(self._path)

    def append(self, records: Sequence[TranscriptEntry | SendRecord | OutcomeRecord | PrefixEvent]) -> None:
        """Write `records` in one piece; progress is not stored (R161).

        All or nothing: when the disk refuses a part, the file is what it was before, and `TranscriptError` is raised.
        """
        if self._descriptor < 0:
            raise UsageError(f"session {self.session_id!r} is closed")
        lines = [encode_record(record) for record in records if not isinstance(record, ProgressEntry)]
        if not lines:
            return
        # An interrupt may have ended the last write half-way.
        self._repair_tail()
        begins = self._size() == 0
        if begins:
            lines.insert(0, encode_record(self._header))
        self._write(b"".join(lines))
        if self._durable and begins:
            # The file's own name, and those of the folders that may be as new as it is.
            for folder in self._path.parents[:4]:
                sync_folder(folder)

    def put_head(self, head: Head) -> None:
        """Keep the parts of `head` under its digest; known ones cost nothing."""
        self._heads.put(head, durable=self._durable)

    def get_head(self, digest: str) -> HeadParts | None:
        """The parts of a stored head. Raises `TranscriptFormatError` when they are damaged."""
        return self._heads.get(digest)

    def close(self) -> None:
        """Let another process write. Does nothing the second time."""
        if self._descriptor < 0:
            return
        if self._size() == 0:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def _write(self, data: bytes) -> None:
        before = self._size()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            if self._durable:
                os.fsync(self._descriptor)
        except OSError as problem:
            os.ftruncate(self._descriptor, before)
            raise TranscriptError(
                f"session {self.session_id!r} cannot be written: {problem.strerror}",
                where=self.path,
                hint="Nothing of the last step was stored",
            ) from problem

    def _repair_tail(self) -> None:
        """Give a whole last record its line break; set an unfinished one aside in a file of its own."""
        size = self._size()
        if size == 0 or os.pread(self._descriptor, 1, size - 1) == b"\n":
            return
        start, tail = self._unended_line(size)
        if not isinstance(decode_line(tail), Damaged):
            self._write(b"\n")
            return
        if tail.strip(BLANK):
            self._set_aside(tail)
        os.ftruncate(self._descriptor, start)

    def _unended_line(self, size: int) -> tuple[int, bytes]:
        """Where the last line begins, and its bytes."""
        start, tail = size, b""
        while start > 0 and b"\n" not in tail:
            step = min(_STEP, start)
            start -= step
            tail = os.pread(self._descriptor, step, start) + tail
        cut = tail.rfind(b"\n") + 1
        return start + cut, tail[cut:]

    def _set_aside(self, fragment: bytes) -> None:
        descriptor = open_private(self._path.with_suffix(".torn"), os.O_WRONLY | os.O_APPEND)
        with os.fdopen(descriptor, "ab") as file:
            file.write(fragment + b"\n")
            file.flush()
            os.fsync(file.fileno())


_STEP = 1 << 16
