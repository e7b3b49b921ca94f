"""The read state of a session that goes on, rebuilt from what was read in it."""

from __future__ import annotations

import pytest

from compositor.context.freshness.read_state import changed_notes, seen_files
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json


def call(number: int, tool: str, **fields: object) -> AssistantEntry:
    return AssistantEntry(
        uuid=f"a{number}",
        parent=None,
        time=f"{number}",
        message_id=f"m{number}",
        model="x",
        content=(ToolUseBlock(f"c{number}", tool, raw_json(fields)),),
        stop_reason="tool_use",
    )


def result(number: int, time: str, *, error: bool = False) -> UserEntry:
    block = ToolResultBlock(f"c{number}", "x", is_error=error or None)
    return UserEntry(uuid=f"r{number}", parent=None, time=time, content=(block,))


HISTORY: list[TranscriptEntry] = [
    call(1, "Read", file_path="/p/a.py"),
    result(1, "10"),
    call(2, "Edit", file_path="b.py", old_string="x"),
    result(2, "20"),
    call(3, "Read", file_path="/p/gone.py"),
    result(3, "30", error=True),
    call(4, "Bash", command="cat /p/c.py"),
    result(4, "40"),
    call(5, "Read", file_path=17),
    result(5, "50"),
    call(6, "Read", file_path="/p/unanswered.py"),
]


@pytest.mark.req("R345")
def test_what_was_read_or_written_counts_with_the_time_of_its_result() -> None:
    assert seen_files(HISTORY, "/p") == {"/p/a.py": "10", "/p/b.py": "20"}


@pytest.mark.req("R345")
def test_what_changed_since_is_told_once() -> None:
    seen = seen_files(HISTORY, "/p")
    assert changed_notes(seen, {"/p/a.py": "10", "/p/b.py": "20"}) == ()
    (changed,) = changed_notes(seen, {"/p/a.py": "11", "/p/b.py": "19"})
    assert (changed.kind, changed.path) == ("edited_text_file", "/p/a.py")
    told = AttachmentEntry(uuid="n", parent=None, time="60", attachment=changed)
    assert changed_notes(seen_files([*HISTORY, told], "/p"), {"/p/a.py": "11"}) == ()
    (again,) = changed_notes(seen_files([*HISTORY, told], "/p"), {"/p/a.py": "61"})
    assert again == changed


@pytest.mark.req("R345")
def test_a_file_that_is_gone_is_told_and_one_that_was_not_looked_at_is_not() -> None:
    (gone,) = changed_notes({"/p/a.py": "10", "/p/b.py": "20"}, {"/p/a.py": None})
    assert isinstance(gone, TextAttachment)
    assert "is not there any more" in gone.text
    told = AttachmentEntry(uuid="n", parent=None, time="60", attachment=gone)
    assert seen_files([*HISTORY, told], "/p") == {"/p/b.py": "20"}
