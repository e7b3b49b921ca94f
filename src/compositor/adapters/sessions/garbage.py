"""What nothing refers to any more: stored heads and contents that no session and no prompt names.

Decides what is garbage; a file that is younger than `GRACE` is none, since a writer stores a head before it names it. Never
touches a session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.adapters.content_store import FOLDER as CONTENTS
from compositor.adapters.home import session_files
from compositor.adapters.prompt_history import PromptHistory
from compositor.context.transcript.references import references
from compositor.errors import TranscriptError

GRACE = 3600.0
"""Seconds for which a stored file is kept although nothing names it yet."""


class Garbage(Struct, frozen=True):
    """Files that nothing names, and their bytes in all."""

    paths: tuple[str, ...]
    size: int


def find_garbage(home: Path, *, now: float) -> Garbage:
    """The files to remove; `now` in seconds since 1970.

    Raises `TranscriptError` when a session holds a line that cannot be read: it might name any of them.
    """
    heads = {digest for path in session_files(home) for digest in _named_heads(path)}
    contents = {one.hash for prompt in PromptHistory(home).newest(_ALL) for one in references(prompt.draft)}
    found = [
        *_unnamed(home / "heads", {f"{digest}.json" for digest in heads}, now),
        *_unnamed(home / CONTENTS, contents, now),
    ]
    return Garbage(tuple(str(path) for path, _ in found), sum(size for _, size in found))


def remove_garbage(garbage: Garbage) -> None:
    """Remove the files; one that is gone already is no failure."""
    for path in garbage.paths:
        Path(path).unlink(missing_ok=True)


def _named_heads(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            whole = line.endswith(b"}\n") and b"\0" not in line
            if whole and b'"head_digest"' not in line:
                continue
            try:
                yield _decode_send(line).head_digest
            except (msgspec.MsgspecError, UnicodeDecodeError):
                raise TranscriptError(
                    "a session holds a line that cannot be read; it might name what would be removed",
                    where=f"{path}:{number}",
                    hint="'compositor sessions check' says more",
                ) from None


def _unnamed(folder: Path, named: Iterable[str], now: float) -> list[tuple[Path, int]]:
    found: list[tuple[Path, int]] = []
    with contextlib.suppress(FileNotFoundError):
        for path in sorted(folder.iterdir()):
            status = path.stat()
            if path.name not in named and now - status.st_mtime > GRACE:
                found.append((path, status.st_size))
    return found


class _Send(Struct, frozen=True):
    head_digest: str = ""


_ALL = 1 << 62
_decode_send = msgspec.json.Decoder(_Send).decode
