"""What is done to a stored session from outside a run: forking it, going back in it.

Decides how a copy comes about: line by line, so that nothing of a record is lost, and visible only when it is whole. The
source of a fork is never written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from compositor.adapters.home import open_private, private_folder, project_key, session_file, sync_folder
from compositor.context.messages.human import is_human_prompt
from compositor.context.transcript.codec import SessionHeader, encode_record
from compositor.context.transcript.graph import Path as ActivePath
from compositor.context.transcript.outline import Outline, Place, fill_path, outlined_path
from compositor.context.transcript.rewind import plan_before, plan_rewind, plan_uncompact, plan_undo, refuse_damaged
from compositor.errors import TranscriptError
from compositor.types.snapshot import PrefixEvent

from .jsonl import JsonlSession
from .reading import read_history, read_outline


def fork_session(home: Path, source: Path, header: SessionHeader, *, at: str | None = None) -> Path:
    """A session of its own that begins as a copy of `source` and goes on from entry `at`; the path of its file.

    Raises `TranscriptError` for a damaged source and an unknown entry.
    """
    outline = read_outline(source)
    refuse_damaged(outline)
    event = None if at is None else plan_rewind(outline, at)
    folder = private_folder(home, "sessions", project_key(header.cwd))
    path = session_file(folder, header.session_id)
    temporary = path.with_suffix(".copy")
    with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(encode_record(header))
        file.writelines(_lines(source))
        if event is not None:
            file.write(encode_record(event))
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync_folder(folder)
    return path


def rewind_session(home: Path, source: Path, *, to: str | None) -> PrefixEvent:
    """Go back to entry `to`, or take the last turn back; the event that was recorded.

    Raises `TranscriptError` for a damaged session, `SessionBusyError` while another process writes it.
    """
    if to is not None:
        return _change(home, source, lambda outline: plan_rewind(outline, to))
    return _change(home, source, lambda outline: plan_undo(outline, _path(outline, source), is_human_prompt))


def rewind_before(home: Path, source: Path, prompt: str) -> PrefixEvent:
    """Go back to where `prompt`, an entry of the conversation, had not been said yet. Raises like `rewind_session`."""
    return _change(home, source, lambda outline: plan_before(outline, _path(outline, source), prompt))


def undo_compaction(home: Path, source: Path) -> PrefixEvent:
    """Take the newest compaction back; what was said after it stays as a branch. Raises like `rewind_session`."""
    return _change(home, source, lambda outline: plan_uncompact(outline, _path(outline, source)))


def prompts_since(source: Path, entry: str | None) -> tuple[str, ...]:
    """The prompts of the conversation that come behind `entry`, or the last one for `None`: the points whose files go with them.

    Raises `TranscriptError` when the conversation as it stands does not hold `entry`.
    """
    entries = read_history(source).path.entries
    prompts = [one.uuid for one in entries if is_human_prompt(one)]
    if entry is None:
        return tuple(prompts[-1:])
    place = next((at for at, one in enumerate(entries) if one.uuid.startswith(entry)), None)
    if place is None:
        raise TranscriptError(
            f"the conversation does not hold the entry {entry!r}",
            hint="Files come back along the conversation as it stands",
        )
    return tuple(one.uuid for one in entries[place + 1 :] if one.uuid in prompts)


def _change(home: Path, source: Path, plan: Callable[[Outline], PrefixEvent]) -> PrefixEvent:
    outline = read_outline(source)
    header = outline.header or SessionHeader(session_id=source.stem, time="", cwd="")
    with JsonlSession.open(home, header) as session:
        # Again, now that nobody else writes.
        event = plan(read_outline(source))
        session.append([event])
    return event


def _path(outline: Outline, source: Path) -> ActivePath:
    with source.open("rb") as file:

        def read(place: Place) -> bytes:
            file.seek(place.offset)
            return file.read(place.size)

        return fill_path(outlined_path(outline), outline, read)


def _lines(source: Path) -> Iterator[bytes]:
    """Every whole line but those that name the session itself."""
    with source.open("rb") as file:
        for line in file:
            if line.endswith(b"\n") and not line.startswith(_HEADER):
                yield line


_HEADER = b'{"type":"session",'
