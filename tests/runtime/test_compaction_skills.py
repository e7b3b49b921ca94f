"""What a project brought along stands again behind a compaction, read from the bytes of the next request (F27)."""

from __future__ import annotations

from pathlib import Path

import pytest

from compositor.emulator.profile import ServiceProfile
from compositor.runtime.events import CompactionProved
from tests.runtime.long_run import LongRun, messages_text

pytestmark = pytest.mark.anyio

SCRIPT = """
turns:
  - {say: Deployed.}
  - do:
      - {call: {tool: TaskCreate, input: {subject: mend the parser, description: all of it}}}
  - {say: It is noted.}
  - {say: "<summary>The parser is being mended.</summary>"}
  - {say: I go on.}
  - {say: Deployed again.}
"""


def prepared(folder: Path) -> LongRun:
    run = LongRun(
        folder,
        SCRIPT,
        profile=ServiceProfile(window=200_000),
        env={"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"},
    )
    for number in range(33):
        place = run.project / ".claude" / "skills" / f"skill{number:02}"
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(
            f"---\ndescription: Does thing {number}\n---\nStep one of {number}.\nStep two.\n"
        )
    agents = run.project / ".claude" / "agents"
    agents.mkdir()
    (agents / "tiny.md").write_text("---\nname: tiny\ndescription: Does little\n---\nYou are small.\n")
    return run


def write_plan(run: LongRun) -> None:
    (folder := Path(run.environ["COMPOSITOR_HOME"], "plans")).mkdir(exist_ok=True)
    (folder / f"{run.session_id}.md").write_text("1. Mend the parser.\n2. Test it.\n")


@pytest.mark.req("R320", "R321", "R325", "R339", "R404")
async def test_skills_agents_plan_and_tasks_are_there_again_each_once(tmp_path: Path) -> None:
    run = prepared(tmp_path)
    async with run.opened() as agent:
        await agent.submit("/skill07 now")
        await agent.submit("Note what is to be done.")
        write_plan(run)
        assert await agent.compact() is not None
        await agent.submit("Go on.")
        before, after = messages_text(run.bodies()[0]), messages_text(run.bodies()[-1])
        await agent.submit("/skill07 now")
    for number in range(33):
        assert after.count(f"- skill{number:02}: Does thing {number}") == 1, number
    assert after.count("Step one of 7.") == 1
    assert "Its set-up was done" in after
    assert "Step one of 8." not in after
    assert after.count("- tiny: Does little") == 1
    assert after.count("1. Mend the parser.") == 1
    assert after.count("[ ] 1: mend the parser") == 1
    assert before.count("Step one of 7.") == 1
    (proved,) = run.of(CompactionProved)
    assert proved.report.lost == ()
    assert {one.kind.value for one in proved.report.present} == {"skill", "plan", "todo"}
    # What was handed over again is the text itself: the next call of it is only mentioned.
    again = messages_text(run.bodies()[-1])
    assert again.count("Step one of 7.") == 1
    assert "has not changed" in again
