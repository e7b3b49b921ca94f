"""Nothing standing is lost (F27): read from the bytes of the next request; and a compaction can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from compositor.adapters.sessions.changing import undo_compaction
from compositor.context.compaction.ladder import Trigger
from compositor.emulator.profile import ServiceProfile
from compositor.runtime.events import Compacted, CompactionProved
from tests.runtime.long_run import LongRun, messages_text

pytestmark = pytest.mark.anyio

WORK = """
turns:
  - do:
      - {call: {tool: TodoWrite, input: {todos: [
          {content: parse the header, status: completed, activeForm: parsing},
          {content: mend the parser, status: in_progress, activeForm: mending},
          {content: write the tests, status: pending, activeForm: writing}]}}}
  - {do: [%s]}
  - {say: Twelve files are read.}
  - {say: "<summary>Twelve files were read; the parser is being mended.</summary>"}
  - {say: I go on.}
  - {say: Once more.}
"""


def prepared(folder: Path) -> LongRun:
    reads = ", ".join(f"{{read: src/file{number:02}.py}}" for number in range(12))
    run = LongRun(
        folder,
        WORK % reads,
        profile=ServiceProfile(window=200_000),
        env={"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000", "CLAUDE_CODE_ENABLE_TASKS": "0"},
    )
    (run.project / "CLAUDE.md").write_text(
        "# Rules\n\nNever add co-author lines.\n\n# Compact instructions\n\nKeep the table of ports.\n"
    )
    (run.project / "src").mkdir()
    (run.project / "src" / "CLAUDE.md").write_text("Every function here has a docstring.\n")
    for number in range(12):
        (run.project / "src" / f"file{number:02}.py").write_text(f"def f{number}() -> int:\n    return {number}\n")
    return run


@pytest.mark.req("R312", "R313", "R317", "R321", "R322", "R327")
async def test_all_that_must_be_there_is_there(tmp_path: Path) -> None:
    run = prepared(tmp_path)
    async with run.opened() as agent:
        await agent.submit("Read the twelve files and mend the parser.")
        done = await agent.compact("the parser", pins=["The port is 8471."])
        await agent.submit("Go on.")
    assert done is not None
    asking, after = run.bodies()[-2:]
    asked, text = messages_text(asking), messages_text(after)
    assert "Keep the table of ports." in asked[-3_000:]
    assert "special attention to this: the parser" in asked[-3_000:]
    for words in (
        "Twelve files were read; the parser is being mended.",
        "Never add co-author lines.",
        "Every function here has a docstring.",
        "[>] mend the parser",
        "[ ] write the tests",
        "The port is 8471.",
    ):
        assert text.count(words) == 1, words
    assert "parse the header" not in text
    restored = [number for number in range(12) if f"def f{number}()" in text]
    assert len(restored) == 5
    assert len(done.omissions) == 7
    (proved,) = run.of(CompactionProved)
    assert proved.report.lost == ()
    assert {one.kind.value for one in proved.report.present} == {"rule", "file", "todo", "pin"}


async def test_pins_stay_over_the_next_compaction(tmp_path: Path) -> None:
    run = prepared(tmp_path)
    async with run.opened() as agent:
        await agent.submit("Read the twelve files.")
        await agent.compact(pins=["The port is 8471."])
        await agent.submit("Go on.")
        again = await agent.compact()
        assert again is not None
        assert "The port is 8471." in str(tuple(agent.conversation.prefix.entries))
    assert [done.trigger for done in run.of(Compacted)] == [Trigger.MANUAL, Trigger.MANUAL]


@pytest.mark.req("R149")
async def test_undo_gives_byte_equal_requests(tmp_path: Path) -> None:
    run = prepared(tmp_path)
    async with run.opened() as agent:
        await agent.submit("Read the twelve files.")
        before = agent.conversation
    async with run.opened() as agent:
        resumed = agent.conversation.prefix.view_digest
        await agent.compact()
        assert agent.conversation.prefix.view_digest != resumed
    stored = run.path.read_bytes()
    event = undo_compaction(Path(run.environ["COMPOSITOR_HOME"]), run.path)
    assert event.entry is not None
    assert run.path.read_bytes().startswith(stored)
    async with run.opened() as agent:
        assert agent.conversation.prefix.view_digest == before.prefix.view_digest == resumed
        await agent.submit("Go on.")
    assert messages_text(run.bodies()[-1])[:-1].startswith(messages_text(run.bodies()[1])[:-1])
