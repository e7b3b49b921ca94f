"""Another model when the chosen one gives no answer, and nothing done twice for a request that is sent again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compositor.emulator.profile import ServiceProfile
from compositor.loop.effects import EndReason
from compositor.runtime.driver import ask_model
from compositor.runtime.events import HeadRenewed
from tests.runtime.long_run import LongRun
from tests.runtime.test_agent import Run

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited, without waiting; chance is out of the game."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    def ask(*words: Any, **named: Any) -> Any:
        return ask_model(*words, **{**named, "sleep": sleep})

    monkeypatch.setattr("compositor.runtime.line.ask_model", ask)
    monkeypatch.setattr("compositor.lining.random.random", lambda: 0.0)
    return waited


def turn(*faults: str) -> str:
    listed = "".join(f"      - {fault}\n" for fault in faults)
    return f"turns:\n  - say: fine\n    faults:\n{listed}"


async def test_a_retry_runs_no_generator_and_no_tool(project: Path, waits: list[float]) -> None:
    """R011: what was collected for the request is collected once, however often it is sent."""
    from compositor.runtime.events import NotesCollected

    run = Run(project, turn("{status: 529, times: 3}"))
    await run.submit("Go.")
    assert len(run.of(NotesCollected)) == 1
    assert len(waits) == 3


@pytest.mark.req("R015")
async def test_another_model_is_asked_when_the_chosen_one_gives_no_answer(project: Path, waits: list[float]) -> None:
    """It stays for the session; the switch is a prefix event with its cause, and thinking of the first model is not sent to it (F05)."""
    script = (
        "turns:\n"
        "  - {think: I look., do: [{find: '*'}]}\n"
        "  - {when: {model: claude-opus-5-5}, say: never, faults: [{status: 529, times: 99}]}\n"
        "  - {say: Here instead.}\n"
    )
    run = Run(project, script, model="claude-opus-5-5", fallback_models=("claude-haiku-4-5",))
    result = await run.submit("Go.")
    assert (result.reason, result.text) == (EndReason.COMPLETED, "Here instead.")
    assert waits == [0.5, 1.0, 2.0], "patience is short while another model may be asked"
    bodies = run.bodies()
    assert [body["model"] for body in bodies][-1] == "claude-haiku-4-5"
    assert '"thinking"' in str(bodies[-2]).replace("'", '"')
    assert "I look." not in str(bodies[-1]["messages"])
    events = [event.event for event in run.of(HeadRenewed) if isinstance(event, HeadRenewed)]
    assert [event.name.value for event in events] == ["model_switch"]
    assert "claude-opus-5-5 before, claude-haiku-4-5" in events[0].cause
    again = Run(project, "turns: [{say: still here}]", model="claude-haiku-4-5")
    assert (await again.submit("And?", resume=run.path.stem)).text == "still here"


async def test_without_another_model_the_failure_is_told(project: Path, waits: list[float]) -> None:
    run = Run(project, turn("{status: 529, times: 99}"))
    assert (await run.submit("Go.")).reason is EndReason.API_ERROR
    assert len(waits) == 10


async def test_a_person_can_switch_the_model_in_the_middle(tmp_path: Path) -> None:
    run = LongRun(
        tmp_path,
        "turns: [{think: Well., say: one}, {say: two}]",
        profile=ServiceProfile(max_output=128_000),
        env={"ANTHROPIC_MODEL": "claude-opus-5-5"},
    )
    async with run.opened() as agent:
        await agent.submit("First.")
        assert await agent.switch_model("claude-sonnet-5-5") == "claude-sonnet-5-5"
        assert (await agent.submit("Second.")).text == "two"
    first, second = run.bodies()
    assert (first["model"], second["model"]) == ("claude-opus-5-5", "claude-sonnet-5-5")
    assert "Well." not in str(second["messages"])
