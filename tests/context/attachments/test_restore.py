"""Stored attachments when a session goes on: guards, counters, announced sets, repetitions."""

from __future__ import annotations

import pytest

from compositor.context.attachments.restore import (
    Repeat,
    announced_names,
    classify_repeat,
    delta,
    invoked_skills,
    is_repetition,
    restore_attachments,
    turns_since,
)
from compositor.context.attachments.table import KINDS
from compositor.context.messages.human import is_human_prompt
from compositor.types.attachments import Attachment, TextAttachment, UnknownAttachment
from compositor.types.blocks import TextBlock, ToolResultBlock
from compositor.types.entries import AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.json import Raw, raw_json

GUARDED = {"invoked_skills", "skill_listing", "hook_success", "hook_additional_context"}


def stored(kind: str, **fields: object) -> AttachmentEntry:
    return entry(UnknownAttachment(kind=kind, raw=raw_json({"type": kind, **fields})))


def entry(attachment: Attachment) -> AttachmentEntry:
    return AttachmentEntry(uuid=f"n-{attachment.kind}", parent=None, time="t", attachment=attachment)


def prompt(text: str = "go on") -> UserEntry:
    return UserEntry(uuid="u", parent=None, time="t", content=(TextBlock(text),))


def codes(entries: list[TranscriptEntry]) -> list[str]:
    return [found.code for found in restore_attachments(entries).diagnostics]


@pytest.mark.req("R337")
def test_four_kinds_are_guarded() -> None:
    assert {name for name, kind in KINDS.items() if kind.guard is not None} == GUARDED


@pytest.mark.req("R337")
@pytest.mark.parametrize("kind", sorted(GUARDED))
@pytest.mark.parametrize("raw", [b"17", b'{"skills":3,"content":{},"hookName":1}', b'"text"'])
def test_a_broken_record_of_a_guarded_kind_is_left_out_and_told(kind: str, raw: bytes) -> None:
    broken = entry(UnknownAttachment(kind=kind, raw=Raw(raw)))
    restored = restore_attachments([prompt(), broken, prompt()])
    assert restored.entries == (prompt(), prompt())
    (told,) = restored.diagnostics
    assert (told.code, told.where) == ("restore.damaged", broken.uuid)


@pytest.mark.req("R337")
def test_sound_records_of_guarded_kinds_pass() -> None:
    sound: list[TranscriptEntry] = [
        stored("invoked_skills", skills=[{"name": "a", "path": "p", "content": "c"}]),
        stored("skill_listing", content="- a: does a"),
        stored("hook_success", hookName="SessionStart:startup", hookEvent="SessionStart", content=""),
        stored("hook_additional_context", hookName="x", hookEvent="y", content=["a", "b"]),
    ]
    assert restore_attachments(sound).entries == tuple(sound)


@pytest.mark.req("R338")
def test_other_kinds_pass_whatever_they_hold_and_obsolete_ones_go() -> None:
    odd = entry(UnknownAttachment(kind="hologram", raw=Raw(b"[1]")))
    restored = restore_attachments([odd, stored("new_file", path="/a")])
    assert restored.entries == (odd,)
    assert codes([odd, stored("new_file", path="/a")]) == ["restore.obsolete"]


@pytest.mark.req("R338")
def test_an_old_record_gets_its_display_path() -> None:
    (filled,) = restore_attachments([stored("file", filename="/p/a.py")]).entries
    assert isinstance(filled, AttachmentEntry)
    assert isinstance(filled.attachment, UnknownAttachment)
    assert b'"displayPath":"/p/a.py"' in bytes(filled.attachment.raw)
    kept = stored("file", filename="/p/a.py", displayPath="a.py")
    assert restore_attachments([kept]).entries == (kept,)


@pytest.mark.req("R339")
def test_skill_state_is_read_off_the_records() -> None:
    history: list[TranscriptEntry] = [
        stored("skill_listing", content="- lint: checks\n- git:commit: commits"),
        stored("skill_listing", content="x", names=["deploy"]),
        stored("invoked_skills", skills=[{"name": "lint", "content": "old"}]),
        stored("invoked_skills", skills=[{"name": "lint", "content": "new"}]),
    ]
    assert announced_names(history, "skill_listing") == {"lint", "git:commit", "deploy"}
    assert invoked_skills(history) == {"lint": "new"}


@pytest.mark.req("R340")
def test_the_same_text_in_two_kinds_is_no_repetition() -> None:
    text = "same words"
    before = [entry(TextAttachment(kind="memory_update", text=text))]
    assert not is_repetition(TextAttachment(kind="section_update", text=text), before)
    assert is_repetition(TextAttachment(kind="memory_update", text=text), before)


@pytest.mark.req("R341")
def test_a_hook_message_counts_once_by_its_content() -> None:
    first = stored("hook_success", hookName="a", hookEvent="SessionStart", content="hello", durationMs=12)
    again = stored("hook_success", hookName="a", hookEvent="SessionStart", content="hello", durationMs=99)
    other = stored("hook_success", hookName="a", hookEvent="SessionStart", content="bye")
    assert is_repetition(again.attachment, [first])
    assert not is_repetition(other.attachment, [first])


@pytest.mark.req("R342")
def test_a_skill_listing_repeats_only_when_it_names_nothing_new() -> None:
    before = [stored("skill_listing", content="", names=["a", "b"])]
    assert is_repetition(stored("skill_listing", content="other words", names=["b"]).attachment, before)
    assert not is_repetition(stored("skill_listing", content="", names=["b", "c"]).attachment, before)


@pytest.mark.req("R343")
def test_deltas_are_the_current_set_against_the_history() -> None:
    history = [
        stored("deferred_tools_delta", addedNames=["a", "b"], removedNames=[]),
        stored("deferred_tools_delta", addedNames=["c"], removedNames=["a"]),
    ]
    announced = announced_names(history, "deferred_tools_delta")
    assert announced == {"b", "c"}
    assert delta(["c", "d"], announced) == (("d",), ("b",))
    assert delta(["b", "c"], announced) == ((), ())


@pytest.mark.req("R344")
def test_each_kind_has_its_own_counter() -> None:
    result = UserEntry(uuid="r", parent=None, time="t", content=(ToolResultBlock("t1", "x"),))
    history: list[TranscriptEntry] = [
        stored("task_reminder"),
        prompt(),
        stored("todo_reminder"),
        prompt(),
        result,
        prompt(),
    ]
    assert turns_since(history, "task_reminder", is_human_prompt) == 3
    assert turns_since(history, "todo_reminder", is_human_prompt) == 2
    assert turns_since(history, "plan_mode", is_human_prompt) is None


@pytest.mark.req("R346")
@pytest.mark.parametrize(
    ("before", "new", "expected"),
    [
        (None, TextAttachment(kind="git_status", text="a"), None),
        (
            TextAttachment(kind="git_status", text="a"),
            TextAttachment(kind="git_status", text="b"),
            Repeat.RESTATED_STATE,
        ),
        (TextAttachment(kind="git_status", text="a"), TextAttachment(kind="git_status", text="a"), Repeat.FAILED_DEDUP),
        (
            UnknownAttachment(kind="deferred_tools_delta", raw=raw_json({"addedNames": ["a"]})),
            UnknownAttachment(kind="deferred_tools_delta", raw=raw_json({"addedNames": ["b"]})),
            Repeat.DELTA_REBUILD,
        ),
        (
            UnknownAttachment(kind="hook_success", raw=raw_json({"content": "a"})),
            UnknownAttachment(kind="hook_success", raw=raw_json({"content": "b"})),
            Repeat.ONE_TIME_EVENT,
        ),
    ],
)
def test_a_similar_reminder_is_classified(before: Attachment | None, new: Attachment, expected: Repeat | None) -> None:
    history = [] if before is None else [entry(before)]
    assert classify_repeat(new, history) is expected


@pytest.mark.req("R346")
def test_a_repetition_that_should_not_be_is_told() -> None:
    note = entry(TextAttachment(kind="git_status", text="a"))
    assert codes([note, prompt(), note]) == ["restore.repeat"]
