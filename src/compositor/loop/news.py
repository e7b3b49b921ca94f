"""What changed around a session while its head stays as recorded: pieces of two heads compared, and notes about them.

Decides what is one piece (a section, a memory file, the state of the repository, a tool), which changes the model is told
and in which words, and what it was told already: each piece is the owner of its notes (R340). Never changes a head.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from compositor.types.attachments import TextAttachment
from compositor.types.provenance import Source
from compositor.types.request import HeadParts


class Turn(enum.StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class Change(Struct, frozen=True, kw_only=True):
    """One piece of a head that is not what was recorded. `text` is what it reads now, empty when it is gone."""

    source: Source
    turn: Turn
    text: str = ""

    @property
    def place(self) -> str:
        return self.source.path or self.source.name

    def describe(self) -> str:
        """A sentence fragment, as in `memory '/p/CLAUDE.md' was changed`."""
        return f"{self.source.kind} {self.place!r} was {self.turn.value}"


def head_changes(recorded: HeadParts, planned: HeadParts) -> tuple[Change, ...]:
    """Piece by piece: what `planned` adds, changes and no longer has, in the order of its pieces."""
    before, now = _pieces(recorded), _pieces(planned)
    changes = []
    for owner, (source, text) in now.items():
        if owner not in before:
            changes.append(Change(source=source, turn=Turn.ADDED, text=text))
        elif before[owner][1] != text:
            changes.append(Change(source=source, turn=Turn.CHANGED, text=text))
    gone = (source for owner, (source, _) in before.items() if owner not in now)
    return (*changes, *(Change(source=source, turn=Turn.REMOVED) for source in gone))


def news_notes(changes: Sequence[Change], told: Iterable[TextAttachment]) -> tuple[TextAttachment, ...]:
    """A note for each change that the model can use and was not told; `told` are the notes of the path, oldest first.

    Tools are locked with the head, and the wording of the frame around instructions is no news.
    """
    last = {_owner(note): note for note in told}
    notes = [(change, note) for change in changes if (note := _note(change)) is not None]
    return tuple(note for change, note in notes if not _is_told(change.text, note, last.get(_owner(note))))


def back_notes(
    planned: HeadParts, changes: Sequence[Change], told: Iterable[TextAttachment]
) -> tuple[TextAttachment, ...]:
    """A note for each piece that is again as it was recorded, although the last thing told of it is another text."""
    changed = {_owner(note) for change in changes if (note := _note(change)) is not None}
    last = {_owner(note): note for note in told if note.kind in _KINDS}
    now = {(_kind(source), source.name, source.path): text for source, text in _pieces(planned).values()}
    back = [
        msgspec.structs.replace(note, text=_back(note))
        for owner, note in last.items()
        if owner not in changed and not _ends_with(note.text, now.get(owner, ""))
    ]
    return tuple(note for note in back if last[_owner(note)] != note)


def _is_told(text: str, note: TextAttachment, last: TextAttachment | None) -> bool:
    return last is not None and (last == note or _ends_with(last.text, text))


def _ends_with(note: str, text: str) -> bool:
    body = text.strip()
    return bool(body) and note.endswith(body)


_KINDS = ("memory_update", "section_update", "git_status")


def _owner(note: TextAttachment) -> tuple[str, str, str | None]:
    return note.kind, note.name, note.path


_Owner: TypeAlias = tuple[str, str, str | None]


def _pieces(parts: HeadParts) -> dict[_Owner, tuple[Source, str]]:
    found: dict[_Owner, tuple[Source, str]] = {}
    for fragment in (*(fragment for block in parts.system for fragment in block), *parts.context):
        source = fragment.origin.source
        owner = (source.kind, source.name, source.path)
        first, text = found.get(owner, (source, ""))
        found[owner] = (first, text + fragment.text)
    for tool in parts.tools:
        definition = tool.definition
        text = msgspec.json.encode((definition.description, definition.input_schema)).decode()
        found["tool", definition.name, None] = (Source("tool", definition.name), text)
    return found


def _back(note: TextAttachment) -> str:
    subject = _subject(note.kind, note.path or note.name)
    return f"{subject} is again as it stands at the beginning of this session; what was said of it since does not hold."


def _note(change: Change) -> TextAttachment | None:
    source = change.source
    kind = _kind(source)
    if kind is None:
        return None
    text = _worded(_subject(kind, source.path or source.name), change)
    return TextAttachment(kind=kind, text=text, path=source.path, name=source.name)


def _kind(source: Source) -> str | None:
    if source.kind == "context":
        return "git_status" if source.name == "git_status" else None
    return {"memory": "memory_update", "section": "section_update"}.get(source.kind)


def _subject(kind: str, place: str) -> str:
    match kind:
        case "memory_update":
            return f"The instruction file {place}"
        case "section_update":
            return f"The part {place!r} of the system prompt"
        case _:
            return "The state of the repository"


def _worded(subject: str, change: Change) -> str:
    match change.turn:
        case Turn.REMOVED:
            return f"{subject} is not there any more. What was said of it above no longer holds."
        case Turn.ADDED:
            return f"{subject} is new since this session was begun:\n\n{change.text.strip()}"
        case Turn.CHANGED:
            return (
                f"{subject} has changed since this session was begun. What stands above is out of date; "
                f"now it reads:\n\n{change.text.strip()}"
            )
