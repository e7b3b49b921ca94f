"""`compositor memory` as a person and as a program use it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compositor.cli.memory import command


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COMPOSITOR_HOME", str(tmp_path / "state"))
    repo = tmp_path / "repo"
    write(repo / "CLAUDE.md", "# Rules\n\nUse tabs.\n\n@docs/a.md\n")
    write(repo / "docs/a.md", "imported")
    write(repo / "src/CLAUDE.md", "nested")
    write(repo / "src/app.ts", "")
    write(repo / ".claude/rules/ts.md", "---\npaths: 'src/**/*.ts'\n---\nTypes first.")
    write(repo / ".claude/rules/rust.md", "---\npaths: '**/*.rs'\n---\nNo unsafe.")
    write(repo / "GEMINI.md", "other")
    return repo


def run(project: Path, *arguments: str, answers: str = "") -> str:
    result = CliRunner().invoke(command, ["--project", str(project), *arguments], input=answers)
    assert result.exit_code == 0, result.output
    return result.output


def as_json(project: Path, *arguments: str) -> Any:
    return json.loads(run(project, "--json", *arguments))


@pytest.mark.req("R115", "R129")
def test_the_report_says_what_applies_waits_and_is_wrong(project: Path) -> None:
    text = run(project)
    always, nested, waiting = (text.index(title) for title in ("In every request", "Added when", "Rules that wait"))
    assert always < text.index("  CLAUDE.md") < text.index("docs/a.md") < nested < text.index("src/CLAUDE.md") < waiting
    assert "imported by CLAUDE.md" in text
    assert "project: checked into the repository, shared" in text
    assert "for src/**/*.ts" in text
    assert "never matches  .claude/rules/rust.md: no file here matches '**/*.rs'" in text
    assert "not read       GEMINI.md" in text
    assert "read from the cache" in text


@pytest.mark.req("R115")
def test_the_same_as_data(project: Path) -> None:
    found = as_json(project)
    mine = [row for row in found["rows"] if row["path"].startswith(str(project))]
    assert [(row["state"], Path(row["path"]).name) for row in mine] == [
        ("always", "CLAUDE.md"),
        ("always", "a.md"),
        ("nested", "CLAUDE.md"),
        ("waits", "rust.md"),
        ("waits", "ts.md"),
    ]
    assert mine[0]["level"] == "project"
    assert mine[0]["cost_cached"] < mine[0]["cost_uncached"]
    assert mine[1]["chain"] == [str(project / "CLAUDE.md")]
    assert [other["is_read"] for other in found["other_tools"]] == [False]
    assert found["tokens_waiting"] > 0


def test_what_one_path_brings_in(project: Path) -> None:
    rows = [row for row in as_json(project, "--for", "src/app.ts")["rows"] if row["state"] == "applies"]
    assert [(Path(row["path"]).name, row["why"].removeprefix(f"{project}/")) for row in rows] == [
        ("ts.md", "src/app.ts matches 'src/**/*.ts'"),
        ("CLAUDE.md", "its folder lies on the way"),
    ]
    assert "nothing more" in run(project, "--for", "README.md")
    assert "Added when work reaches src/new/x.ts" in run(project, "--for", "src/new/x.ts")


@pytest.mark.req("R138")
def test_an_import_from_outside_is_asked_for_once_and_remembered(project: Path, tmp_path: Path) -> None:
    team = write(tmp_path / "team/rules.md", "team rules")
    write(project / "CLAUDE.md", f"@{team} @{tmp_path}/team/more.md")
    assert f"compositor memory --allow {team}" in run(project)
    text = run(project, "--review", answers="y\nn\n")
    assert "team/rules.md" in text
    assert "you refused" in text
    again = run(project, "--review")
    assert "Import" not in again.split("In every request")[0]
    run(project, "--refuse", str(team))
    assert not [row for row in as_json(project)["rows"] if row["path"] == str(team)]
    run(project, "--allow", str(tmp_path / "team"))
    assert [row["state"] for row in as_json(project)["rows"] if row["path"] == str(team)] == ["always"]


def test_nothing_is_written_without_an_answer(project: Path, tmp_path: Path) -> None:
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    run(project)
    as_json(project, "--for", "src/app.ts")
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_project_without_instruction_files_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    empty = tmp_path / "empty"
    empty.mkdir()
    result = as_json(empty, "--setting-sources", "user")
    assert result["rows"] == []
    assert "No instruction file" in run(empty, "--setting-sources", "user")


def test_an_unknown_price_is_said(project: Path) -> None:
    assert "price of this model is not known" in run(project, "--model", "some-other-model")
