"""Whole files, read without blocking and written in one step.

Decides how a file is opened (never a pipe or a device) and replaced (temporary file, then rename). Never decides whether it
may be touched: that is the enforcement line.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Default for the largest file that is read into memory."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class FileProblem(Struct, frozen=True):
    """Why a file could not be read or written: one sentence with the path in it. `is_missing`: there is nothing at the path."""

    message: str
    is_missing: bool = False


class FileStamp(Struct, frozen=True):
    """What tells two states of one path apart without reading: modification time in ns, size in bytes, inode."""

    mtime_ns: int
    size: int
    inode: int


class FileBytes(Struct, frozen=True, kw_only=True):
    """A whole file. `digest` is the sha256 hex of `data`."""

    path: str
    data: bytes
    stamp: FileStamp
    digest: str


def read_file(path: str, limit: int = MAX_FILE_BYTES) -> FileBytes | FileProblem:
    """The content of a regular file of at most `limit` bytes; links are followed. A pipe, device or folder is a problem."""
    try:
        # Looked at before it is opened: opening alone makes some devices act.
        refusal = _not_regular(path, Path(path).stat().st_mode)
        if refusal is not None:
            return refusal
        descriptor = os.open(path, _FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            refusal = _not_regular(path, found.st_mode)
            if refusal is not None:
                return refusal
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        return problem_of(error, "read", path)
    if len(data) > limit:
        return FileProblem(f"{path!r} is larger than {limit:,} bytes ({found.st_size:,})")
    return FileBytes(path=path, data=data, stamp=_stamp(found), digest=digest_of(data))


def write_file(path: str, data: bytes, expected: FileStamp | None) -> FileStamp | FileProblem:
    """Replace `path` by `data` in one step: afterwards it holds all of it or is what it was.

    `expected` is the state the decision to write was made on; `None` stands for a path that does not exist. Any other state is a
    problem. Missing folders are made. A link keeps pointing to its target, which is what changes; mode bits are kept.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f".compositor-{secrets.token_hex(8)}.tmp"
        with _removed_on_failure(temporary):
            _write_new(temporary, data, like=target if expected is not None else None)
            if _current_stamp(target) != expected:
                temporary.unlink()
                return FileProblem(f"{path!r} was changed by someone else a moment ago; nothing was written")
            temporary.replace(target)
        return _stamp(target.stat())
    except (OSError, ValueError) as error:
        return problem_of(error, "write", path)


def digest_of(data: bytes) -> str:
    """sha256 hex."""
    return hashlib.sha256(data).hexdigest()


def problem_of(error: OSError | ValueError, verb: str, path: str) -> FileProblem:
    """An error of the operating system as one sentence."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return FileProblem(f"Cannot {verb} {path!r}: {reason}", isinstance(error, FileNotFoundError))


def is_directory(path: str) -> bool:
    """Whether `path` is a folder, or a link to one. A path that cannot be followed is none; nothing is raised for it."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def is_regular_file(path: str) -> bool:
    """Whether `path` is a file with content, or a link to one; the same as `is_directory` otherwise."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def _mode(path: str) -> int | None:
    # Not Path.is_dir: that raises for a name that is too long.
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return None


def _stamp(found: os.stat_result) -> FileStamp:
    return FileStamp(found.st_mtime_ns, found.st_size, found.st_ino)


def _current_stamp(path: Path) -> FileStamp | None:
    try:
        return _stamp(path.stat())
    except FileNotFoundError:
        return None


def _not_regular(path: str, mode: int) -> FileProblem | None:
    if stat.S_ISREG(mode):
        return None
    kinds = {
        stat.S_IFDIR: "a directory",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFSOCK: "a socket",
    }
    return FileProblem(f"{path!r} is {kinds.get(stat.S_IFMT(mode), 'special')}, not a file")


def _write_new(temporary: Path, data: bytes, like: Path | None) -> None:
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        if like is not None:
            old = like.stat()
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        file.write(data)
        file.flush()
        os.fsync(descriptor)


@contextlib.contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
