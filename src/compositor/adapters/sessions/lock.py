"""One writer for each session: a lock file beside it that names its holder (F31).

Decides who may write. The lock is the kernel's and ends with its process, however that ends; the text in the file is only
for the message to the second one.
"""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

import msgspec

from compositor.adapters.home import open_private
from compositor.errors import SessionBusyError


class SessionLock:
    """A lock that is held from `take` to `release`."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, transcript: Path) -> SessionLock:
        """Lock the session stored in `transcript`. Raises `SessionBusyError` with the holder's name."""
        path = transcript.with_suffix(".lock")
        while True:
            descriptor = open_private(path, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _read_holder(descriptor)
                os.close(descriptor)
                raise SessionBusyError(
                    f"session {transcript.stem!r} is being written by {holder}",
                    holder=holder,
                    where=str(transcript),
                    hint="Wait for it to end, or go on in a copy: compositor sessions fork",
                ) from None
            if _is_current(path, descriptor):
                break
            # The holder before us removed the name between our open and our lock: what we locked is nobody's file.
            os.close(descriptor)
        _write_holder(descriptor)
        return cls(path, descriptor)

    def release(self) -> None:
        """Let others write. Does nothing the second time."""
        if self._descriptor < 0:
            return
        # The name goes first: whoever waits on the old file sees that it is gone and takes a new one.
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


def _is_current(path: Path, descriptor: int) -> bool:
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(descriptor))


def _write_holder(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, msgspec.json.encode({"pid": os.getpid(), "host": socket.gethostname()}), 0)


def _read_holder(descriptor: int) -> str:
    try:
        holder = msgspec.json.decode(os.pread(descriptor, 4096, 0), type=_Holder)
    except msgspec.MsgspecError:
        return "another process"
    return f"process {holder.pid} on {holder.host}"


class _Holder(msgspec.Struct, frozen=True):
    pid: int
    host: str
