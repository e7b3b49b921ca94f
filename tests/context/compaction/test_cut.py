"""Where a conversation may be cut (F25)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.compaction.cut import cut_places, kept_from, unanswered_from
from compositor.context.compaction.kept import keep_tail
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json


def prompt(uuid: str, text: str = "do it") -> UserEntry:
    return UserEntry(uuid=uuid, parent=None, time="2026-01-01T00:00:00.000Z", content=(TextBlock(text),))


def asks(uuid: str, *calls: str) -> AssistantEntry:
    blocks = tuple(ToolUseBlock(call, "Read", raw_json({"file_path": call})) for call in calls)
    return AssistantEntry(
        uuid=uuid,
        parent=None,
        time="2026-01-01T00:00:00.000Z",
        message_id=uuid,
        model="m",
        content=blocks or (TextBlock("done"),),
        stop_reason="tool_use" if calls else "end_turn",
    )


def gives(uuid: str, *calls: str, text: str = "ok", typed: str = "") -> UserEntry:
    results = tuple(ToolResultBlock(call, text) for call in calls)
    return UserEntry(
        uuid=uuid,
        parent=None,
        time="2026-01-01T00:00:00.000Z",
        content=(*results, *((TextBlock(typed),) if typed else ())),
        is_meta=not typed,
    )


F25: list[TranscriptEntry] = [
    prompt("U1"),
    asks("A1", "t1"),
    gives("R1", "t1"),
    asks("A2", "t2"),
    gives("R2", "t2"),
    asks("A3", "t3"),
    gives("R3", "t3"),
    asks("A4"),
]


def test_the_cut_of_the_field_report_moves_to_where_no_call_is_open() -> None:
    """F25: keeping the last four messages would begin with the result of a call that is summarized away."""
    assert cut_places(F25) == (0, 1, 3, 5, 7)
    assert F25[len(F25) - 4].uuid == "R2"
    assert len(F25) - 4 not in cut_places(F25)


def test_a_message_that_mixes_words_and_a_result_belongs_to_its_call() -> None:
    entries: list[TranscriptEntry] = [prompt("U1"), asks("A1", "t1"), gives("R1", "t1", typed="and more"), asks("A2")]
    assert cut_places(entries) == (0, 1, 3)


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        (F25, 8),
        (F25[:7], 5),
        (F25[:1], 0),
        ([*F25, prompt("U2")], 8),
        ([], 0),
    ],
)
def test_what_has_no_answer_yet_begins_at_its_answer_or_prompt(entries: list[TranscriptEntry], place: int) -> None:
    assert unanswered_from(entries) == place


def test_the_unanswered_part_stays_when_it_fits() -> None:
    kept = keep_tail(F25[:7], usable=100_000)
    assert [entry.uuid for entry in kept.entries] == [entry.uuid for entry in F25[:7]]
    small = keep_tail(F25[:7], usable=400)
    assert [entry.uuid for entry in small.entries] == ["A3", "R3"]
    assert small.request == "do it"


def test_an_unanswered_part_that_is_too_large_is_told() -> None:
    entries = [prompt("U1", "read the log"), asks("A1", "t1"), gives("R1", "t1", text="x y " * 20_000)]
    kept = keep_tail(entries, usable=10_000)
    assert kept.entries == ()
    assert kept.request == "read the log"
    assert [one.what for one in kept.omissions] == ["the messages that have no answer yet"]


@st.composite
def conversations(draw: st.DrawFn) -> list[TranscriptEntry]:
    entries: list[TranscriptEntry] = []
    for turn in range(draw(st.integers(0, 5))):
        entries.append(prompt(f"U{turn}", "word " * draw(st.integers(1, 60))))
        for step in range(draw(st.integers(0, 4))):
            calls = [f"t{turn}-{step}-{number}" for number in range(draw(st.integers(1, 3)))]
            entries.append(asks(f"A{turn}-{step}", *calls))
            if draw(st.booleans()):
                entries.append(gives(f"R{turn}-{step}", *calls, text="data " * draw(st.integers(1, 60))))
            else:
                entries += [gives(f"R{turn}-{step}-{call}", call) for call in calls]
        entries.append(asks(f"E{turn}"))
    return entries[: draw(st.integers(0, len(entries)))]


@given(conversations(), st.integers(0, 3_000))
def test_no_result_is_ever_kept_without_its_call(entries: list[TranscriptEntry], usable: int) -> None:
    kept = keep_tail(entries, usable).entries
    asked: set[str] = set()
    for entry in kept:
        for block in entry.content if isinstance(entry, UserEntry | AssistantEntry) else ():
            if isinstance(block, ToolUseBlock):
                asked.add(block.id)
            if isinstance(block, ToolResultBlock):
                assert block.tool_use_id in asked
    assert tuple(entries[len(entries) - len(kept) :]) == kept


@given(conversations(), st.integers(0, 2_000))
def test_what_is_kept_from_the_end_stays_within_its_room(entries: list[TranscriptEntry], room: int) -> None:
    place = kept_from(entries, room)
    assert place == len(entries) or place in cut_places(entries)
