"""Compaction end to end: a real store, real files, and the stand-in with a small window."""

from __future__ import annotations

from pathlib import Path

import pytest

from compositor.adapters.sessions.reading import read_transcript
from compositor.context.compaction.ladder import Step, Trigger
from compositor.context.messages.human import is_human_prompt
from compositor.context.transcript.graph import active_path
from compositor.loop.effects import EndReason
from compositor.runtime.events import Compacted, CompactionFailed, CompactionProved, CompactionStep
from compositor.types.entries import MarkerEntry, UserEntry
from tests.runtime.long_run import LongRun, large, messages_text

pytestmark = pytest.mark.anyio

FILL = """
turns:
  - {say: I read., do: [{read: one.txt}]}
  - {do: [{read: two.txt}]}
  - {do: [{read: three.txt}]}
  - {when: {text_contains: "<summary>"}, say: "<summary>The user wants the files compared; one and two are read.</summary>"}
  - {say: They differ.}
  - {say: Still here.}
summaries: []
"""


def fill(run: LongRun) -> LongRun:
    for name in ("one", "two", "three"):
        (run.project / f"{name}.txt").write_text(large(700, name))
    (run.project / "CLAUDE.md").write_text("# Rules\n\nNever add co-author lines.\n")
    return run


@pytest.mark.req("R025", "R307", "R311", "R312", "R314", "R316")
async def test_a_full_window_is_compacted_and_the_turn_goes_on(tmp_path: Path) -> None:
    run = fill(LongRun(tmp_path, FILL))
    async with run.opened() as agent:
        result = await agent.submit("Compare the three files.")
    assert (result.reason, result.text) == (EndReason.COMPLETED, "They differ.")
    (done,) = run.of(Compacted)
    assert (done.trigger, done.method) == (Trigger.AUTO, "model")
    assert done.after < done.before
    bodies = run.bodies()
    before, asking, after = bodies[-3], bodies[-2], bodies[-1]
    # The request for the summary is the conversation as it is, with one message more (R025, R311).
    assert (asking["tools"], asking["system"]) == (before["tools"], before["system"])
    assert messages_text(asking).startswith(messages_text(before)[:-1].removesuffix("]"))
    assert "the files compared; one and two are read" in messages_text(after)
    # The prompt that is being worked on is there, word for word, and the rule of the project.
    assert "Compare the three files." in messages_text(after)
    assert "Never add co-author lines." in messages_text(after)
    summary = next(
        entry
        for entry in read_transcript(run.path).entries
        if isinstance(entry, UserEntry) and "one and two are read" in str(entry.content)
    )
    assert not is_human_prompt(summary)


@pytest.mark.req("R310", "R311")
async def test_the_summary_reads_the_cache_and_tools_and_system_survive_it(tmp_path: Path) -> None:
    run = fill(LongRun(tmp_path, FILL))
    async with run.opened() as agent:
        await agent.submit("Compare the three files.")
    before, asking, after = run.emulator.requests[-3:]
    assert asking.use.read == before.use.read + before.use.written_5m + before.use.written_1h
    assert after.use.read > 0


@pytest.mark.req("R149", "R152", "R153")
async def test_history_is_never_rewritten_and_a_resumed_session_sends_the_same(tmp_path: Path) -> None:
    run = fill(LongRun(tmp_path, FILL))
    async with run.opened() as agent:
        await agent.submit("Compare the three files.")
        sent = agent.conversation.prefix
    stored = run.path.read_bytes()
    async with run.opened() as again:
        assert again.conversation.prefix.view_digest == sent.view_digest
        assert (await again.submit("Are you there?")).text == "Still here."
    assert run.path.read_bytes().startswith(stored)
    path = active_path(read_transcript(run.path).entries)
    assert path.summarized > 0
    assert [marker.subtype for marker in path.markers] == ["compact_boundary"]


@pytest.mark.req("R308")
async def test_a_failed_summary_leaves_everything_as_it_was(tmp_path: Path) -> None:
    script = FILL.replace(
        '{when: {text_contains: "<summary>"}, say:', "{faults: [{status: 400, message: not now}], say:"
    ).replace("turns:", "turns:", 1)
    run = fill(LongRun(tmp_path, script))
    async with run.opened() as agent:
        entries = len(agent.conversation.prefix.entries)
        result = await agent.submit("Compare the three files.")
        assert len(agent.conversation.prefix.entries) > entries
    assert result.reason is EndReason.COMPLETED
    (failed,) = run.of(CompactionFailed)
    assert failed.trigger is Trigger.AUTO
    assert not [entry for entry in read_transcript(run.path).entries if isinstance(entry, MarkerEntry)]


async def test_what_is_still_there_is_read_from_the_bytes(tmp_path: Path) -> None:
    run = fill(LongRun(tmp_path, FILL))
    async with run.opened() as agent:
        await agent.submit("Compare the three files.")
    (proved,) = run.of(CompactionProved)
    assert proved.report.lost == ()
    assert {one.kind.value for one in proved.report.present} >= {"rule"}
    (step,) = run.of(CompactionStep)
    assert step.step is Step.SUMMARY
    assert [option.step for option in step.ladder.options] == list(Step)
