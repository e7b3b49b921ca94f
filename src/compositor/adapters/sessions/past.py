"""Which stored conversation a run goes on from, and whether it goes on in that file or in a copy of it.

Decides what `--resume`, `--continue` and `--transcript` mean. A file that is not a session of this home is only read: what
is in it goes into a session of our own (R149). Writes nothing.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, structs

from compositor.adapters.home import project_key, session_file
from compositor.context.transcript.codec import SessionHeader
from compositor.context.transcript.history import History
from compositor.context.transcript.load import TranscriptFormat
from compositor.errors import TranscriptError
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.entries import TranscriptEntry

from .index import latest_session
from .reading import find_transcript, read_history, read_transcript


class Past(Struct, frozen=True, kw_only=True):
    """A stored conversation. `own` is the header of the session that goes on in its own file.

    `copied` are the entries that a session of our own begins with instead; empty where the file is only looked at.
    """

    history: History
    path: str
    own: SessionHeader | None = None
    copied: tuple[TranscriptEntry, ...] = ()


def find_past(home: Path, cwd: str, *, resume: str | None, continues: bool, transcript: str | None) -> Past | None:
    """The conversation that is asked for, `None` for a new one. Raises `TranscriptError` when it cannot be had."""
    if transcript is not None:
        return Past(history=read_history(Path(transcript)), path=transcript)
    if resume is not None:
        return _opened(home, cwd, find_transcript(home, resume, cwd=cwd))
    if not continues:
        return None
    newest = latest_session(home, cwd=cwd)
    if newest is None:
        raise TranscriptError("there is no session here to go on with", where=cwd, hint="Start one without --continue")
    return _opened(home, cwd, Path(newest.path))


def _opened(home: Path, cwd: str, path: Path) -> Past:
    history = read_history(path)
    # A session whose first line is damaged is still that session when it lies where it would be written.
    header = history.header or SessionHeader(session_id=path.stem, time="", cwd=cwd)
    own = (
        _is_named(path)
        and session_file(home / "sessions" / project_key(header.cwd), path.stem).resolve() == path.resolve()
    )
    if history.format is TranscriptFormat.OWN and own:
        return Past(history=history, path=str(path), own=header)
    transcript = read_transcript(path)
    return Past(
        history=structs.replace(
            history, diagnostics=(*history.diagnostics, *_copy_notes(path, len(transcript.sidechains)))
        ),
        path=str(path),
        copied=transcript.entries,
    )


def _is_named(path: Path) -> bool:
    return path.stem.replace("-", "").replace("_", "").isalnum()


def _copy_notes(path: Path, sidechains: int) -> tuple[Diagnostic, ...]:
    left = f"; {sidechains} entries of subagents stay there" if sidechains else ""
    message = f"The conversation is copied into a session of its own{left}. The file is not changed."
    return (Diagnostic("resume.copied", message, where=str(path), severity=Severity.INFO, step="resume"),)
