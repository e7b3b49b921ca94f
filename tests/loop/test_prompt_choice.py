"""What the session's settings make of the system prompt: branch, path and variant, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compositor.config.flags import Flags, PromptText
from compositor.opened import Opened, Opening, open_session


def opened(folder: Path, flags: Flags | None = None, environ: dict[str, str] | None = None, **own: Any) -> Opened:
    project = folder / "p"
    (project / ".claude").mkdir(parents=True, exist_ok=True)
    (project / ".claude" / "settings.json").write_text(json.dumps({"compositor": own}))
    found = {"HOME": str(folder / "home"), "COMPOSITOR_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
    return open_session(Opening(flags=flags or Flags(), project=str(project), environ=found | (environ or {})))


def said(one: Opened) -> tuple[str, list[str]]:
    """The sentence about the branch, and the prompts that were given and not used."""
    (choice,) = [note.message for note in one.diagnostics if note.code == "prompt.branch"]
    omissions = one.conversation.prefix.head.parts.omissions
    return choice, [omission.what for omission in omissions if omission.what.endswith(" prompt")]


def static_text(one: Opened) -> str:
    return "".join(fragment.text for fragment in one.conversation.prefix.head.parts.system[0])


@pytest.mark.req("R045", "R082")
def test_branch_path_and_unused_inputs_are_said(tmp_path: Path) -> None:
    switch = {"COMPOSITOR_COORDINATOR": "1"}
    custom = Flags(system_prompt=PromptText("Only this."))
    assert said(opened(tmp_path)) == ("system prompt: the branch 'default' applies, made by the standard path", [])
    autonomous = opened(tmp_path, autonomous=True)
    assert said(autonomous) == ("system prompt: the branch 'default' applies, made by the autonomous path", [])
    coordinator = opened(tmp_path, custom, switch, coordinator=True)
    assert said(coordinator) == ("system prompt: the branch 'coordinator' applies", ["custom prompt", "default prompt"])
    assert said(opened(tmp_path, custom, switch)) == ("system prompt: the branch 'custom' applies", ["default prompt"])
    used = said(opened(tmp_path, custom, autonomous=True))
    assert used == ("system prompt: the branch 'custom' applies", ["proactive prompt", "default prompt"])


@pytest.mark.req("R029", "R041")
def test_each_reader_has_static_bytes_of_its_own_and_keeps_them(tmp_path: Path) -> None:
    texts = {
        reader: {static_text(opened(tmp_path / reader / str(number), reader=reader)) for number in range(2)}
        for reader in ("expert", "learner")
    }
    assert [len(found) for found in texts.values()] == [1, 1]
    assert texts["expert"] != texts["learner"]
    assert texts["expert"] == {static_text(opened(tmp_path / "unset"))}


@pytest.mark.req("R043")
@pytest.mark.parametrize(("value", "blocks"), [("1", 1), ("0", 2), ("", 2)])
def test_the_switch_of_the_minimal_prompt_can_be_off(tmp_path: Path, value: str, blocks: int) -> None:
    one = opened(tmp_path, environ={"COMPOSITOR_MINIMAL": value})
    assert len(one.conversation.prefix.head.parts.system) == blocks


@pytest.mark.req("R249")
def test_ability_and_persona_travel_in_regions_of_their_own(tmp_path: Path) -> None:
    def tools(one: Opened) -> list[bytes]:
        return [chunk.data for chunk in one.conversation.prefix.head.tools]

    plain = opened(tmp_path / "plain")
    personas = (
        opened(tmp_path / "custom", Flags(system_prompt=PromptText("You are a pirate."))),
        opened(tmp_path / "appended", Flags(append_system_prompt=(PromptText("Answer in rhyme."),))),
        opened(tmp_path / "learner", reader="learner"),
        opened(tmp_path / "autonomous", autonomous=True),
    )
    assert all(tools(one) == tools(plain) for one in personas)
    assert len({static_text(one) for one in (plain, *personas)}) >= 4
    fewer = opened(tmp_path / "fewer", Flags(tools=("Read", "Grep")))
    assert len(tools(fewer)) == 2
    assert static_text(fewer) == static_text(plain)
