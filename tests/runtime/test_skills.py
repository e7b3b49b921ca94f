"""Skills in a session: listed once at the tail, invoked by the person and by the model, with commands that pass the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compositor.loop.effects import EndReason
from compositor.runtime.events import CallJudged
from compositor.types.verdicts import Allow, Deny
from tests.runtime.long_run import LongRun, messages_text

pytestmark = pytest.mark.anyio


def skill(run: LongRun, name: str, text: str, *, folder: str = "") -> Path:
    place = run.project / folder / ".claude" / "skills" / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(text)
    return place


def allow(run: LongRun, rule: str) -> None:
    """A rule of the person's own, which no repository can bring."""
    prefer(run, {"permissions": {"allow": [rule]}})


def prefer(run: LongRun, settings: dict[str, Any]) -> None:
    file = Path(run.environ["HOME"], ".claude", "settings.json")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(settings))


def call(name: str, **fields: Any) -> str:
    return json.dumps({"call": {"tool": name, "input": fields}})


def plain(body: Any) -> str:
    return messages_text(body).replace("\\n", "\n").replace('\\"', '"')


@pytest.mark.req("R187", "R200", "R342")
async def test_the_list_comes_once_and_what_is_new_comes_when_it_is_there(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns: [{say: One.}, {say: Two.}, {say: Three.}, {say: Four.}]")
    skill(run, "deploy", "---\ndescription: How to ship it\n---\nShip it.\n")
    async with run.opened() as agent:
        await agent.submit("Hello.")
        await agent.submit("Go on.")
        skill(run, "review", "---\ndescription: How to look at a change\n---\nLook.\n")
        await agent.submit("And now?")
    first, second, third = map(plain, run.bodies())
    assert "- deploy: How to ship it" in first
    assert second.count("- deploy: How to ship it") == 1
    assert third.count("- deploy: How to ship it") == 1
    assert third.count("- review: How to look at a change") == 1
    assert [tool["name"] for tool in run.bodies()[0]["tools"]].count("Skill") == 1
    async with run.opened() as agent:
        await agent.submit("Back again.")
    assert plain(run.bodies()[-1]).count("- deploy: How to ship it") == 1


async def test_a_session_without_skills_has_neither_tool_nor_list(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns: [{say: One.}]")
    async with run.opened() as agent:
        await agent.submit("Hello.")
    assert "Skill" not in [tool["name"] for tool in run.bodies()[0]["tools"]]
    assert "skill" not in messages_text(run.bodies()[0]).lower()


async def test_what_a_person_types_brings_the_text_with_its_arguments(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns: [{say: Done.}, {say: Done.}, {say: Done.}]")
    place = skill(run, "review", "Look at $0 in ${CLAUDE_SKILL_DIR}.\n")
    skill(run, "test", "Then test $ARGUMENTS.\n")
    async with run.opened() as agent:
        await agent.submit("/review /test src/a.py now")
        await agent.submit("/review src/a.py now")
        await agent.submit("/review src/b.py")
    first, second, third = map(plain, run.bodies())
    assert f"Look at src/a.py in {place}." in first
    assert "Then test src/a.py now." in first
    assert "/review /test src/a.py now" in first
    # The same text is not said twice; another one is.
    assert second.count(f"Look at src/a.py in {place}.") == 1
    assert "has not changed" in second
    assert f"Look at src/b.py in {place}." in third


async def test_the_model_loads_a_skill_and_its_text_stands_behind_the_result(tmp_path: Path) -> None:
    run = LongRun(tmp_path, f"turns:\n  - {{do: [{call('Skill', skill='review', args='a.py')}]}}\n  - {{say: Done.}}\n")
    skill(run, "review", "Look well.\n")
    skill(run, "mine", "---\ndisable-model-invocation: true\n---\nOnly a person.\n")
    async with run.opened() as agent:
        await agent.submit("Review it.")
    text = plain(run.bodies()[1])
    assert "Look well." in text
    assert "ARGUMENTS: a.py" in text
    assert "- mine" not in text


@pytest.mark.parametrize(("name", "says"), [("mine", "Only the user can invoke"), ("none", "There is no skill")])
async def test_the_model_is_told_why_a_skill_is_not_to_be_had(tmp_path: Path, name: str, says: str) -> None:
    run = LongRun(tmp_path, f"turns:\n  - {{do: [{call('Skill', skill=name)}]}}\n  - {{say: Oh.}}\n")
    skill(run, "review", "Look well.\n")
    skill(run, "mine", "---\ndisable-model-invocation: true\n---\nOnly a person.\n")
    async with run.opened() as agent:
        await agent.submit("Review it.")
    (result,) = run.bodies()[1]["messages"][-1]["content"][:1]
    assert result["is_error"] is True
    assert says in json.dumps(result)


async def test_commands_of_a_skill_run_through_the_gate_and_nobody_is_asked(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns: [{say: Done.}]")
    (run.project / "notes.txt").write_text("three words here\n")
    skill(
        run,
        "state",
        "The notes: !`cat notes.txt`\n\n```!\npwd > /dev/null\necho said\n```\n!`grep nothing notes.txt`\n\nWork on $0.\n",
    )
    async with run.opened() as agent:
        result = await agent.submit("/state '!`touch made`'")
    assert (result.reason, result.detail) == (EndReason.COMPLETED, "")
    text = plain(run.bodies()[0])
    assert "The notes: three words here\n\nsaid\n\n\nWork on !`touch made`." in text
    assert not (run.project / "made").exists()
    assert all(isinstance(event.verdict, Allow) for event in run.of(CallJudged))


async def test_a_command_that_would_ask_ends_the_turn_and_nothing_is_sent(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns: [{say: Done.}]")
    skill(run, "state", "!`touch made`\n")
    async with run.opened() as agent:
        result = await agent.submit("/state")
    assert result.reason is EndReason.TURN_SETUP_FAILED
    assert "touch made" in result.detail
    assert run.bodies() == []
    assert not (run.project / "made").exists()
    (judged,) = run.of(CallJudged)
    assert isinstance(judged.verdict, Deny)


async def test_a_command_that_fails_keeps_the_skill_out(tmp_path: Path) -> None:
    run = LongRun(tmp_path, f"turns:\n  - {{do: [{call('Skill', skill='state')}]}}\n  - {{say: Oh.}}\n")
    skill(run, "state", "!`cat missing.txt`\n\nWork on.\n")
    async with run.opened() as agent:
        await agent.submit("Look.")
    text = plain(run.bodies()[1])
    assert "was not loaded" in text
    assert "Work on." not in text


async def test_the_settings_can_keep_skills_from_running_commands(tmp_path: Path) -> None:
    run = LongRun(tmp_path, "turns: [{say: Done.}]")
    skill(run, "state", "!`cat notes.txt`\n\nWork on.\n")
    (run.project / ".claude" / "settings.json").write_text('{"disableSkillShellExecution": true}')
    async with run.opened() as agent:
        await agent.submit("/state")
    assert "was not run" in plain(run.bodies()[0])
    assert run.of(CallJudged) == []


GRANTING = "---\nallowed-tools: Bash(touch made*)\ndisallowed-tools: Write\n---\nTouch it.\n"


def touching(name: str, *before: str) -> str:
    steps = "".join(f"  - {{do: [{one}]}}\n" for one in (*before, '{run: "touch made-' + name + '"}'))
    return f"{steps}  - {{say: Done.}}\n"


async def test_what_a_skill_allows_and_forbids_lasts_for_its_turn(tmp_path: Path) -> None:
    write = '{write: {path: other.txt, content: "x"}}'
    run = LongRun(tmp_path, f"turns:\n{touching('one', write)}{touching('two')}", asks=False)
    skill(run, "touch", GRANTING)
    async with run.opened() as agent:
        await agent.submit("/touch")
        await agent.submit("Once more.")
    assert (run.project / "made-one").exists()
    assert not (run.project / "other.txt").exists()
    assert not (run.project / "made-two").exists()


async def test_what_the_model_calls_in_an_untrusted_folder_grants_nothing(tmp_path: Path) -> None:
    run = LongRun(tmp_path, f"turns:\n{touching('one', call('Skill', skill='touch'))}", asks=False)
    skill(run, "touch", GRANTING)
    allow(run, "Skill(touch)")
    async with run.opened() as agent:
        await agent.submit("Do it.")
    assert "Touch it." in plain(run.bodies()[1])
    assert not (run.project / "made-one").exists()


async def test_skills_of_a_folder_below_are_told_when_the_work_gets_there(tmp_path: Path) -> None:
    turns = (
        f"  - {{do: [{{read: api/a.txt}}]}}\n  - {{do: [{call('Skill', skill='api:deploy')}]}}\n  - {{say: Done.}}\n"
    )
    run = LongRun(tmp_path, f"turns:\n{turns}")
    skill(run, "deploy", "---\ndescription: At the top\n---\nThe whole.\n")
    skill(run, "deploy", "---\ndescription: Below\n---\nOnly the api.\n", folder="api")
    skill(run, "python", "---\ndescription: For Python\npaths: '**/*.txt'\n---\nMind the types.\n")
    (run.project / "api" / "a.txt").write_text("x")
    async with run.opened() as agent:
        await agent.submit("Look.")
    first, second, third = map(plain, run.bodies())
    assert "Below" not in first
    assert "For Python" not in first
    assert "- api:deploy: Below" in second
    assert "- python: For Python" in second
    assert third.count("- api:deploy: Below") == 1
    assert "Only the api." in third


@pytest.mark.parametrize("blocks", [False, True])
async def test_a_hook_hears_what_is_typed_and_can_keep_it_out(tmp_path: Path, blocks: bool) -> None:
    run = LongRun(tmp_path, "turns: [{say: Shipped.}]")
    skill(run, "deploy", "---\ndescription: How to ship it\n---\nShip $ARGUMENTS.\n")
    command = f"cat > {run.project}/heard; " + ("echo frozen >&2; exit 2" if blocks else "echo Mind the gap.")
    group = {"matcher": "deploy", "hooks": [{"type": "command", "command": command}]}
    prefer(run, {"hooks": {"UserPromptExpansion": [group]}})
    async with run.opened() as agent:
        result = await agent.submit("/deploy the docs")
    heard = json.loads((run.project / "heard").read_text())
    assert {key: heard[key] for key in ("command_name", "command_args", "command_source", "expansion_type")} == {
        "command_name": "deploy",
        "command_args": "the docs",
        "command_source": "project",
        "expansion_type": "slash_command",
    }
    if blocks:
        assert result.reason is EndReason.TURN_SETUP_FAILED
        assert "frozen" in result.detail
        assert run.bodies() == []
    else:
        assert "Ship the docs." in plain(run.bodies()[0])
        assert "Mind the gap." in plain(run.bodies()[0])
