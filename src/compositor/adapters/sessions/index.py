"""The list of sessions, from an index that is rebuilt where it is stale.

Decides what a person sees of a session before it is opened. A file that is new or has changed is read at either end, at
most `WINDOW` bytes, so that a long session costs no more than a short one; of all others only the index is read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from compositor.adapters.home import project_key, session_folders, write_private
from compositor.context.messages.human import is_human_prompt
from compositor.context.transcript.codec import Damaged, Record, SessionHeader, decode_line
from compositor.types.attachments import QueuedInput
from compositor.types.blocks import TextBlock
from compositor.types.entries import AttachmentEntry, UserEntry

WINDOW = 1 << 17
"""Bytes read at either end of a session file."""

INDEX_NAME = ".index.json"
_VERSION = 2


class SessionInfo(Struct, frozen=True, kw_only=True):
    """One session. Times are ISO 8601 in UTC, `size` in bytes.

    `prompt` is the first line a person typed, `turns` the number of prompts; `None` where the part of the file that was
    read does not tell. `forked_from` is the session it began as a copy of.
    """

    session_id: str
    project: str
    path: str
    started: str
    updated: str
    prompt: str | None
    turns: int | None
    size: int
    forked_from: str | None = None


def list_sessions(home: Path, *, cwd: str | None = None) -> tuple[SessionInfo, ...]:
    """The sessions of the project `cwd`, or of all projects; newest first. Files that hold no record are left out."""
    folders = session_folders(home, None if cwd is None else project_key(cwd))
    found = [info for folder in folders for info in _folder(folder)]
    return tuple(sorted(found, key=lambda info: (info.updated, info.session_id), reverse=True))


def latest_session(home: Path, *, cwd: str) -> SessionInfo | None:
    """The session of the project that was written last, or `None` (`--continue`)."""
    return next(iter(list_sessions(home, cwd=cwd)), None)


class _Row(Struct, frozen=True):
    """What was found in a file of this size and time of change; `info` is `None` when it held no record."""

    size: int
    changed: int
    info: SessionInfo | None


class _Index(Struct, frozen=True):
    version: int
    rows: dict[str, _Row]


def _folder(folder: Path) -> list[SessionInfo]:
    known = _read_index(folder)
    rows = {entry.name: row for entry in _scan(folder) if (row := _row(entry, known.get(entry.name))) is not None}
    if rows != known:
        # A home that cannot be written is listed all the same.
        with contextlib.suppress(OSError):
            write_private(folder / INDEX_NAME, msgspec.json.encode(_Index(_VERSION, rows)))
    return [row.info for row in rows.values() if row.info is not None]


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if entry.name.endswith(".jsonl")), key=lambda one: one.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _row(entry: os.DirEntry[str], known: _Row | None) -> _Row | None:
    try:
        found = entry.stat()
        if known is not None and (known.size, known.changed) == (found.st_size, found.st_mtime_ns):
            return known
        return _Row(found.st_size, found.st_mtime_ns, _info(Path(entry.path)))
    except OSError:
        # Removed or closed to us since the folder was read: then there is nothing to list.
        return None


def _read_index(folder: Path) -> dict[str, _Row]:
    """The rows of the index; none where it is missing, damaged or of another version."""
    try:
        index = _decode_index((folder / INDEX_NAME).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return {}
    return index.rows if index.version == _VERSION else {}


def _info(path: Path) -> SessionInfo | None:
    ends = _ends(path)
    first, last = _records(ends.head), _records(ends.tail)
    if not first and not last:
        return None
    header = next((record for record in first if isinstance(record, SessionHeader)), None)
    prompts = [prompt for record in first if (prompt := typed_prompt(record)) is not None]
    times = [time for record in (*first, *last) if (time := getattr(record, "time", ""))]
    return SessionInfo(
        session_id=path.stem,
        project=header.cwd if header is not None else "",
        path=str(path),
        started=header.time if header is not None else min(times, default=""),
        updated=max(times, default=""),
        prompt=prompts[0] if prompts else None,
        turns=len(prompts) if ends.whole else None,
        size=ends.size,
        forked_from=header.forked_from if header is not None else None,
    )


def typed_prompt(record: Record) -> str | None:
    """The first line of what a person typed, or `None` when the record is something else."""
    if not isinstance(record, UserEntry | AttachmentEntry) or not is_human_prompt(record):
        return None
    return _text_of(record).strip().split("\n", 1)[0].strip()


def _text_of(entry: UserEntry | AttachmentEntry) -> str:
    if isinstance(entry, UserEntry):
        return "\n".join(block.text for block in entry.content if isinstance(block, TextBlock))
    return entry.attachment.text if isinstance(entry.attachment, QueuedInput) else ""


class _Ends(NamedTuple):
    """Whole lines from the beginning and from the end; `whole` when the first are the entire file."""

    size: int
    head: list[bytes]
    tail: list[bytes]
    whole: bool


def _ends(path: Path) -> _Ends:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= 2 * WINDOW:
            return _Ends(size, file.read().split(b"\n"), [], whole=True)
        head = file.read(WINDOW).split(b"\n")
        file.seek(size - WINDOW)
        tail = file.read().split(b"\n")
    return _Ends(size, head[:-1], tail[1:], whole=False)


def _records(lines: Iterable[bytes]) -> list[Record]:
    decoded = (decode_line(line) for line in lines if line)
    return [record for record in decoded if not isinstance(record, Damaged)]


_decode_index = msgspec.json.Decoder(_Index).decode
