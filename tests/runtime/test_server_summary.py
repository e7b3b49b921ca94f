"""The service writes the summary of a compaction: on demand, behind the conversation as it is (wire page 5.3, L156 to L164)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compositor.adapters.spending import spent_before
from compositor.context.compaction.ladder import Step
from compositor.loop.effects import EndReason
from compositor.runtime.events import Compacted, CompactionStep
from tests.runtime.long_run import LongRun, large, messages_text

pytestmark = pytest.mark.anyio

READS = "".join(f"  - {{do: [{{read: {name}.txt}}]}}\n" for name in ("one", "two", "three"))
OWN = '  - {when: {text_contains: "<summary>"}, say: "<summary>Written by the model.</summary>"}\n'
SCRIPT = "turns:\n" + READS + OWN + "  - {say: They differ.}\n"


def filled(folder: Path, summaries: str) -> LongRun:
    run = LongRun(folder, f"{SCRIPT}summaries: [{summaries}]\n")
    for name in ("one", "two", "three"):
        (run.project / f"{name}.txt").write_text(large(700, name))
    settings = folder / "home/.claude"
    settings.mkdir(parents=True)
    (settings / "settings.json").write_text(json.dumps({"compositor": {"serverSummary": True}}))
    return run


@pytest.mark.req("R025", "R310", "R311")
async def test_the_service_summarizes_and_the_turn_goes_on(tmp_path: Path) -> None:
    run = filled(tmp_path, '"The service says: one and two are read."')
    async with run.opened() as agent:
        result = await agent.submit("Compare the three files.")
    assert (result.reason, result.text) == (EndReason.COMPLETED, "They differ.")
    (done,) = run.of(Compacted)
    assert done.method == "service"
    (step,) = run.of(CompactionStep)
    assert step.step is Step.SERVER_SUMMARY
    before, asking, after = run.emulator.requests[-3:]
    bodies = run.bodies()[-3:]
    assert bodies[1]["compaction"]["type"] == "summarize"
    assert "Current step" in bodies[1]["compaction"]["instructions"]
    assert messages_text(bodies[1]).startswith(messages_text(bodies[0]).removesuffix("]"))
    assert asking.use.read == before.use.read + before.use.written_5m, "it reads what the request before it wrote"
    assert "compaction" not in bodies[2]
    assert "The service says: one and two are read." in messages_text(bodies[2])
    assert '"type":"compaction"' not in messages_text(bodies[2]), "the signed block is not replayed (L158)"
    assert after.status == 200
    assert "compact-2026-09-04" not in dict(after.request.headers).get("anthropic-beta", "")


@pytest.mark.req("R308")
async def test_where_the_service_writes_none_the_model_is_asked(tmp_path: Path) -> None:
    run = filled(tmp_path, "null")
    async with run.opened() as agent:
        result = await agent.submit("Compare the three files.")
    assert result.reason is EndReason.COMPLETED
    assert [done.method for done in run.of(Compacted)] == ["model"]
    assert "Written by the model." in messages_text(run.bodies()[-1])


async def test_what_the_summary_cost_is_booked(tmp_path: Path) -> None:
    """The top-level counters of that answer are zero; its cost stands in the rounds (wire page 5.3)."""
    run = filled(tmp_path, '"In short."')
    async with run.opened() as agent:
        result = await agent.submit("Compare the three files.")
    assert len(result.usages) == len(run.bodies())
    assert all(usage.total_input > 0 for usage in result.usages)
    assert spent_before(str(run.path), {}).tokens > sum(usage.total_input for usage in result.usages[:-1])
