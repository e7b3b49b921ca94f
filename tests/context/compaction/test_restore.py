"""What comes back, by owner and budget."""

from __future__ import annotations

import pytest

from compositor.context.compaction.restore import (
    FILE_TOKENS,
    FILES,
    FILES_TOKENS,
    SKILL_TOKENS,
    SKILLS_TOKENS,
    Exclusions,
    choose_files,
    open_todos,
    plan_room,
    restore_files,
    restore_plan,
    restore_skills,
    restore_tasks,
)
from compositor.context.tokens import estimate_tokens
from compositor.types.blocks import ToolUseBlock
from compositor.types.entries import AssistantEntry
from compositor.types.json import raw_json

SEEN = {f"/p/{number}.py": f"2026-01-01T00:0{number}:00.000Z" for number in range(8)}


def tokens(text: str) -> int:
    return estimate_tokens(text.encode())


@pytest.mark.req("R317", "R327")
def test_the_five_newest_of_eight_files_come_back_and_the_others_are_listed() -> None:
    chosen, left_out = choose_files(SEEN, Exclusions())
    assert chosen == tuple(f"/p/{number}.py" for number in (7, 6, 5, 4, 3))
    assert len(chosen) == FILES
    assert [one.what for one in left_out] == [f"file /p/{number}.py" for number in (2, 1, 0)]


@pytest.mark.req("R326")
def test_visible_denied_and_instruction_files_are_no_candidates() -> None:
    exclusions = Exclusions(visible={"/p/7.py"}, instructions={"/p/6.py"}, denied=lambda path: path == "/p/5.py")
    chosen, left_out = choose_files(SEEN, exclusions)
    assert chosen == tuple(f"/p/{number}.py" for number in (4, 3, 2, 1, 0))
    reasons = {one.what: one.reason for one in left_out}
    assert "visible" in reasons["file /p/7.py"]
    assert "instruction" in reasons["file /p/6.py"]
    assert "denies" in reasons["file /p/5.py"]


@pytest.mark.req("R318", "R319", "R324", "R393")
def test_a_large_file_leaves_a_reference_and_all_stay_within_their_sum() -> None:
    small, large = "short line\n" * 600, "a rather long line of text\n" * 4_000
    contents = [(f"/p/{number}", small) for number in range(5)]
    restored = restore_files([("/p/large", large), *contents])
    (reference,) = [note for note in restored.notes if note.kind == "compact_file_reference"]
    assert (reference.path, "4,000 lines" in reference.text) == ("/p/large", True)
    files = [note for note in restored.notes if note.kind == "file"]
    assert all(tokens(note.text) <= FILE_TOKENS + 40 for note in files)
    assert sum(tokens(note.text) for note in files) <= FILES_TOKENS
    tight = restore_files(contents, plan_room(40_000))
    kept = [note for note in tight.notes if note.kind == "file"]
    assert 0 < len(kept) < 5
    assert sum(tokens(note.text) for note in kept) <= 10_000 + 40 * len(kept)


def test_a_file_that_is_gone_is_told_and_costs_nothing() -> None:
    restored = restore_files([("/p/gone", None), ("/p/here", "x\n")])
    assert [note.path for note in restored.notes] == ["/p/here"]
    assert [one.what for one in restored.omissions] == ["file /p/gone"]


@pytest.mark.req("R320", "R325", "R404")
def test_skills_are_cut_and_labelled_newest_first() -> None:
    skills = {f"skill-{number}": "do this and that\n" * 2_000 for number in range(8)}
    restored = restore_skills(skills)
    assert [note.name for note in restored.notes][:2] == ["skill-7", "skill-6"]
    assert all("Its set-up was done" in note.text for note in restored.notes)
    assert all(tokens(note.text) <= SKILL_TOKENS + 80 for note in restored.notes)
    assert sum(tokens(note.text) for note in restored.notes) <= SKILLS_TOKENS + 80 * len(restored.notes)
    assert any(one.what == "skill skill-0" for one in restored.omissions)


@pytest.mark.req("R193", "R321")
def test_plan_and_tasks_come_back() -> None:
    (plan,) = restore_plan("/plans/a.md", "1. Do it.").notes
    assert (plan.kind, plan.path) == ("plan_file_reference", "/plans/a.md")
    assert restore_plan("/plans/a.md", "  \n").notes == ()
    (tasks,) = restore_tasks(["[>] 1: mend it"]).notes
    assert tasks.kind == "task_status"
    assert restore_tasks([]).notes == ()


def test_open_todos_are_those_of_the_newest_list() -> None:
    def wrote(*todos: tuple[str, str]) -> AssistantEntry:
        items = [{"content": text, "status": status, "activeForm": text} for text, status in todos]
        call = ToolUseBlock("t", "TodoWrite", raw_json({"todos": items}))
        return AssistantEntry(
            uuid="a", parent=None, time="", message_id="m", model="m", content=(call,), stop_reason="tool_use"
        )

    entries = [wrote(("old", "pending")), wrote(("one", "completed"), ("two", "in_progress"), ("three", "pending"))]
    assert open_todos(entries) == ("[>] two", "[ ] three")
    assert open_todos([]) == ()
