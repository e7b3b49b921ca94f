"""Agents beside the conversation, in places of their own, and what hears of them."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from compositor.config.flags import Flags
from compositor.loop.effects import EndReason
from compositor.runtime.events import AgentEnded, AgentWorked, RequestStarted
from tests.runtime.long_run import LongRun
from tests.runtime.working import (
    BESIDE,
    Apart,
    agent_file,
    hand,
    kept_worktrees,
    plain,
    repository,
    system,
    transcripts,
    write_settings,
)

pytestmark = pytest.mark.anyio


@pytest.mark.req("R199", "R376")
async def test_a_report_from_the_background_comes_once_with_the_next_request(tmp_path: Path) -> None:
    reads = "".join("  - {do: [{run: sleep 0.2}]}\n" for _ in range(12))
    script = f"  - {{do: [{hand('tiny', 'Take your time.', run_in_background=True)}]}}\n{reads}  - {{say: Done.}}\n"
    run = LongRun(tmp_path, f"turns:\n{script}")
    run.route = lambda transport: Apart(transport, BESIDE, after=3)
    agent_file(run, "tiny")
    sent: list[int] = []
    run.listeners.append(
        lambda event: sent.append(len(run.of(RequestStarted))) if isinstance(event, AgentEnded) else None
    )
    async with run.opened(with_services=True) as agent:
        result = await agent.submit("Go on meanwhile.")
    assert result.text == "Done."
    told = [plain(body).count("The late report.") for body in run.bodies()]
    assert told[:3] == [0, 0, 0]
    assert told.index(1) == sent[0], "the very next request behind its end"
    assert told[-1] == 1
    assert sorted(told) == told
    assert "A background task, not the user, says:" in plain(run.bodies()[-1])


async def test_a_turn_that_nobody_will_follow_waits_for_the_report(tmp_path: Path) -> None:
    script = f"  - {{do: [{hand('tiny', run_in_background=True)}]}}\n  - {{say: I wait.}}\n  - {{say: Now I know.}}\n"
    run = LongRun(tmp_path, f"turns:\n{script}", asks=False)
    run.route = lambda transport: Apart(transport, BESIDE, after=2)
    agent_file(run, "tiny")
    async with run.opened(with_services=True) as agent:
        result = await agent.submit("Ask somebody.")
    assert result.text == "Now I know."
    assert plain(run.bodies()[-1]).count("The late report.") == 1


async def test_where_somebody_will_type_again_the_report_waits_for_the_next_prompt(tmp_path: Path) -> None:
    script = f"  - {{do: [{hand('tiny', run_in_background=True)}]}}\n  - {{say: I go on.}}\n  - {{say: Now I know.}}\n"
    run = LongRun(tmp_path, f"turns:\n{script}")
    run.route = lambda transport: Apart(transport, BESIDE, after=2)
    agent_file(run, "tiny")
    ended = anyio.Event()
    run.listeners.append(lambda event: ended.set() if isinstance(event, AgentEnded) else None)
    async with run.opened(with_services=True) as agent:
        assert (await agent.submit("Ask somebody.")).text == "I go on."
        await ended.wait()
        assert (await agent.submit("And?")).text == "Now I know."
    assert plain(run.bodies()[-1]).count("The late report.") == 1


async def test_an_agent_in_a_worktree_of_its_own_leaves_the_checkout_alone(tmp_path: Path) -> None:
    write = "{write: {path: made.txt, content: x}}"
    turns = f"  - {{do: [{hand('tiny', isolation='worktree')}]}}\n  - {{do: [{write}]}}\n  - {{say: Made.}}\n  - {{say: So.}}\n"
    turns += f"  - {{do: [{hand('tiny', isolation='worktree')}]}}\n  - {{say: Nothing to do.}}\n  - {{say: So.}}\n"
    run = LongRun(tmp_path, f"turns:\n{turns}")
    agent_file(run, "tiny")
    repository(run.project)
    async with run.opened() as agent:
        await agent.submit("Go.")
        made = plain(run.bodies()[3])
        await agent.submit("Once more.")
    assert not (run.project / "made.txt").exists()
    trees = kept_worktrees(run.project)
    assert [(tree / "made.txt").read_text() for tree in trees] == ["x"]
    assert f"Its work is in the worktree {trees[0]}" in made
    assert "Its work is in" not in plain(run.bodies()[-1]).partition("Once more.")[2]


async def test_agents_of_the_command_line_stand_beside_those_of_files(tmp_path: Path) -> None:
    run = LongRun(tmp_path, f"turns:\n  - {{do: [{hand('quick')}]}}\n  - {{say: Quick.}}\n  - {{say: So.}}\n")
    run.flags = Flags(agents='{"quick": {"description": "Is quick", "prompt": "You are quick."}}')
    async with run.opened() as agent:
        await agent.submit("Go.")
    assert "- quick: Is quick" in plain(run.bodies()[0])
    assert system(run.bodies()[1]).startswith("You are quick.")


async def test_a_command_in_the_background_that_ended_is_told_once(tmp_path: Path) -> None:
    start = '{call: {tool: Bash, input: {command: "echo done > out.txt; exit 3", run_in_background: true}}}'
    wait = '{run: "while pgrep -f out.tx[t]; do sleep 0.1; done; sleep 0.6"}'
    turns = f"  - {{do: [{start}]}}\n  - {{do: [{wait}]}}\n  - {{do: [{{read: out.txt}}]}}\n  - {{say: So.}}\n"
    run = LongRun(tmp_path, f"turns:\n{turns}")
    async with run.opened(with_services=True) as agent:
        await agent.submit("Go.")
    told = [plain(body).count("has ended with exit code 3") for body in run.bodies()]
    assert told == [0, 0, 1, 1]


@pytest.mark.req("R377")
async def test_hooks_hear_of_an_agent_by_its_own_events_and_a_deny_holds_in_it(tmp_path: Path) -> None:
    turns = f"  - {{do: [{hand('tiny')}]}}\n  - {{do: [{{run: touch made}}]}}\n  - {{say: Small.}}\n  - {{say: More.}}\n  - {{say: Done.}}\n"
    run = LongRun(tmp_path, f"turns:\n{turns}")
    agent_file(run, "tiny")
    heard = run.project / "heard"
    once = f"cat >> {heard}; test -e {heard}.stop || {{ touch {heard}.stop; echo 'go on' >&2; exit 2; }}"
    refuse = f"cat >> {heard}; echo never >&2; exit 2"
    events = {
        **{
            name: [{"hooks": [{"type": "command", "command": f"cat >> {heard}"}]}]
            for name in ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStart", "SessionEnd")
        },
        "SubagentStop": [{"matcher": "tiny", "hooks": [{"type": "command", "command": once}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": refuse}]}],
    }
    write_settings(run, {"hooks": events, "permissions": {"allow": ["Bash"]}})
    async with run.opened() as agent:
        await agent.submit("Go")
    said = [json.loads(line) for line in heard.read_text().replace("}{", "}\n{").splitlines()]
    assert [(one["hook_event_name"], one.get("agent_type")) for one in said] == [
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("SubagentStart", "tiny"),
        ("PreToolUse", "tiny"),
        ("SubagentStop", "tiny"),
        ("SubagentStop", "tiny"),
        ("Stop", None),
        ("SessionEnd", None),
    ]
    assert len({one["agent_id"] for one in said if "agent_id" in one}) == 1
    assert not (run.project / "made").exists()


async def test_an_interrupt_ends_the_agent_and_leaves_a_session_that_goes_on(tmp_path: Path) -> None:
    run = LongRun(tmp_path, f"turns:\n  - {{do: [{hand('tiny')}]}}\n  - {{say: Again.}}\n")
    run.route = lambda transport: Apart(transport, BESIDE, after=99)
    agent_file(run, "tiny")
    async with run.opened(with_services=True) as agent:
        run.listeners.append(lambda event: agent.stop() if isinstance(event, AgentWorked) else None)
        with anyio.fail_after(20):
            result = await agent.submit("Go.")
        assert result.reason is EndReason.ABORTED_TOOLS
        assert agent.workers == ()
        run.listeners.clear()
        assert (await agent.submit("Go on.")).text == "Again."
    (result_block,) = [block for block in run.bodies()[-1]["messages"][2]["content"] if block["type"] == "tool_result"]
    assert "interrupted" in json.dumps(result_block)
    assert len(transcripts(run)) == 1
