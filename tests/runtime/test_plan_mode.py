"""Plan mode on both lines: what the model is told, and what the gate refuses whether or not it was told (R366)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compositor.adapters.collectors.reminders import ReminderCollector
from compositor.runtime.events import CallJudged
from compositor.types.collected import Collected, Moment
from compositor.types.verdicts import Deny
from tests.runtime.long_run import LongRun, messages_text

pytestmark = pytest.mark.anyio

WRITES = (
    '{write: {path: new.txt, content: "x"}}',
    '{edit: {path: old.txt, old: "as it was", new: "changed"}}',
    '{run: "echo x > shell.txt"}',
    '{run: "sed -i s/was/is/ old.txt"}',
    '{run: "rm old.txt"}',
    "{run: \"python3 -c 'open(1)'\"}",
)


def planning(folder: Path, turns: str, *, asks: bool = False) -> LongRun:
    run = LongRun(folder, f"turns:\n{turns}", asks=asks)
    (run.project / "old.txt").write_text("as it was\n")
    (run.project / ".claude").mkdir()
    rules = {"permissions": {"defaultMode": "plan", "allow": ["Write", "Edit", "Bash"]}}
    home = Path(run.environ["HOME"], ".claude")
    home.mkdir(parents=True)
    (home / "settings.json").write_text(json.dumps(rules))
    return run


def disobedient() -> str:
    calls = "".join(f"  - {{do: [{call}]}}\n" for call in ("{read: old.txt}", *WRITES))
    return f"{calls}  - {{say: Oh.}}\n"


def plans(run: LongRun) -> list[Path]:
    return list(Path(run.environ["COMPOSITOR_HOME"], "plans").glob("*.md"))


def files(run: LongRun) -> dict[str, str]:
    return {path.name: path.read_text() for path in run.project.iterdir() if path.is_file()}


@pytest.mark.req("R366", "R188")
@pytest.mark.parametrize("reminded", [True, False])
async def test_a_model_that_does_not_obey_writes_nothing_with_and_without_the_reminder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reminded: bool
) -> None:
    async def says_nothing(_self: ReminderCollector, _moment: Moment) -> Collected:
        return Collected()

    if not reminded:
        monkeypatch.setattr(ReminderCollector, "collect", says_nothing)
    run = planning(tmp_path, disobedient())
    async with run.opened() as agent:
        await agent.submit("Change it.")
    assert files(run) == {"old.txt": "as it was\n"}
    assert ("Plan mode is on" in messages_text(run.bodies()[0])) is reminded
    judged = run.of(CallJudged)
    assert [type(event.verdict) is Deny for event in judged] == [False, *([True] * len(WRITES))]


@pytest.mark.req("R344")
async def test_the_mode_is_told_when_it_begins_now_and_then_and_when_it_ends(tmp_path: Path) -> None:
    turns = "".join("  - {do: [{read: old.txt}]}\n" for _ in range(20)) + (
        '  - {do: [{call: {tool: ExitPlanMode, input: {plan: "1. Change it."}}}]}\n'
        '  - {do: [{write: {path: new.txt, content: "x"}}]}\n'
        "  - {say: Done.}\n"
    )
    run = planning(tmp_path, turns, asks=True)
    async with run.opened() as agent:
        await agent.submit("Plan it.")
    texts = [messages_text(body) for body in run.bodies()]
    assert texts[0].count("Plan mode is on.") == 1
    assert texts[14].count("Plan mode is still on") == 0
    assert texts[20].count("Plan mode is still on") == 1
    assert texts[20].count("Plan mode is on.") == 1
    assert "Plan mode is off" in texts[21]
    assert files(run)["new.txt"] == "x"
    (plan,) = plans(run)
    assert plan.read_text() == "1. Change it."


@pytest.mark.req("R344")
async def test_open_tasks_are_told_again_after_ten_answers_without_a_look(tmp_path: Path) -> None:
    turns = '  - {do: [{call: {tool: TaskCreate, input: {subject: "Mend it", description: "All of it"}}}]}\n'
    turns += "".join("  - {do: [{read: old.txt}]}\n" for _ in range(23)) + "  - {say: Done.}\n"
    run = LongRun(tmp_path, f"turns:\n{turns}", env={"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"})
    (run.project / "old.txt").write_text("as it was\n")
    async with run.opened() as agent:
        await agent.submit("Work.")
    told = [messages_text(body).count("has not been touched for a while") for body in run.bodies()]
    assert told[:11] == [0] * 11
    assert (told[11], told[-1]) == (1, 2)
    assert "[ ] 1: Mend it" in messages_text(run.bodies()[-1])
