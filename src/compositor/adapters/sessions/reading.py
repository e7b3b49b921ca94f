"""Transcripts from disk, of either format, and where to find one.

Decides which file an id means. Reads only; the meaning of lines belongs to `context/transcript`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from compositor.adapters.home import project_key, session_files
from compositor.context.transcript.foreign import load_foreign
from compositor.context.transcript.history import History, history_of_outline, history_of_transcript
from compositor.context.transcript.load import Transcript, TranscriptFormat, detect_format, load_transcript
from compositor.context.transcript.outline import Outline, Place, outline_transcript
from compositor.errors import TranscriptError, TranscriptFormatError


def read_transcript(path: Path) -> Transcript:
    """The transcript in `path`, ours or of the Claude Code family.

    Raises `TranscriptError` when the file cannot be read, `TranscriptFormatError` when it is no transcript or of a later
    version.
    """
    with _place_in_errors(path), path.open("rb", buffering=_BUFFER) as file:
        foreign = _format(file) is TranscriptFormat.FOREIGN
        return load_foreign(file) if foreign else load_transcript(file)


def read_history(path: Path, leaf: str | None = None) -> History:
    """What a session goes on from: the path to `leaf`, or to where it stands. Raises what `read_transcript` raises.

    A file of ours is scanned once, and only its active path is decoded.
    """
    with _place_in_errors(path), path.open("rb", buffering=_BUFFER) as file:
        if _format(file) is TranscriptFormat.FOREIGN:
            return history_of_transcript(load_foreign(file), TranscriptFormat.FOREIGN, leaf)
        outline = outline_transcript(file)

        def read(place: Place) -> bytes:
            file.seek(place.offset)
            return file.read(place.size)

        return history_of_outline(outline, read, leaf)


def read_outline(path: Path) -> Outline:
    """Which records a session of ours holds and where. Raises what `read_transcript` raises."""
    with _place_in_errors(path), path.open("rb", buffering=_BUFFER) as file:
        if _format(file) is TranscriptFormat.FOREIGN:
            raise TranscriptFormatError(
                "the file is not a session of ours", hint="Go on with it once: run --resume FILE"
            )
        return outline_transcript(file)


@contextmanager
def _place_in_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except TranscriptFormatError as problem:
        place = str(path) if problem.line is None else f"{path}:{problem.line}"
        raise TranscriptFormatError(
            problem.message, line=problem.line, version=problem.version, where=place, hint=problem.hint
        ) from problem
    except OSError as problem:
        raise TranscriptError(f"a transcript cannot be read: {problem.strerror}", where=str(path)) from problem


def _format(file: IO[bytes]) -> TranscriptFormat:
    """The format of the file, which is then at its beginning again."""
    found = detect_format(list(islice(file, _FIRST_LINES)))
    if found is None:
        raise TranscriptFormatError("the file is not a transcript", hint="It holds no record of a known format")
    file.seek(0)
    return found


def find_transcript(home: Path, session: str, *, cwd: str) -> Path:
    """A transcript file by its path, or a session by its id as `find_session` finds it."""
    file = Path(session)
    return file if file.suffix == ".jsonl" and file.is_file() else find_session(home, session, cwd=cwd)


def find_session(home: Path, session_id: str, *, cwd: str) -> Path:
    """The file of a session, by its id or an unambiguous beginning of it: in the project of `cwd` first, then anywhere.

    Raises `TranscriptError` when there is none or more than one.
    """
    own = list(session_files(home, project_key(cwd)))
    every = list(session_files(home))
    for paths in (own, every):
        exact = [path for path in paths if path.stem == session_id]
        found = exact or [path for path in paths if session_id and path.stem.startswith(session_id)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(sorted(path.stem for path in found)[:5])
            raise TranscriptError(f"the session id {session_id!r} is ambiguous: {names}", hint="Give more of it")
    raise TranscriptError(f"there is no session {session_id!r}", hint="'compositor sessions --all' lists them")


_FIRST_LINES = 50
_BUFFER = 1 << 18
