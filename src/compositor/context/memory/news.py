"""Instruction files that enter while a session runs, as notes for its tail (R122, R124, R130).

Decides which of the files that apply were told already, and how the others are introduced. A file that the head holds is never told here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compositor.types.attachments import TextAttachment

from .labels import memory_text
from .loaded import LoadedFile
from .one_line import one_line

NESTED = "nested_memory"
UPDATE = "memory_update"


def told_paths(told: Iterable[TextAttachment]) -> tuple[str, ...]:
    """The files that entered while the session ran, by path, in the order in which they did."""
    return tuple(dict.fromkeys(note.path for note in told if note.kind == NESTED and note.path))


def nested_notes(files: Sequence[LoadedFile], told: Sequence[TextAttachment]) -> tuple[TextAttachment, ...]:
    """One note for each file that applies and was not told as it reads now, and for each that was told and applies no more."""
    last = {note.path: note.text for note in told if note.kind in {NESTED, UPDATE}}
    notes = [note for loaded in files if (note := _note(loaded, last.get(loaded.file.path))) is not None]
    now = {loaded.file.path for loaded in files}
    gone = [_gone(path) for path in told_paths(told) if path not in now]
    return (*notes, *(note for note in gone if last[note.path] != note.text))


def _note(loaded: LoadedFile, before: str | None) -> TextAttachment | None:
    file = loaded.file
    text = memory_text(file)
    if before is None:
        kind, text = NESTED, f"{_reason(loaded)}\n\n{text}"
    elif before.endswith(text):
        return None
    else:
        kind = UPDATE
        text = f"{file.path} has changed; what stands above is out of date. Now it reads:\n\n{text}"
    return TextAttachment(kind=kind, text=text, path=file.path, name=file.level.name.lower())


def _reason(loaded: LoadedFile) -> str:
    if loaded.trigger is not None:
        path, glob = loaded.trigger
        return f"A rule that applies from now on, since {one_line(path)} matches {glob!r}."
    if loaded.file.parent is not None:
        return "An instruction file that the one before it imports."
    return "Instructions for a folder that the work has reached."


def _gone(path: str) -> TextAttachment:
    return TextAttachment(
        kind=UPDATE, text=f"{path} does not apply any more; what was said of it above no longer holds.", path=path
    )
