"""Transcripts from disk, of either format, and where to find one.

Decides which file an id means. Reads only; the meaning of lines belongs to `context/transcript`.
"""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import IO

from compositor.adapters.home import project_key, session_files
from compositor.context.transcript.foreign import load_foreign
from compositor.context.transcript.load import Transcript, TranscriptFormat, detect_format, load_transcript
from compositor.errors import TranscriptError, TranscriptFormatError


def read_transcript(path: Path) -> Transcript:
    """The transcript in `path`, ours or of the Claude Code family.

    Raises `TranscriptError` when the file cannot be read, `TranscriptFormatError` when it is no transcript or of a later
    version.
    """
    try:
        with path.open("rb") as file:
            return _load(file)
    except TranscriptFormatError as problem:
        place = str(path) if problem.line is None else f"{path}:{problem.line}"
        raise TranscriptFormatError(
            problem.message, line=problem.line, version=problem.version, where=place, hint=problem.hint
        ) from problem
    except OSError as problem:
        raise TranscriptError(f"a transcript cannot be read: {problem.strerror}", where=str(path)) from problem


def _load(file: IO[bytes]) -> Transcript:
    first = list(islice(file, _FIRST_LINES))
    lines = chain(first, file)
    match detect_format(first):
        case TranscriptFormat.OWN:
            return load_transcript(lines)
        case TranscriptFormat.FOREIGN:
            return load_foreign(lines)
        case None:
            raise TranscriptFormatError("the file is not a transcript", hint="It holds no record of a known format")


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
