"""An output style reaches the system prompt, in the place that its head asks for."""

import json
from pathlib import Path

import pytest

from tests.runtime.long_run import LongRun, messages_text

pytestmark = pytest.mark.anyio

STYLE = "---\nname: Pirate\ndescription: Says arr\n{more}---\nSay arr.\n"


def styled(folder: Path, name: str, more: str = "", turns: str = "  - {say: Arr.}\n") -> LongRun:
    run = LongRun(folder, f"turns:\n{turns}")
    styles = run.project / ".claude" / "output-styles"
    styles.mkdir(parents=True)
    (styles / "pirate.md").write_text(STYLE.format(more=more))
    (run.project / ".claude" / "settings.json").write_text(json.dumps({"outputStyle": name}))
    return run


async def system(run: LongRun) -> str:
    async with run.opened() as agent:
        await agent.submit("Hello.")
    return "".join(block["text"] for block in run.bodies()[0]["system"])


@pytest.mark.req("R060")
@pytest.mark.parametrize(("more", "keeps"), [("", False), ("keep-coding-instructions: yes\n", True)])
async def test_a_style_of_the_project_takes_the_place_it_asks_for(tmp_path: Path, more: str, keeps: bool) -> None:
    text = await system(styled(tmp_path, "pirate", more))
    assert "# Output style: Pirate\nSay arr." in text
    assert ("# Doing tasks" in text) is keeps


async def test_a_built_in_style_stands_beside_the_instructions(tmp_path: Path) -> None:
    text = await system(styled(tmp_path, "Explanatory"))
    assert "# Output style: Explanatory" in text
    assert "# Doing tasks" in text


@pytest.mark.parametrize("name", ["default", "Nonsense"])
async def test_without_such_a_style_the_default_one_applies(tmp_path: Path, name: str) -> None:
    text = await system(styled(tmp_path, name))
    assert "# Output style" not in text
    assert "# Doing tasks" in text


async def test_the_style_is_named_again_after_fifteen_answers(tmp_path: Path) -> None:
    turns = "  - {do: [{find: '*.txt'}]}\n" * 17 + "  - {say: Arr.}\n"
    run = styled(tmp_path, "Pirate", turns=turns)
    await system(run)
    told = [messages_text(body).count("The output style 'Pirate'") for body in run.bodies()]
    assert told == [*[0] * 15, 1, 1, 1]
