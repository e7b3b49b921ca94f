"""The list of sessions, from the head and the tail of each file.

Decides what a person sees of a session before it is opened. Reads at most `WINDOW` bytes at either end of a file, so that
a long session costs no more than a short one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from compositor.adapters.home import project_key, session_files
from compositor.context.transcript.codec import Damaged, Record, SessionHeader, decode_line
from compositor.types.blocks import TextBlock, ToolResultBlock
from compositor.types.entries import UserEntry

WINDOW = 1 << 17
"""Bytes read at either end of a session file."""


class SessionInfo(Struct, frozen=True, kw_only=True):
    """One session. Times are ISO 8601 in UTC, `size` in bytes.

    `prompt` is the first line a person typed, `turns` the number of prompts; `None` where the part of the file that was
    read does not tell.
    """

    session_id: str
    project: str
    path: str
    started: str
    updated: str
    prompt: str | None
    turns: int | None
    size: int


def list_sessions(home: Path, *, cwd: str | None = None) -> tuple[SessionInfo, ...]:
    """The sessions of the project `cwd`, or of all projects; newest first. Files that hold no record are left out."""
    paths = session_files(home, None if cwd is None else project_key(cwd))
    found = [info for path in paths if (info := _info(path)) is not None]
    return tuple(sorted(found, key=lambda info: (info.updated, info.session_id), reverse=True))


def latest_session(home: Path, *, cwd: str) -> SessionInfo | None:
    """The session of the project that was written last, or `None` (`--continue`)."""
    return next(iter(list_sessions(home, cwd=cwd)), None)


def _info(path: Path) -> SessionInfo | None:
    try:
        ends = _ends(path)
    except OSError:
        # Removed or closed to us since the folder was read: then there is nothing to list.
        return None
    first, last = _records(ends.head), _records(ends.tail)
    if not first and not last:
        return None
    header = next((record for record in first if isinstance(record, SessionHeader)), None)
    if not first and not last:
        return None
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
    )


def typed_prompt(record: Record) -> str | None:
    """The first line of what a person typed, or `None` when the record is something else."""
    if not isinstance(record, UserEntry) or record.is_meta:
        return None
    if any(isinstance(block, ToolResultBlock) for block in record.content):
        return None
    text = "\n".join(block.text for block in record.content if isinstance(block, TextBlock)).strip()
    return text.split("\n", 1)[0].strip()


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
