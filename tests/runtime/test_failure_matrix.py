"""Each row of the failure matrix, made to happen: one structured event with its five columns (R387 to R395)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from compositor.emulator.profile import ServiceProfile
from compositor.loop import failure_matrix as matrix
from compositor.loop.effects import EndReason
from compositor.loop.failure_matrix import ROWS, FailureMet
from compositor.loop.session import Stamp, prompt_entry
from compositor.runtime.collect import Collection
from compositor.runtime.events import AgentEvent, NotesCollected
from compositor.runtime.failures import FailureWatcher
from compositor.types.attachments import TextAttachment, UnknownAttachment
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, UserEntry
from tests.properties.strategies import TIME
from tests.runtime.long_run import LongRun, large, messages_text
from tests.runtime.test_collection import NOW, Telling, sources
from tests.runtime.test_mending import ANSWERS, MARKER_REFUSED, Session

pytestmark = pytest.mark.anyio

SERVICE = ServiceProfile(max_output=128_000, system_role=True)
COLUMNS = ("failure", "detection", "action", "kept", "effect")


def failures(events: list[AgentEvent]) -> list[tuple[str, str]]:
    return [(event.row.id, event.what) for event in events if isinstance(event, FailureMet)]


def test_there_are_eight_rows_of_five_columns() -> None:
    """The numbers are R395's own."""
    assert list(ROWS) == [f"R{number}" for number in range(387, 395)]
    for row in ROWS.values():
        assert all(getattr(row, column) for column in COLUMNS)
        assert set(msgspec.structs.asdict(row)) == {"id", *COLUMNS}


# What the requirement says in each column, by the word that carries it.
WORDS = {
    matrix.GENERATOR: ("source", "1 s", "left out", "system prompt", "one item missing"),
    matrix.TOUCHED: ("same content", "digest", "no difference", "read", "no reminder"),
    matrix.DIFFERENCES: ("differences", "16,384", "fact is told", "paths", "reads the file where"),
    matrix.LANE: ("refused", "400", "for the rest of the session", "top-level system", "less authority"),
    matrix.MARKER: ("marker", "400", "message before it", "content", "nothing lost"),
    matrix.PAIR: ("result", "repair", "moved", "answers which call", "match results"),
    matrix.TOO_LARGE: ("too large", "budget", "named", "path", "read again"),
    matrix.MALFORMED: ("cannot be read", "guard", "recorded", "rest", "gap"),
}


@pytest.mark.req("R395")
@pytest.mark.parametrize("row", ROWS)
def test_each_column_says_what_the_requirement_says(row: str) -> None:
    columns = [getattr(ROWS[row], column) for column in COLUMNS]
    assert all(word in column for word, column in zip(WORDS[row], columns, strict=True)), columns


@pytest.mark.req("R387", "R395")
async def test_a_source_that_fails_or_is_late() -> None:
    seen: list[AgentEvent] = []
    watch = FailureWatcher(seen.append)
    slow, broken = Telling("slow", 60), Telling("broken", fails=True)
    found = await Collection(sources(slow, broken, Telling("sound")), deadline=0.05).collect(NOW)
    watch(NotesCollected(found.attachments, found.diagnostics, found.gathered))
    assert failures(seen) == [
        (matrix.GENERATOR, "slow: it took longer than 0.05 s"),
        (matrix.GENERATOR, "broken: RuntimeError: broken"),
    ]
    assert [note.text for note in found.attachments if isinstance(note, TextAttachment)] == ["sound"]


@pytest.mark.req("R388", "R395")
async def test_a_touched_file(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns:\n  - {do: [{read: a.txt}]}\n  - {say: One.}\n  - {say: Two.}\n")
    (run.project / "a.txt").write_text("alpha\n")
    async with run.opened() as agent:
        await agent.submit("Read.")
        os.utime(run.project / "a.txt", (1, 1))
        await agent.submit("And now?")
    assert failures(run.events) == [(matrix.TOUCHED, str(run.project / "a.txt"))]
    assert "changed" not in messages_text(run.bodies()[-1]).partition("And now?")[2]


@pytest.mark.req("R389", "R395")
async def test_differences_that_are_too_long(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns:\n  - {do: [{read: a.txt}]}\n  - {say: One.}\n  - {say: Two.}\n")
    (run.project / "a.txt").write_text(large(500, "old"))
    async with run.opened() as agent:
        await agent.submit("Read.")
        (run.project / "a.txt").write_text(large(500, "new"))
        await agent.submit("And now?")
    assert failures(run.events) == [(matrix.DIFFERENCES, str(run.project / "a.txt"))]
    last = messages_text(run.bodies()[-1]).partition("And now?")[2]
    assert "a.txt" in last
    assert "new line" not in last


@pytest.mark.req("R390", "R395")
async def test_a_refused_lane(tmp_path: Path) -> None:
    session = Session(tmp_path, msgspec.structs.replace(SERVICE, system_role=False))
    results = await session.submit("one", "two")
    assert [result.reason for result in results] == [EndReason.COMPLETED] * 2
    ((row, _),) = failures(session.events)
    assert row == matrix.LANE
    refused, *answered = session.bodies()
    assert all(body["system"] == refused["system"] for body in answered)


@pytest.mark.req("R391", "R395")
async def test_a_refused_marker(tmp_path: Path) -> None:
    session = Session(tmp_path, SERVICE, MARKER_REFUSED % 1)
    await session.submit("one")
    ((row, cause),) = failures(session.events)
    assert (row, "cache_control" in cause) == (matrix.MARKER, True)
    refused, answered = session.bodies()
    assert [message["role"] for message in refused["messages"]] == [message["role"] for message in answered["messages"]]


@pytest.mark.req("R392", "R395")
async def test_a_note_between_a_call_and_its_result_goes_behind_it(tmp_path: Path) -> None:
    note = TextAttachment(kind="critical_reminder", text="Mind the gap.")
    call = ToolUseBlock(id="toolu_1", name="Read", input=Raw(b'{"file_path":"/a"}'))
    session = Session(
        tmp_path,
        SERVICE,
        ANSWERS,
        prompt_entry("hi", stamp=Stamp("u1", TIME), parent=None),
        AssistantEntry(
            uuid="a1", parent="u1", time=TIME, message_id="m1", model="m", content=(call,), stop_reason="tool_use"
        ),
        AttachmentEntry(uuid="n1", parent="a1", time=TIME, attachment=note),
        UserEntry(uuid="u2", parent="n1", time=TIME, content=(ToolResultBlock("toolu_1", "beta"),), is_meta=True),
        AssistantEntry(
            uuid="a2", parent="u2", time=TIME, message_id="m2", model="m", content=(TextBlock("So."),), stop_reason=None
        ),
    )
    await session.submit("one", "two")
    ((row, what),) = failures(session.events)
    assert (row, "goes behind" in what) == (matrix.PAIR, True)
    messages: list[Any] = session.bodies()[0]["messages"]
    at = next(at for at, message in enumerate(messages) if message["role"] == "assistant")
    answer = messages[at + 1]["content"]
    assert (answer[0]["type"], answer[0]["tool_use_id"]) == ("tool_result", "toolu_1")
    assert "Mind the gap." in str(messages[at + 1 : at + 3])


@pytest.mark.req("R393", "R395")
async def test_a_file_that_is_too_large_behind_a_compaction(tmp_path: Path) -> None:
    summary = '  - {when: {text_contains: "<summary>"}, say: "<summary>Read so far.</summary>"}\n'
    run = LongRun(
        tmp_path, "turns:\n" + "  - {do: [{read: a.txt}]}\n  - {say: Read.}\n" + summary + "  - {say: Done.}\n"
    )
    (run.project / "a.txt").write_text(large(900, "one"))
    async with run.opened() as agent:
        await agent.submit("Read it.")
        await agent.compact()
        await agent.submit("Go on.")
    assert (matrix.TOO_LARGE, f"text of {run.project / 'a.txt'}") in failures(run.events)
    last = messages_text(run.bodies()[-1])
    assert "was read before the conversation was summarized" in last
    assert "one line 5 of" not in last


@pytest.mark.req("R394", "R395")
async def test_a_malformed_record_of_a_guarded_kind(tmp_path: Path) -> None:
    broken = UnknownAttachment(kind="invoked_skills", raw=Raw(b'{"skills":3}'))
    session = Session(
        tmp_path,
        SERVICE,
        ANSWERS,
        prompt_entry("hello there", stamp=Stamp("u1", TIME), parent=None),
        AttachmentEntry(uuid="n1", parent="u1", time=TIME, attachment=broken),
        AssistantEntry(
            uuid="a1", parent="n1", time=TIME, message_id="m", model="m", content=(TextBlock("Hm."),), stop_reason=None
        ),
    )
    (result,) = await session.submit("one")
    assert result.reason is EndReason.COMPLETED
    ((row, what),) = failures(session.events)
    assert (row, "'invoked_skills' is damaged" in what) == (matrix.MALFORMED, True)
    assert "hello there" in str(session.bodies()[0]["messages"])
