"""The output of a command: kept whole in a file when it is long, cut for the model where it says so.

Decides limits, cuts and cleaning. Never runs anything.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

INLINE_CHARACTERS = 30_000
"""Output up to this length reaches the model as it is."""

PREVIEW_CHARACTERS = 4_000
"""Of a longer output: so much from its beginning and so much from its end."""

FILE_BYTES = 64 * 1024 * 1024
"""So much of a long output is kept in its file."""

KILL_BYTES = 5 * 1000**3
"""A command that writes more than this is stopped."""

# A character is at most four bytes, so what fits into the window in bytes may still be short enough in characters.
_WINDOW = 4 * INLINE_CHARACTERS

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colors, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # strings: titles, links
    r"|\x1b[ -/]*[0-~]?"  # short escapes
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Captured(Struct, frozen=True, kw_only=True):
    """Output as the model gets it. `path` names the file that holds all of it, when `text` does not; `size` counts bytes."""

    text: str
    size: int
    path: str | None = None
    lost: int = 0


class OutputCapture:
    """Takes the bytes of one command. Memory stays bounded; what does not fit goes to a file in `folder`."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self._name = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._file: BinaryIO | None = None

    def write(self, data: bytes) -> bool:
        """A sink for `run_process`. False when the command wrote so much that it has to be stopped."""
        if self._file is None and self._size + len(data) > _WINDOW:
            self._open()
        self._size += len(data)
        if self._file is None:
            self._head += data
            return True
        room = FILE_BYTES - self._file.tell()
        self._file.write(data[: max(0, room)])
        self._tail += data
        del self._tail[:-_WINDOW]
        return self._size <= KILL_BYTES

    def finish(self) -> Captured:
        """Close the file, if there is one, and give the text for the model."""
        if self._file is None:
            text = clean_output(bytes(self._head).decode("utf-8", "replace"))
            if len(text) <= INLINE_CHARACTERS:
                return Captured(text=text, size=self._size)
            self._tail = self._head
            self._open()
        path, kept = self._close()
        # A cut may fall inside a character; its rest is dropped rather than shown as damage.
        head = clean_output(bytes(self._head).decode("utf-8", "replace").removesuffix("\ufffd"))[:PREVIEW_CHARACTERS]
        tail = clean_output(bytes(self._tail).decode("utf-8", "replace").removeprefix("\ufffd"))[-PREVIEW_CHARACTERS:]
        lost = self._size - kept
        notice = f"[Output of {self._size:,} bytes, cut in the middle. {_where(path, lost)}]"
        return Captured(text=f"{head}\n{notice}\n{tail}", size=self._size, path=path, lost=lost)

    def discard(self) -> None:
        """Close the file without a result: the call was cancelled. What it holds stays for a person to look at."""
        if self._file is not None:
            self._file.close()

    def _open(self) -> None:
        Path(self._folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        path = Path(self._folder, f"{self._name}-{secrets.token_hex(4)}.txt")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(descriptor, "wb")
        self._path = str(path)
        self._file.write(self._head)

    def _close(self) -> tuple[str, int]:
        assert self._file is not None  # noqa: S101  # both callers have opened it
        kept = self._file.tell()
        self._file.close()
        return self._path, kept


def clean_output(text: str) -> str:
    """`text` without terminal control: escape sequences and control characters go, a carriage return becomes a line break."""
    text = text.replace("\r\n", "\n")
    text = _ANSI.sub("", text)
    return _CONTROLS.sub("", text.replace("\r", "\n"))


def _where(path: str, lost: int) -> str:
    if lost:
        return f"Its first {FILE_BYTES:,} bytes are in {path}: search it with Grep or read parts of it"
    return f"All of it is in {path}: search it with Grep or read parts of it"
