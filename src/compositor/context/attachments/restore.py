"""What the stored attachments of a path mean when a session goes on: checked, counted, added up, told apart.

Decides by the rows of `table.py`, kind by kind (R337 to R344, R346). Side effects are never run again: everything here is read
off the records. Renders nothing.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from compositor.types.attachments import Attachment, TextAttachment, UnknownAttachment
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.entries import AttachmentEntry, TranscriptEntry
from compositor.types.json import raw_json

from .kinds import Dedup, Restore
from .table import guard_problem, kind_of

STEP = "restore"
DAMAGED = "restore.damaged"


class Repeat(enum.StrEnum):
    """What a reminder that looks like an earlier one is (R346)."""

    ONE_TIME_EVENT = "one-time event"
    RESTATED_STATE = "restated state"
    DELTA_REBUILD = "delta rebuild"
    FAILED_DEDUP = "failed dedup owner"


class Restored(Struct, frozen=True):
    """The entries that count, and what was left out or is worth a remark."""

    entries: tuple[TranscriptEntry, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def restore_attachments(entries: Sequence[TranscriptEntry]) -> Restored:
    """The path without broken records of guarded kinds (R337) and without obsolete ones; old ones get their path (R338).

    What was sent once is a typed note of our own: those are never touched.
    """
    kept: list[TranscriptEntry] = []
    notes: list[Diagnostic] = []
    for entry in entries:
        attachment = entry.attachment if isinstance(entry, AttachmentEntry) else None
        if not isinstance(entry, AttachmentEntry) or not isinstance(attachment, UnknownAttachment):
            kept.append(entry)
            continue
        problem = guard_problem(attachment.kind, attachment.raw)
        if problem is not None:
            message = f"A stored {attachment.kind!r} is damaged and left out: {problem}"
            notes.append(Diagnostic(DAMAGED, message, entry.uuid, step=STEP))
        elif kind_of(attachment.kind).restore is Restore.OBSOLETE:
            message = f"A stored {attachment.kind!r} is of a kind that is no longer used; it is left out"
            notes.append(Diagnostic("restore.obsolete", message, entry.uuid, Severity.INFO, STEP))
        else:
            kept.append(msgspec.structs.replace(entry, attachment=_with_display_path(attachment)))
    return Restored(tuple(kept), (*notes, *_repeat_notes(kept)))


def announced_names(entries: Iterable[TranscriptEntry], kind: str) -> frozenset[str]:
    """The names that the records of `kind` add up to: added ones in, removed ones out, in order (R342, R343)."""
    names: set[str] = set()
    for attachment in _of_kind(entries, kind):
        added, removed = _delta(attachment)
        names = (names | added) - removed
    return frozenset(names)


def delta(current: Iterable[str], announced: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is new and what is gone, each sorted: the current set against the history (R343)."""
    now = frozenset(current)
    return tuple(sorted(now - announced)), tuple(sorted(announced - now))


def turns_since(
    entries: Sequence[TranscriptEntry], kind: str, is_prompt: Callable[[TranscriptEntry], bool]
) -> int | None:
    """Prompts since the newest record of `kind`; `None` when there is none: each kind has its own counter (R344)."""
    turns = 0
    for entry in reversed(entries):
        if isinstance(entry, AttachmentEntry) and entry.attachment.kind == kind:
            return turns
        turns += is_prompt(entry)
    return None


def invoked_skills(entries: Iterable[TranscriptEntry]) -> Mapping[str, str]:
    """Name to text of every skill that was invoked, the newest text of each (R339); the newest invocation stands last."""
    found: dict[str, str] = {}
    for attachment in _of_kind(entries, "invoked_skills"):
        if isinstance(attachment, TextAttachment):
            # The first paragraph of such a note is the client's own.
            found.pop(attachment.name, None)
            found[attachment.name] = attachment.text.partition("\n\n")[2]
        skills = payload_of(attachment).get("skills")
        for skill in skills if isinstance(skills, list) else ():
            if isinstance(skill, dict) and isinstance(skill.get("name"), str):
                found[skill["name"]] = str(skill.get("content", ""))
    return found


def is_repetition(new: Attachment, before: Iterable[TranscriptEntry]) -> bool:
    """Whether `new` says nothing that its own kind did not say before (R340)."""
    row = kind_of(new.kind)
    earlier = list(_of_kind(before, new.kind))
    match row.dedup:
        case Dedup.NONE:
            return False
        case Dedup.CONTENT:
            return any(_identity(one) == _identity(new) for one in earlier)
        case Dedup.OWNER:
            last = next((one for one in reversed(earlier) if _owner(one) == _owner(new)), None)
            return last is not None and _identity(last) == _identity(new)
        case Dedup.NAMES:
            announced = announced_names(before, new.kind)
            added, removed = _delta(new)
            return bool(earlier) and added <= announced and not removed & announced


def classify_repeat(new: Attachment, before: Sequence[TranscriptEntry]) -> Repeat | None:
    """What `new` is beside the earlier records of its kind; `None` when it is the first (R346)."""
    if not any(True for _ in _of_kind(before, new.kind)):
        return None
    if is_repetition(new, before):
        return Repeat.FAILED_DEDUP
    match kind_of(new.kind).restore:
        case Restore.STATE | Restore.COUNTER:
            return Repeat.RESTATED_STATE
        case Restore.DELTA:
            return Repeat.DELTA_REBUILD
        case _:
            return Repeat.ONE_TIME_EVENT


def payload_of(attachment: Attachment) -> Mapping[str, Any]:
    """The fields of an attachment as plain data; empty for a payload that is no object."""
    if isinstance(attachment, UnknownAttachment):
        try:
            found = msgspec.json.decode(attachment.raw)
        except msgspec.MsgspecError:
            return {}
        return found if isinstance(found, dict) else {}
    fields: dict[str, Any] = msgspec.to_builtins(attachment)
    return fields


def _repeat_notes(entries: Sequence[TranscriptEntry]) -> list[Diagnostic]:
    """Each record that repeats its kind although the kind should have kept it from doing so."""
    notes = []
    for place, entry in enumerate(entries):
        if not isinstance(entry, AttachmentEntry) or kind_of(entry.attachment.kind).dedup is Dedup.NONE:
            continue
        if classify_repeat(entry.attachment, entries[:place]) is Repeat.FAILED_DEDUP:
            message = f"A {entry.attachment.kind!r} says again what was said before ({Repeat.FAILED_DEDUP.value})"
            notes.append(Diagnostic("restore.repeat", message, entry.uuid, Severity.INFO, STEP))
    return notes


def _of_kind(entries: Iterable[TranscriptEntry], kind: str) -> Iterable[Attachment]:
    return (
        entry.attachment for entry in entries if isinstance(entry, AttachmentEntry) and entry.attachment.kind == kind
    )


def _delta(attachment: Attachment) -> tuple[frozenset[str], frozenset[str]]:
    fields, (added, removed) = payload_of(attachment), kind_of(attachment.kind).names
    names = _names(fields, added)
    if added == "names" and not names:
        # Older listings hold their names only in the text, one a line.
        names = frozenset(_LISTED.findall(str(fields.get("content", ""))))
    return names, _names(fields, removed)


def _names(fields: Mapping[str, Any], field: str) -> frozenset[str]:
    found = fields.get(field) if field else None
    return frozenset(str(name) for name in found) if isinstance(found, list) else frozenset()


_LISTED = re.compile(r"^- ([^\s:]+(?::[^\s:]+)*):", re.MULTILINE)


def _identity(attachment: Attachment) -> object:
    """What two records share when they say the same: for a hook its event, name and words, else the whole payload."""
    fields = payload_of(attachment)
    if attachment.kind.startswith("hook_"):
        return {name: fields.get(name) for name in ("hookEvent", "hookName", "content")}
    return fields


def _owner(attachment: Attachment) -> tuple[object, object]:
    fields = payload_of(attachment)
    return fields.get("name"), fields.get("path")


def _with_display_path(attachment: UnknownAttachment) -> UnknownAttachment:
    fields = payload_of(attachment)
    path = fields.get("path", fields.get("filename"))
    if not isinstance(path, str) or "displayPath" in fields:
        return attachment
    return UnknownAttachment(kind=attachment.kind, raw=raw_json({**fields, "displayPath": path}))
