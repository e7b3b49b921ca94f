"""Compaction where it is hard: refused sizes, summaries that fail, windows that are too small, loops (F25, F26, F28)."""

from __future__ import annotations

from pathlib import Path

import pytest

from compositor.adapters.sessions.reading import read_transcript
from compositor.context.compaction.ladder import Trigger
from compositor.emulator.profile import ServiceProfile
from compositor.loop.effects import EndReason
from compositor.runtime.compacting import MAX_PASSES
from compositor.runtime.events import AgentEvent, Compacted, CompactionFailed, RequestStarted
from compositor.types.entries import MarkerEntry
from tests.runtime.long_run import LongRun, large, messages_text

pytestmark = pytest.mark.anyio

SUMMARY = '  - {when: {text_contains: "<summary>"}, say: "<summary>Read so far.</summary>"}\n'
FILES = ("one.txt", "two.txt", "three.txt", "four.txt", "five.txt", "six.txt")


def reads(count: int) -> str:
    """So many turns that read a file, another one each time: what was read already is not shown again."""
    return "".join(f"  - {{do: [{{read: {FILES[at % len(FILES)]}}}]}}\n" for at in range(count))


def filled(run: LongRun, lines: int = 700) -> LongRun:
    for name in FILES:
        (run.project / name).write_text(large(lines, "one"))
    return run


@pytest.mark.req("R309", "R314")
async def test_a_request_that_is_refused_for_its_size_is_compacted_and_sent_again(tmp_path: Path) -> None:
    """The service's window is smaller than we believe: the reactive path, with the same rebuild."""
    script = f"turns:\n{reads(2)}{SUMMARY}  - {{say: Done.}}\n"
    service = ServiceProfile(window=24_000)
    run = filled(LongRun(tmp_path, script, profile=service, env={"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000"}), 950)
    async with run.opened() as agent:
        result = await agent.submit("Read it twice.")
    assert (result.reason, result.text) == (EndReason.COMPLETED, "Done.")
    (done,) = run.of(Compacted)
    assert done.trigger is Trigger.OVERFLOW
    assert [one.status for one in run.emulator.requests].count(400) >= 1
    assert "Read so far." in messages_text(run.bodies()[-1])


async def test_an_answer_that_fills_the_window_is_dropped_and_asked_for_behind_a_compaction(tmp_path: Path) -> None:
    """Wire page 7, `model_context_window_exceeded`: treated as truncated, compacted."""
    cut = "  - {say: half an answ, stop: model_context_window_exceeded}\n"
    run = filled(LongRun(tmp_path, f"turns:\n{reads(2)}{cut}{SUMMARY}  - {{say: Done.}}\n"), 500)
    async with run.opened() as agent:
        result = await agent.submit("Read it.")
    assert (result.reason, result.text) == (EndReason.COMPLETED, "Done.")
    (done,) = run.of(Compacted)
    assert done.trigger is Trigger.OVERFLOW
    assert "half an answ" not in messages_text(run.bodies()[-1])
    assert len(result.usages) == result.requests  # what was dropped was paid for


async def test_a_summary_that_does_not_fit_goes_without_the_oldest_rounds(tmp_path: Path) -> None:
    """F26: history of 117,322 tokens in a window of 121,600, then a result of about 10,000."""
    script = f"turns:\n{reads(3)}{SUMMARY}  - {{say: Done.}}\n"
    run = filled(LongRun(tmp_path, script, env={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "100"}), 900)
    async with run.opened() as agent:
        result = await agent.submit("Read it.")
    assert result.reason is EndReason.COMPLETED
    assert [done.method for done in run.of(Compacted)] == ["model"]


async def test_when_nobody_can_summarize_the_records_speak(tmp_path: Path) -> None:
    """The service refuses every size: the deterministic path."""
    refused = '  - {say: x, faults: [{status: 400, message: "prompt is too long: 9 tokens > 8 maximum", times: 9}]}\n'
    script = f"turns:\n{reads(2)}{refused}  - {{say: Done.}}\n"
    run = filled(LongRun(tmp_path, script, profile=ServiceProfile(window=200_000)))
    async with run.opened() as agent:
        await agent.submit("Read it twice.")
    methods = [done.method for done in run.of(Compacted)]
    assert methods[:1] == ["records"]


async def test_fixed_parts_that_fill_the_window_start_no_loop(tmp_path: Path) -> None:
    """F28: tools, system prompt and instruction files take nearly everything."""
    script = (
        "turns:\n" + "".join(f"  - {{do: [{{run: echo {number}}}]}}\n" for number in range(8)) + "  - {say: Done.}\n"
    )
    run = LongRun(tmp_path, script, env={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "20"})
    (run.project / "CLAUDE.md").write_text("# Rules\n\n" + "Keep to this long rule.\n" * 300)
    async with run.opened() as agent:
        result = await agent.submit("Go.")
    assert result.reason is EndReason.COMPLETED
    assert len(run.of(Compacted)) <= 1
    assert run.of(CompactionFailed)
    assert len(run.of(RequestStarted)) <= 9 + 1


async def test_a_context_that_refills_at_once_is_given_up_on(tmp_path: Path) -> None:
    turn = f"{reads(1)}{SUMMARY}"
    script = f"turns:\n{turn * 12}  - {{say: Done.}}\n"
    run = filled(LongRun(tmp_path, script, env={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "40"}), 1_000)
    async with run.opened() as agent:
        await agent.submit("Read it for ever.")
    assert len(run.of(Compacted)) <= MAX_PASSES


async def test_a_prompt_larger_than_the_window_ends_in_one_clear_sentence(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns:\n  - {say: never}\n")
    async with run.opened() as agent:
        result = await agent.submit("word " * 60_000)
    assert result.reason is not EndReason.COMPLETED
    assert "too long" in result.detail
    assert run.of(Compacted) == []


async def test_a_smaller_window_than_before_is_compacted_to(tmp_path: Path) -> None:
    """F28, third case: a session of a large window goes on in a small one."""
    script = f"turns:\n{reads(4)}  - {{say: Read.}}\n{SUMMARY}  - {{say: Still here.}}\n"
    run = filled(
        LongRun(
            tmp_path,
            script,
            profile=ServiceProfile(window=200_000),
            env={"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000"},
        )
    )
    async with run.opened() as agent:
        await agent.submit("Read it four times.")
    assert run.of(Compacted) == []
    run.environ["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] = "30000"
    async with run.opened() as agent:
        assert (await agent.submit("And now?")).text == "Still here."
    (done,) = run.of(Compacted)
    assert done.after < 30_000


@pytest.mark.req("R308")
async def test_an_interrupt_while_summarizing_changes_nothing(tmp_path: Path) -> None:
    script = f"turns:\n{reads(3)}{SUMMARY}  - {{say: Done.}}\n"
    run = filled(LongRun(tmp_path, script))
    async with run.opened() as agent:

        def stop(_event: AgentEvent) -> None:
            if len(run.of(RequestStarted)) == 4:
                agent.stop()

        run.listeners.append(stop)
        result = await agent.submit("Read it three times.")
    assert result.reason is EndReason.ABORTED_STREAMING
    assert not [entry for entry in read_transcript(run.path).entries if isinstance(entry, MarkerEntry)]
