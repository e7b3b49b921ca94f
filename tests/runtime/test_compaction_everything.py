"""One session with everything that must stand behind a compaction: 33 skills, a plan, todos, nested rules, 12 files, a discovered tool (F27)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compositor.emulator.profile import ServiceProfile
from compositor.runtime.events import CompactionProved
from tests.runtime.long_run import messages_text
from tests.runtime.server_run import ServerRun

pytestmark = pytest.mark.anyio

READS = ", ".join(f"{{read: src/file{number:02}.py}}" for number in range(12))
SCRIPT = f"""
turns:
  - {{say: Set up.}}
  - {{do: [{{call: {{tool: ToolSearch, input: {{query: "echo text"}}}}}}]}}
  - do:
      - {{call: {{tool: TodoWrite, input: {{todos: [{{content: mend the parser, status: in_progress, activeForm: mending}}]}}}}}}
  - {{do: [{READS}]}}
  - {{say: All is read.}}
  - {{when: {{text_contains: "<summary>"}}, say: "<summary>Twelve files were read.</summary>"}}
  - {{do: [{{call: {{tool: mcp__my_server__echo, input: {{text: at once}}}}}}]}}
  - {{when: {{result_contains: "echo: at once"}}, say: Done.}}
"""


def prepared(folder: Path) -> ServerRun:
    run = ServerRun(folder)  # type: ignore[no-untyped-call]
    run.models = ServiceProfile(window=200_000)
    run.environ |= {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000", "CLAUDE_CODE_ENABLE_TASKS": "0"}
    for number in range(33):
        place = run.project / ".claude" / "skills" / f"skill{number:02}"
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(f"---\ndescription: Does thing {number}\n---\nStep one of {number}.\n")
    (run.project / "CLAUDE.md").write_text("# Rules\n\nNever add co-author lines.\n")
    (run.project / "src").mkdir()
    (run.project / "src" / "CLAUDE.md").write_text("Every function here has a docstring.\n")
    for number in range(12):
        (run.project / "src" / f"file{number:02}.py").write_text(f"def f{number}() -> int:\n    return {number}\n")
    return run


def write_plan(run: ServerRun) -> None:
    plans = Path(run.environ["COMPOSITOR_HOME"], "plans")
    plans.mkdir(exist_ok=True)
    (plans / f"{run.path.stem}.md").write_text("1. Mend the parser.\n")


@pytest.mark.req("R245", "R312", "R313", "R317", "R320", "R321", "R327", "R404")
async def test_all_of_it_is_in_the_bytes_of_the_next_request(tmp_path: Path) -> None:
    run = prepared(tmp_path)

    async def work(agent: Any) -> Any:
        return await agent.submit("Find the tool, note what is to be done, read the twelve files.")

    async def compact(agent: Any) -> Any:
        write_plan(run)
        return await agent.compact()

    async def go_on(agent: Any) -> Any:
        return await agent.submit("Use it.")

    result = await run.run(SCRIPT, prompt="/skill07", then=(work, compact, go_on))  # type: ignore[no-untyped-call]
    assert result.text == "Done.", result
    first = run.bodies()[-2]
    text = messages_text(first)
    for number in range(33):
        assert text.count(f"- skill{number:02}: Does thing {number}") == 1, number
    for words in (
        "Twelve files were read.",
        "Step one of 7.",
        "1. Mend the parser.",
        "[>] mend the parser",
        "Never add co-author lines.",
        "Every function here has a docstring.",
    ):
        assert text.count(words) == 1, words
    shown = [number for number in range(12) if f"def f{number}()" in text]
    assert len(shown) == 5, "the five newest; the others are named"
    assert "mcp__my_server__echo" in json.dumps(first["tools"])
    assert run.outcomes()[-1].content == "echo: at once", "a tool that was found can be called at once"
    (proved,) = [event for event in run.events if isinstance(event, CompactionProved)]
    assert proved.report.lost == ()
    assert {one.kind.value for one in proved.report.present} == {"rule", "file", "skill", "plan", "todo", "tool"}
