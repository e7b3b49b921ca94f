"""The output of a command: kept whole in a file when it is long, cut for the model where it says so.

Decides limits, cuts and cleaning. Never runs anything.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from msgspec import Struct

from compositor.context.tools.limits import Kept
from compositor.types.json import repair_text

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
    """Output as the model gets it. `path` names the file that holds the whole, when `text` does not; `size` counts bytes."""

    text: str
    size: int
    path: str | None = None


class OutputCapture:
    """Takes the bytes of one command. Memory stays bounded; what does not fit goes to a file in `folder`."""

    def __init__(self, folder: str, name: str) -> None:
        self._size = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._file = OutputFile(folder, name)

    def write(self, data: bytes) -> bool:
        """A sink for `run_process`. False when the command wrote so much that it has to be stopped."""
        if self._size <= _WINDOW < self._size + len(data):
            self._file.write(self._head)
        self._size += len(data)
        if self._size > _WINDOW:
            self._file.write(data)
        self._head += data[: _WINDOW - len(self._head)]
        self._tail += data
        del self._tail[:-_WINDOW]
        return self._size <= KILL_BYTES

    def finish(self) -> Captured:
        """The text for the model, and the file that was needed."""
        if self._size <= _WINDOW:
            text = clean_output(bytes(self._head).decode("utf-8", "replace"))
            if len(text) <= INLINE_CHARACTERS:
                return Captured(text=text, size=self._size)
            self._file.write(self._head)
        self.close()
        # A cut may fall inside a character; its rest is dropped rather than shown as damage.
        head = clean_output(bytes(self._head).decode("utf-8", "replace").rstrip("\ufffd"))[:PREVIEW_CHARACTERS]
        tail = clean_output(bytes(self._tail).decode("utf-8", "replace").lstrip("\ufffd"))[-PREVIEW_CHARACTERS:]
        notice = f"[Output of {self._size:,} bytes, cut in the middle. {self._file.describe(self._size)}]"
        return Captured(text=f"{head}\n{notice}\n{tail}", size=self._size, path=self._file.path)

    def close(self) -> None:
        """Close the file, if one was begun. What a cancelled call wrote stays for a person to look at."""
        self._file.close()


class OutputFile:
    """A private file for a long output. A full disk costs the rest of it, never the call."""

    def __init__(self, folder: str, name: str) -> None:
        safe = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]
        self._wanted = Path(folder, f"{safe}-{secrets.token_hex(4)}.txt")
        self._descriptor: int | None = None
        self._kept = 0
        self._failure: str | None = None

    @property
    def path(self) -> str | None:
        """Where it lies; `None` when nothing could be kept."""
        return str(self._wanted) if self._kept else None

    def write(self, data: bytes | bytearray) -> None:
        """Append `data`, up to the limit of the file."""
        rest = memoryview(data)[: FILE_BYTES - self._kept]
        try:
            while rest and self._failure is None:
                written = os.write(self._opened(), rest)
                self._kept += written
                rest = rest[written:]
        except OSError as error:
            self._failure = error.strerror or str(error)

    def close(self) -> None:
        """Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def describe(self, size: int) -> str:
        """Where an output of `size` bytes can be found, in words for the model."""
        how = "search it with Grep or read parts of it"
        if self._kept == size:
            return f"All of it is in {self._wanted}: {how}"
        reason = f" (the rest could not be kept: {self._failure})" if self._failure else ""
        if not self._kept:
            return f"The middle is lost{reason}"
        return f"Its first {self._kept:,} bytes are in {self._wanted}{reason}: {how}"

    def _opened(self) -> int:
        if self._descriptor is None:
            self._wanted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(self._wanted, flags, 0o600)
        return self._descriptor


def keep_text(folder: str, name: str, text: str) -> Kept:
    """Put the whole of a long text into a private file of its own."""
    data = repair_text(text).encode()
    file = OutputFile(folder, name)
    file.write(data)
    file.close()
    return Kept(path=file.path, described=file.describe(len(data)))


def clean_output(text: str) -> str:
    """`text` without terminal control: escape sequences and control characters go, a carriage return becomes a line break."""
    text = text.replace("\r\n", "\n")
    text = _ANSI.sub("", text)
    return _CONTROLS.sub("", text.replace("\r", "\n"))
