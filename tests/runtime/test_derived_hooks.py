"""Events for what a call stands for, and for another model: real hooks, whole turns (project-conventions 4.2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compositor.emulator.profile import ServiceProfile
from compositor.errors import UsageError
from compositor.runtime.events import CallEnded
from compositor.types.tools import OutcomeKind
from tests.runtime.long_run import LongRun, messages_text

pytestmark = pytest.mark.anyio

TASKS = """
turns:
  - do: [{call: {tool: TaskCreate, input: {subject: mend the parser, description: all of it}}}]
  - do: [{call: {tool: TaskUpdate, input: {taskId: "1", status: completed}}}]
  - {say: done}
"""


def hooked(folder: Path, script: str, **hooks: str) -> LongRun:
    """A session with one command for each event; what a hook reads is kept under the event's name."""
    run = LongRun(
        folder,
        script,
        profile=ServiceProfile(max_output=128_000),
        env={"ANTHROPIC_MODEL": "claude-opus-5-5", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"},
    )
    settings = folder / "home/.claude"
    settings.mkdir(parents=True)
    listed = {
        event: [{"hooks": [{"type": "command", "command": f"cat > {folder}/{event}.json; {command}"}]}]
        for event, command in hooks.items()
    }
    (settings / "settings.json").write_text(json.dumps({"hooks": listed}))
    return run


def heard(folder: Path, event: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{event}.json").read_text())
    return found


async def test_tasks_are_told_when_they_are_made_and_finished(tmp_path: Path) -> None:
    run = hooked(tmp_path, TASKS, TaskCreated="true", TaskCompleted="true")
    async with run.opened() as agent:
        await agent.submit("Go.")
    created, completed = heard(tmp_path, "TaskCreated"), heard(tmp_path, "TaskCompleted")
    assert (created["hook_event_name"], created["task_subject"]) == ("TaskCreated", "mend the parser")
    assert completed["task_id"] == "1"
    assert [event.outcome.kind for event in run.of(CallEnded)] == [OutcomeKind.DONE] * 2


async def test_a_block_refuses_the_task_with_its_reason(tmp_path: Path) -> None:
    run = hooked(tmp_path, TASKS, TaskCreated="echo not now >&2; exit 2")
    async with run.opened() as agent:
        result = await agent.submit("Go.")
    assert [call.name for call in result.denied] == ["TaskCreate"]
    assert "not now" in messages_text(run.bodies()[1])


async def test_a_worktree_is_not_made_when_its_hook_fails_in_any_way(tmp_path: Path) -> None:
    script = "turns:\n  - do: [{call: {tool: EnterWorktree, input: {name: side}}}]\n  - {say: done}\n"
    run = hooked(tmp_path, script, WorktreeCreate="echo broken >&2; exit 7")
    (run.project / ".git").mkdir()
    async with run.opened() as agent:
        result = await agent.submit("Go.")
    assert [call.name for call in result.denied] == ["EnterWorktree"]
    assert heard(tmp_path, "WorktreeCreate")["name"] == "side"


async def test_a_hook_can_keep_out_a_model_and_hears_of_one(tmp_path: Path) -> None:
    run = hooked(
        tmp_path,
        "turns: [{say: one}, {say: two}]",
        PreModelSwitch=f"grep -q haiku {tmp_path}/PreModelSwitch.json && {{ echo no haiku >&2; exit 2; }}; true",
        PostModelSwitch="true",
    )
    async with run.opened() as agent:
        await agent.submit("One.")
        with pytest.raises(UsageError, match="no haiku"):
            await agent.switch_model("claude-haiku-4-5")
        assert agent.conversation.options.model == "claude-opus-5-5"
        await agent.switch_model("claude-sonnet-5-5")
        await agent.submit("Two.")
    told = heard(tmp_path, "PostModelSwitch")
    assert (told["from_model"], told["to_model"], told["source"]) == ("claude-opus-5-5", "claude-sonnet-5-5", "command")
    assert [body["model"] for body in run.bodies()] == ["claude-opus-5-5", "claude-sonnet-5-5"]
