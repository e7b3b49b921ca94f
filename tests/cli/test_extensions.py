"""`compositor skills`, `commands` and `agents` as a person and as a program use them."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from compositor.cli.agents import command as agents
from compositor.cli.commands import command as commands
from compositor.cli.skills import command as skills


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    files = {
        "skills/deploy/SKILL.md": "---\ndescription: Ships it\n---\nDeploy.",
        "skills/empty/SKILL.md": "",
        "commands/deploy.md": "An older way.",
        "commands/review.md": "Look at $0.",
        "agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews\ncolor: [1]\n---\nYou review.",
        "agents/notes.md": "Only notes.",
    }
    for name, text in files.items():
        path = tmp_path / "repo/.claude" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "repo"


def run(command: click.Command, project: Path, *arguments: str) -> str:
    result = CliRunner().invoke(command, ["--project", str(project), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def rows(command: click.Command, project: Path, *arguments: str) -> dict[str, Any]:
    (found,) = json.loads(run(command, project, "--json", *arguments)).values()
    return {row["name"]: row for row in found}


def test_skills_say_what_counts_and_what_was_refused(project: Path) -> None:
    text = run(skills, project)
    assert "1 skills count here" not in text
    assert "1 skill counts here" in text
    assert "deploy  (project)  .claude/skills/deploy/SKILL.md" in text
    assert "refused   empty  .claude/skills/empty/SKILL.md: it has no text" in text


def test_a_command_that_a_skill_shadows_names_it(project: Path) -> None:
    found = rows(commands, project)
    assert found["review"]["state"] == "active"
    assert found["deploy"]["state"] == "shadowed"
    assert ".claude/skills/deploy/SKILL.md has the same name" in found["deploy"]["reason"]


def test_agents_of_files_and_of_the_command_line(project: Path) -> None:
    found = rows(agents, project, "--agents", '{"quick": {"description": "d", "prompt": "p"}}')
    assert {name: row["state"] for name, row in found.items()} == {
        "quick": "active",
        "reviewer": "active",
        "notes": "refused",
        "Explore": "active",
        "Plan": "active",
        "general-purpose": "active",
    }
    assert found["reviewer"]["problems"] == ["'color' must be text and is ignored"]
    assert found["quick"]["place"] == "command line"


def test_a_skill_that_the_settings_switch_off_is_named(project: Path) -> None:
    found = rows(skills, project, "--settings", '{"skillOverrides": {"deploy": "off"}}')
    assert found["deploy"]["state"] == "off"
    assert "skillOverrides" in found["deploy"]["reason"]


def test_a_wrong_agents_value_is_one_sentence(project: Path) -> None:
    from compositor.errors import UsageError

    result = CliRunner().invoke(agents, ["--project", str(project), "--agents", "nonsense"])
    assert isinstance(result.exception, UsageError)
