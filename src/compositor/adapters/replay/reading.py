"""Transcript files below the given paths, each replayed in one pass, or taken from what an earlier run kept.

Decides which files are transcripts and when a kept result still holds (same size, time of change and version). One file is in memory at a
time, as small values; a broken-off run goes on where it stopped, because each result is kept as soon as it is there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from compositor.adapters.home import private_folder, write_private
from compositor.config.price import Said
from compositor.context.transcript.load import TranscriptFormat, detect_format
from compositor.errors import TranscriptError
from compositor.insight.replay.breaks import find_breaks
from compositor.insight.replay.foreign import ForeignReplay
from compositor.insight.replay.own import OwnReplay
from compositor.insight.replay.rows import VERSION, Session

FIRST_LINES = 50
LONGEST = 32_000_000
"""Bytes of a line that are read at once: a longer one is counted as damaged, in pieces, so that memory stays bounded."""


class Replayed(Struct, frozen=True):
    """What became of one file: a session, or why there is none (`problem`, one clause). `kept`: from an earlier run."""

    path: str
    size: int
    session: Session | None
    kept: bool = False
    problem: str = ""


class _Kept(Struct, frozen=True):
    path: str
    size: int
    changed: int
    version: int
    session: Session


def find_transcripts(paths: Iterable[str]) -> list[tuple[Path, int]]:
    """Every `.jsonl` file at or below the paths with its size, each once, in a fixed order. Raises `TranscriptError` for a path that is not there."""
    found: dict[str, tuple[Path, int]] = {}
    for name in paths:
        top = Path(name).expanduser()
        if not top.exists():
            raise TranscriptError(f"there is nothing at {name!r}", hint="Name a transcript file or a folder of them")
        for path in [top] if top.is_file() else _below(top):
            try:
                found.setdefault(os.path.realpath(path), (path, path.stat().st_size))
            except OSError:
                found.setdefault(str(path), (path, 0))
    return [found[key] for key in sorted(found)]


def replay_files(files: Iterable[tuple[Path, int]], *, home: Path | None, said: Said) -> Iterator[Replayed]:
    """Each file in turn; a file that cannot be read is told, never raised. `home` keeps results, `None` keeps nothing."""
    for path, size in files:
        try:
            yield _replay_file(path, size, home, said)
        except OSError as problem:
            yield Replayed(str(path), size, None, problem=f"cannot be read: {problem.strerror or problem}")


def replay_file(path: Path) -> Session | None:
    """One file in one pass; `None` when it is no transcript."""
    with path.open("rb") as stream:
        lines = iter(lambda: stream.readline(LONGEST), b"")
        first = list(islice(lines, FIRST_LINES))
        kind = detect_format(first)
        if kind is None:
            return None
        replay = OwnReplay() if kind is TranscriptFormat.OWN else ForeignReplay()
        for line in first:
            replay.add(line)
        for line in lines:
            replay.add(line)
    return replay.finish(str(path))


def _replay_file(path: Path, size: int, home: Path | None, said: Said) -> Replayed:
    changed = path.stat().st_mtime_ns
    place = None if home is None else _place(home, path)
    session = None if place is None else _kept(place, str(path), size, changed)
    kept = session is not None
    if session is None:
        session = replay_file(path)
        if session is not None and place is not None:
            value = _Kept(str(path), size, changed, VERSION, session)
            write_private(place, msgspec.json.encode(value))
    if session is None:
        return Replayed(str(path), size, None, problem="is no transcript")
    # Prices may have changed since: breaks are found anew, which costs little.
    return Replayed(str(path), size, structs.replace(session, breaks=find_breaks(session.requests, said)), kept)


def _kept(place: Path, path: str, size: int, changed: int) -> Session | None:
    try:
        found = _decode(place.read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None
    same = (found.path, found.size, found.changed, found.version) == (path, size, changed, VERSION)
    return found.session if same else None


def _place(home: Path, path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    return private_folder(home, "replay") / f"{name}.json"


def _below(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            # A pipe of that name would never end.
            if name.endswith(".jsonl") and (Path(folder) / name).is_file():
                yield Path(folder) / name


_decode = msgspec.json.Decoder(_Kept).decode
