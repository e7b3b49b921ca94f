"""The read state of a session, rebuilt from its path: which files the model saw last, and when (R345).

Decides what counts as seen (a read, write or edit that did not fail, or a note about the file) and which files have changed
since. Never looks at a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from compositor.types.attachments import DiffAttachment, FileAttachment, TextAttachment
from compositor.types.blocks import ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry

from .changed import EDITED, MOVED

_SEEING = {"Read": "file_path", "Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path"}


def seen_files(entries: Iterable[TranscriptEntry], cwd: str) -> dict[str, str]:
    """Absolute path to the time (ISO 8601, UTC) at which the model saw it last; `cwd` completes relative paths."""
    calls: dict[str, str] = {}
    seen: dict[str, str] = {}
    for entry in entries:
        match entry:
            case AssistantEntry():
                uses = (block for block in entry.content if isinstance(block, ToolUseBlock))
                calls |= {block.id: path for block in uses if (path := _path_of(block, cwd)) is not None}
            case UserEntry():
                results = (
                    block for block in entry.content if isinstance(block, ToolResultBlock) and not block.is_error
                )
                seen |= {calls[block.tool_use_id]: entry.time for block in results if block.tool_use_id in calls}
            case AttachmentEntry(attachment=TextAttachment(kind=kind, path=str(path), text=text)) if kind == EDITED:
                seen[path] = entry.time
                if text.startswith((_words(path, None), f"{path} {MOVED}")):
                    # Told to be gone: nothing more is to be said of it until it is read again.
                    del seen[path]
            case AttachmentEntry(attachment=DiffAttachment(path=path) | FileAttachment(kind="file", path=path)):
                seen[path] = entry.time
            case _:
                pass
    return seen


def changed_notes(seen: Mapping[str, str], modified: Mapping[str, str | None]) -> tuple[TextAttachment, ...]:
    """One note for each seen file that is newer than what was seen of it, or gone; in the order of `seen`.

    `modified` has the time of change of each file in the same form, `None` for one that is not there.
    """
    return tuple(
        TextAttachment(kind=EDITED, path=path, text=_words(path, modified[path]))
        for path, time in seen.items()
        if path in modified and _is_newer(modified[path], time)
    )


def _is_newer(modified: str | None, seen: str) -> bool:
    return modified is None or modified > seen


def _words(path: str, modified: str | None) -> str:
    if modified is None:
        return f"{path} is not there any more. What stands above is what it was."
    return f"{path} has changed since it was seen last in this session. Read it again before you rely on it."


class _Paths(Struct, frozen=True):
    file_path: str = ""
    notebook_path: str = ""


def _path_of(call: ToolUseBlock, cwd: str) -> str | None:
    field = _SEEING.get(call.name)
    if field is None:
        return None
    try:
        path: str = getattr(msgspec.json.decode(call.input, type=_Paths), field)
    except msgspec.MsgspecError:
        return None
    return str(PurePosixPath(cwd, path)) if path else None
