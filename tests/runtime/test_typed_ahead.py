"""What is typed while a turn is under way: order, origin, hooks, and that files are kept before a turn changes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters.checkpoints import FileHistory
from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.context.messages.human import is_human_prompt
from compositor.emulator.transport import EmulatorTransport
from compositor.opened import Opening, open_session
from compositor.policy.rules import parse_rule
from compositor.ports import Presence
from compositor.runtime.agent import Agent
from compositor.runtime.events import AgentEvent, CallEnded, CallJudged, TypedJoined
from compositor.runtime.typed_ahead import TypedAhead
from compositor.types.verdicts import Allow, PermissionRule, RuleEffect
from compositor.wiring import build_agent
from tests.runtime.test_agent import ENDPOINT, No, Run, Yes

pytestmark = pytest.mark.anyio

LOOK = "turns:\n  - {do: [{read: a.txt}]}\n  - {say: done}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    return folder


async def play(run: Run, presence: Presence, prompt: str = "go", asker: Any = None) -> Agent:
    opened = open_session(Opening(flags=run.flags, project=str(run.project), environ=run.environ, interactive=True))
    run.opened = opened
    async with AnthropicTransport(ENDPOINT, transport=EmulatorTransport(run.emulator)) as transport:
        agent, store = build_agent(
            opened, transport=transport, watch=run.events.append, asker=asker or No(), presence=presence
        )
        with store:
            await agent.submit(prompt)
    return agent


def said(event: AgentEvent) -> str:
    return event.text if isinstance(event, TypedJoined) else ""


@pytest.mark.req("R211", "R376")
async def test_what_is_typed_joins_behind_the_results_in_its_own_words(project: Path) -> None:
    typed: TypedAhead[str] = TypedAhead()
    typed.add("look at the tests too", text="look at the tests too")
    run = Run(project, LOOK)
    agent = await play(run, Presence(typed=typed.joining))
    first, second = run.bodies()
    assert "look at the tests too" not in json.dumps(first)
    last = second["messages"][-1]  # type: ignore[index]
    assert last["role"] == "user"
    texts = [block["text"] for block in last["content"] if block["type"] == "text"]
    assert "look at the tests too" in texts
    prompts = [entry for entry in agent.conversation.prefix.entries if is_human_prompt(entry)]
    assert len(prompts) == 2
    assert [said(event) for event in run.events if said(event)] == ["look at the tests too"]


@pytest.mark.req("R375")
async def test_a_hook_that_blocks_keeps_it_from_the_model(project: Path) -> None:
    folder = project / ".claude"
    folder.mkdir()
    command = 'grep -q secret && echo \'{"decision": "block", "reason": "no secrets"}\'; exit 0'
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}
    run = Run(project, LOOK, settings=json.dumps({"hooks": hooks}))
    typed: TypedAhead[str] = TypedAhead()
    typed.add("the secret", text="the secret")
    await play(run, Presence(typed=typed.joining))
    assert "the secret" not in json.dumps(run.bodies())
    (joined,) = [event for event in run.events if isinstance(event, TypedJoined)]
    assert joined.refusal is not None
    assert "no secrets" in joined.refusal


def test_nothing_overtakes_what_waits_for_a_turn_of_its_own() -> None:
    typed: TypedAhead[str] = TypedAhead()
    for item, text in (("a", "a"), ("/clear", None), ("b", "b")):
        typed.add(item, text=text)
    assert typed.joining() == ("a",)
    assert typed.joining() == ()
    assert typed.take_back() == "b"
    assert (typed.next(), typed.next(), len(typed)) == ("/clear", None, 0)


async def test_a_rule_for_the_session_lets_the_call_through_and_is_named(project: Path) -> None:
    rule = parse_rule("Bash(touch made)", effect=RuleEffect.ALLOW, level="session", base=str(project))
    assert isinstance(rule, PermissionRule)
    run = Run(project, "turns:\n  - {do: [{run: touch made}]}\n  - {say: done}\n")
    await play(run, Presence(session_rules=lambda: (rule,)))
    (judged,) = [event for event in run.events if isinstance(event, CallJudged)]
    assert isinstance(judged.verdict, Allow)
    assert judged.verdict.rule is not None
    assert (judged.verdict.rule.text, judged.verdict.rule.level) == ("Bash(touch made)", "session")
    assert (project / "made").exists()


async def test_files_are_kept_before_a_turn_changes_them(project: Path) -> None:
    script = "turns:\n  - {do: [{read: a.txt}]}\n  - {do: [{edit: {path: a.txt, old: alpha, new: omega}}]}\n  - {say: done}\n"
    run = Run(project, script)
    agent = await play(run, Presence(), asker=Yes())
    assert (project / "a.txt").read_text() == "omega\n"
    assert [event.outcome.kind.value for event in run.events if isinstance(event, CallEnded)] == ["done", "done"]
    assert run.opened is not None
    history = FileHistory(Path(run.opened.home), run.opened.header.session_id, run.opened.clock)
    (prompt,) = [entry.uuid for entry in agent.conversation.prefix.entries if is_human_prompt(entry)]
    assert [point.id for point in history.points] == [prompt]
    history.restore([prompt])
    assert (project / "a.txt").read_text() == "alpha\n"


async def test_no_history_where_the_settings_want_none(project: Path) -> None:
    script = "turns:\n  - {do: [{write: {path: b.txt, content: x}}]}\n  - {say: done}\n"
    run = Run(project, script, settings='{"fileCheckpointingEnabled": false}')
    await play(run, Presence(), asker=Yes())
    assert (project / "b.txt").exists()
    assert not (project.parent / "state" / "file-history").exists()
