"""Heads by content hash: one private file a head, written once, checked at each read (R424).

Decides nothing about what a head is. The name is the head's digest; a checksum inside the file tells whether the parts are
still those that were written.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec

from compositor.adapters.home import private_folder, sync_folder, write_private
from compositor.context.transcript.stored_head import decode_head, encode_head
from compositor.errors import TranscriptFormatError, UsageError
from compositor.types.request import Head, HeadParts


class HeadStore:
    """The heads below one home. Heads known to this process cost nothing to put again."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._known: set[str] = set()

    def put(self, head: Head, *, durable: bool = False) -> None:
        """Keep the parts of `head`. A damaged file of the same digest is replaced."""
        if head.digest in self._known:
            return
        path = self._path(head.digest)
        if not _is_sound(path, head.digest):
            parts = encode_head(head.parts)
            stored = _StoredHead(head.digest, _checksum(parts), msgspec.Raw(parts))
            private_folder(self._home, "heads")
            write_private(path, msgspec.json.encode(stored), durable=durable)
            if durable:
                sync_folder(self._home)
        self._known.add(head.digest)

    def get(self, digest: str) -> HeadParts | None:
        """The parts, or `None` when the head was never stored. Raises `TranscriptFormatError` when the file is damaged."""
        path = self._path(digest)
        try:
            return decode_head(_read(path, digest))
        except FileNotFoundError:
            return None
        except TranscriptFormatError as problem:
            raise TranscriptFormatError(
                problem.message,
                version=problem.version,
                where=str(path),
                hint="Without it the first request is compiled anew and not read from the cache",
            ) from problem

    def _path(self, digest: str) -> Path:
        if not re.fullmatch(r"[0-9a-f]{8,128}", digest):
            raise UsageError(f"{digest!r} is not the digest of a head")
        return self._home / "heads" / f"{digest}.json"


class _StoredHead(msgspec.Struct, frozen=True):
    digest: str
    sha256: str
    parts: msgspec.Raw


def _read(path: Path, digest: str) -> bytes:
    """The stored parts, checked against their checksum and name."""
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=_StoredHead)
    except msgspec.MsgspecError as problem:
        raise TranscriptFormatError(f"the stored head {digest[:12]!r} cannot be read: {problem}") from problem
    parts = bytes(stored.parts)
    if stored.digest != digest or stored.sha256 != _checksum(parts):
        raise TranscriptFormatError(f"the stored head {digest[:12]!r} is not what was written")
    return parts


def _is_sound(path: Path, digest: str) -> bool:
    try:
        _read(path, digest)
    except (FileNotFoundError, TranscriptFormatError):
        return False
    return True


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
