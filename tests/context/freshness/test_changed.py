"""What is said of files that somebody else changed (R303, R304, R306, R389, F22)."""

from __future__ import annotations

import pytest

from compositor.adapters.differences import differ
from compositor.context.attachments.render import attachment_text
from compositor.context.freshness.changed import (
    SNIPPETS,
    STORM,
    Changed,
    Edited,
    EditedImage,
    Gone,
    Replaced,
    tell_changes,
)
from compositor.types.attachments import DiffAttachment, ListingAttachment


def edited(name: str, *, lines: int = 20, width: int = 10) -> Edited:
    before = "".join(f"{'x' * width} {line}\n" for line in range(lines))
    return Edited(path=f"/p/{name}", before=before, after=before.replace("x", "y"))


@pytest.mark.req("R303")
def test_a_changed_text_is_told_with_its_hunks_only() -> None:
    before = "".join(f"line {line}\n" for line in range(40))
    after = before.replace("line 20\n", "LINE 20\n")
    (note,) = tell_changes([Edited(path="/p/a.py", before=before, after=after)], differ).notes
    assert isinstance(note, DiffAttachment)
    assert (note.kind, note.removed, note.added) == ("edited_text_file", 1, 1)
    assert note.diff == (
        "@@ -18,7 +18,7 @@\n line 17\n line 18\n line 19\n-line 20\n+LINE 20\n line 21\n line 22\n line 23"
    )


@pytest.mark.req("R304", "R389")
def test_the_differences_of_a_round_share_a_budget_and_every_path_is_named() -> None:
    changes: list[Changed] = [edited(f"{at:02}.txt", lines=30, width=40) for at in range(60)]
    told = tell_changes(changes, differ)
    notes = [note for note in told.notes if isinstance(note, DiffAttachment)]
    assert [note.path for note in notes] == [f"/p/{at:02}.txt" for at in range(60)]
    shown = [note for note in notes if note.diff]
    assert 0 < len(shown) < 60
    assert sum(len(note.diff) for note in shown) <= SNIPPETS == 16_384
    assert told.known == {note.path for note in shown}
    hidden = next(note for note in notes if not note.diff)
    assert "16,384 characters" in attachment_text(hidden)
    assert "Read the file again" in attachment_text(hidden)


def test_a_small_change_behind_one_that_is_too_long_is_still_shown() -> None:
    told = tell_changes([edited("long", lines=900, width=30), edited("short", lines=2)], differ)
    assert told.known == {"/p/short"}


@pytest.mark.req("R306")
def test_pictures_lost_and_moved_files_are_told_in_a_sentence() -> None:
    changes = [EditedImage("/p/a.png"), Gone("/p/b"), Gone("/p/c", "/p/d"), Replaced("/p/e")]
    told = tell_changes(changes, differ)
    assert [note.kind for note in told.notes] == ["edited_image_file", *["edited_text_file"] * 3]
    texts = [attachment_text(note) for note in told.notes]
    assert "/p/a.png was changed" in texts[0]
    assert "is not there any more" in texts[1]
    assert "/p/c was moved to /p/d" in texts[2]


def test_a_text_whose_former_state_is_not_kept_is_told_without_a_difference() -> None:
    (note,) = tell_changes([Edited(path="/p/a", before=None, after="x")], differ).notes
    assert "what it was before is not kept" in attachment_text(note)


def test_a_storm_is_one_note() -> None:
    changes: list[Changed] = [Edited(path=f"/p/src/{at % 7}/f{at}.py", before="a", after="b") for at in range(3000)]
    told = tell_changes([*changes, Gone("/p/gone.py")], differ, cause=", as another commit was checked out")
    (note,) = told.notes
    assert isinstance(note, ListingAttachment)
    text = attachment_text(note)
    assert "3,001 files that you saw were changed at once, as another commit was checked out, 1 of them" in text
    assert "/p/src/0: 429" in text
    assert len(text) < 2_000
    assert told.known == frozenset()
    assert len(tell_changes(changes[:STORM], differ).notes) == STORM


def test_distant_changes_in_a_long_file_are_compared_by_git() -> None:
    before = "".join(f"line {line}\n" for line in range(6_000))
    after = before.replace("line 3\n", "LINE 3\n").replace("line 5990\n", "LINE 5990\n")
    found = differ(before, after)
    assert (found.removed, found.added) == (2, 2)
    assert found.text.count("@@ -") == 2
    assert len(found.text) < 400
