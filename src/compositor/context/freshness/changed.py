"""Files that somebody else changed, as notes for the tail (R299 to R306, F22).

Decides what is said of a change: the difference within the budget of its round, the bare fact beyond it, and one summary instead of a storm.
Never looks at a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

from msgspec import Struct

from compositor.types.attachments import Attachment, DiffAttachment, ListingAttachment, TextAttachment

EDITED = "edited_text_file"
EDITED_IMAGE = "edited_image_file"
MANY = "changed_files"
MOVED = "was moved to"

TOUCHED = "freshness.touched"
"""Code of the remark about a file that has another time and the same content (R302, R388)."""

SNIPPETS = 16_384
"""Characters of all differences of one round (R304)."""

STORM = 100
"""More changes than this at once are summed up: a branch was switched, a formatter ran over everything."""

TOO_LONG = f"the differences of this round are longer than {SNIPPETS:,} characters"

_FOLDERS = 40


class Difference(Struct, frozen=True):
    """Hunks of a unified diff as text, and how many lines went and came."""

    text: str
    removed: int
    added: int


class Edited(Struct, frozen=True, kw_only=True):
    """A text that is another one now. `before` is `None` where it was not kept."""

    path: str
    before: str | None
    after: str


class EditedImage(Struct, frozen=True):
    path: str


class Gone(Struct, frozen=True):
    """A file that is not there any more, or stands at `moved_to` now."""

    path: str
    moved_to: str = ""


class Replaced(Struct, frozen=True):
    """A file that became something that is no text."""

    path: str


Changed: TypeAlias = Edited | EditedImage | Gone | Replaced
Differ: TypeAlias = Callable[[str, str], Difference]


class Told(Struct, frozen=True):
    """Notes, and the paths of which the model knows all again: their difference was shown whole."""

    notes: tuple[Attachment, ...]
    known: frozenset[str] = frozenset()


def tell_changes(changes: Sequence[Changed], differ: Differ, *, cause: str = "") -> Told:
    """One note a change in the order of `changes`; one for all of them when they are a storm. `cause` is why, where that is known."""
    if len(changes) > STORM:
        return Told((_storm(changes, cause),))
    notes: list[Attachment] = []
    known: set[str] = set()
    left = SNIPPETS
    for change in changes:
        note = _note(change, differ, left)
        notes.append(note)
        if isinstance(note, DiffAttachment) and note.diff:
            left -= len(note.diff)
            known.add(note.path)
    return Told(tuple(notes), frozenset(known))


def _note(change: Changed, differ: Differ, left: int) -> Attachment:
    match change:
        case Edited(path=path, before=None):
            return DiffAttachment(kind=EDITED, path=path, left_out="what it was before is not kept")
        case Edited(path=path, before=str(before), after=after):
            found = differ(before, after)
            fits = len(found.text) <= left
            why = "" if fits else TOO_LONG
            return DiffAttachment(
                kind=EDITED,
                path=path,
                diff=found.text if fits else "",
                left_out=why,
                removed=found.removed,
                added=found.added,
            )
        case EditedImage(path=path):
            text = f"The picture {path} was changed since you saw it. Read it again before you rely on it."
            return TextAttachment(kind=EDITED_IMAGE, path=path, text=text)
        case Gone(path=path, moved_to=moved_to):
            now = f"{MOVED} {moved_to}" if moved_to else "is not there any more. What stands above is what it was"
            return TextAttachment(kind=EDITED, path=path, text=f"{path} {now}.")
        case Replaced(path=path):
            return TextAttachment(kind=EDITED, path=path, text=f"{path} was replaced by something that is no text.")
    raise AssertionError(change)


def _storm(changes: Sequence[Changed], cause: str) -> ListingAttachment:
    """How many changed in which folders, the fullest first."""
    folders = Counter(str(PurePosixPath(change.path).parent) for change in changes)
    gone = sum(isinstance(change, Gone) for change in changes)
    ranked = sorted(folders.items(), key=lambda item: (-item[1], item[0]))
    names = [f"{folder}: {count:,}" for folder, count in ranked[:_FOLDERS]]
    if len(ranked) > _FOLDERS:
        names.append(f"{len(ranked) - _FOLDERS:,} other folders: {sum(count for _, count in ranked[_FOLDERS:]):,}")
    lost = f", {gone:,} of them are not there any more" if gone else ""
    return ListingAttachment(kind=MANY, path="", names=tuple(names), total=len(changes), named=f"{cause}{lost}")
