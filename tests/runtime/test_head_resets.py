"""Reset events: sections and options computed anew in one step, and nothing in between (R071 to R074, R421)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec.structs
import pytest

from compositor.config.flags import Flags
from compositor.loop.session import renew_head
from compositor.opened import Opening, open_session
from compositor.runtime.events import Compacted, HeadRenewed, RequestStarted
from compositor.types.snapshot import EventName, PrefixEvent
from tests.runtime.long_run import LongRun

pytestmark = pytest.mark.anyio

SAYS = "turns:\n" + "".join(f"  - {{say: Answer {number}.}}\n" for number in range(12))


def system_of(body: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in body["system"])


def make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "x"], cwd=folder, check=True)


def settings(run: LongRun, **values: Any) -> None:
    folder = run.project / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(values))


@pytest.mark.req("R009", "R074")
async def test_between_resets_no_switch_changes_a_byte(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS)
    settings(run, language="Greek")
    async with run.opened() as agent:
        for number in range(6):
            await agent.submit(f"Question {number}.")
            settings(run, language=f"Language {number}", compositor={"lengthAnchors": number % 2 == 0})
            (run.project / "CLAUDE.md").write_text(f"Rule {number}.\n")
    assert len({json.dumps([body["tools"], system_of(body)]) for body in run.bodies()}) == 1
    assert run.of(HeadRenewed) == []


@pytest.mark.req("R071", "R072", "R073", "R109")
async def test_a_compaction_computes_sections_contexts_and_options_anew(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS)
    settings(run, language="Greek")
    (run.project / "CLAUDE.md").write_text("Old rule.\n")
    async with run.opened() as agent:
        await agent.submit("Question.")
        settings(run, language="Finnish", effortLevel="low")
        (run.project / "CLAUDE.md").write_text("New rule.\n")
        assert await agent.compact() is not None
        await agent.submit("Go on.")
        assert agent.conversation.prefix.events[-1].name is EventName.COMPACT
    before, after = run.bodies()[0], run.bodies()[-1]
    assert "Greek" in system_of(before)
    assert "Finnish" in system_of(after)
    assert after["output_config"] == {"effort": "low"}
    assert before["system"][0]["text"] == after["system"][0]["text"]
    assert before["tools"] == after["tools"]
    assert "New rule." in json.dumps(after["messages"])
    assert "Old rule." not in json.dumps(after["messages"])
    assert len(run.of(Compacted)) == 1


@pytest.mark.req("R071", "R072")
async def test_another_worktree_is_a_reset_with_its_reason(tmp_path: Path) -> None:
    script = (
        "turns:\n"
        "  - {do: [{call: {tool: EnterWorktree, input: {name: side}}}]}\n"
        "  - {say: There.}\n"
        "  - {do: [{call: {tool: ExitWorktree, input: {action: keep}}}]}\n"
        "  - {say: Back.}\n"
    )
    run = LongRun(tmp_path, script)
    make_repository(run.project)
    async with run.opened() as agent:
        await agent.submit("Work beside it.")
        await agent.submit("Come back.")
    renewed = [event.event for event in run.of(HeadRenewed)]
    assert [event.name for event in renewed] == [EventName.WORKTREE, EventName.WORKTREE]
    assert {event.cause for event in renewed} == {"the working directory changed"}
    places = [f"- Working directory: {run.project}/.claude/worktrees/side" in system_of(body) for body in run.bodies()]
    assert places == [False, True, True, False]


@pytest.mark.req("R283", "R421")
async def test_the_debug_switch_marks_each_request_as_a_deliberate_break(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS, env={"COMPOSITOR_DEBUG_RECOMPUTE": "1"})
    async with run.opened() as agent:
        await agent.submit("One.")
        await agent.submit("Two.")
    assert len(run.of(HeadRenewed)) == len(run.of(RequestStarted)) == 2
    assert all("deliberate break" in event.event.cause for event in run.of(HeadRenewed))


@pytest.mark.req("R064")
async def test_the_scratchpad_is_there_for_commands_and_its_name_is_the_same_everywhere(tmp_path: Path) -> None:
    script = 'turns:\n  - {do: [{run: "echo made > $COMPOSITOR_SCRATCHPAD/x && pwd -P"}]}\n  - {say: Done.}\n'
    systems = set()
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        run = LongRun(folder, script)
        async with run.opened() as agent:
            await agent.submit("Write a scratch file.")
        (made,) = (folder / "state" / "scratch").glob("*/x")
        assert made.read_text() == "made\n"
        assert made.parent.stat().st_mode & 0o077 == 0
        systems.add(next(line for line in system_of(run.bodies()[0]).split("\n") if "COMPOSITOR_SCRATCHPAD" in line))
    assert len(systems) == 1


@pytest.mark.req("R421")
async def test_the_debug_switch_is_named_in_what_explain_shows(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS, env={"COMPOSITOR_DEBUG_RECOMPUTE": "1"})
    opening = Opening(flags=Flags(), project=str(run.project), environ=run.environ)
    notes = {note.code: note.message for note in open_session(opening).diagnostics}
    assert "deliberate break" in notes["prompt.debug"]


@pytest.mark.req("R283")
async def test_other_betas_behind_a_reset_are_named(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS)
    async with run.opened() as agent:
        await agent.submit("One.")
        before = agent.conversation
        options = msgspec.structs.replace(before.options, betas=("new-beta-2026-01-01",))
        event = PrefixEvent(name=EventName.WORKTREE, cause="the working directory changed")
        renewed = renew_head(before, before.prefix.head.parts, options, event)
    cause = renewed.prefix.events[-1].cause
    assert cause.startswith("the working directory changed; betas ")
    assert cause.endswith("new-beta-2026-01-01 now")


@pytest.mark.req("R071", "R072", "R149")
async def test_a_clear_begins_anew_with_everything_computed_anew(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS)
    settings(run, language="Greek")
    async with run.opened() as agent:
        await agent.submit("The secret word is heron.")
        settings(run, language="Finnish")
        await agent.clear()
        assert agent.conversation.leaf is None
        await agent.submit("Hello.")
    first, second = run.bodies()
    assert "heron" not in json.dumps(second)
    assert "Greek" in system_of(first)
    assert "Finnish" in system_of(second)
    (renewed,) = run.of(HeadRenewed)
    assert (renewed.event.name, renewed.event.cause) == (EventName.CLEAR, "the user began anew")
    assert "heron" in run.path.read_text()
    async with run.opened() as agent:
        await agent.submit("And now?")
    assert "heron" not in json.dumps(run.bodies()[-1])
    assert "Hello." in json.dumps(run.bodies()[-1])


async def test_a_clear_is_remembered_although_nothing_was_said_after_it(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS)
    async with run.opened() as agent:
        await agent.submit("The secret word is heron.")
        await agent.clear()
    async with run.opened() as agent:
        await agent.submit("Hello.")
    assert "heron" not in json.dumps(run.bodies()[-1])
