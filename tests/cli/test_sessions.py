"""`compositor sessions`: a list a person can read, and one a program can."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.cli.sessions import command, readable_size, readable_time
from compositor.context.transcript.codec import SessionHeader
from compositor.types.blocks import TextBlock
from compositor.types.entries import UserEntry


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPOSITOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path / "home"


def store(home: Path, session_id: str, cwd: Path, minute: int, prompt: str) -> None:
    cwd.mkdir(exist_ok=True)
    time = f"2026-01-01T10:{minute:02}:00.000Z"
    with JsonlSession.open(home, SessionHeader(session_id=session_id, time=time, cwd=str(cwd))) as session:
        session.append([UserEntry(uuid="1", parent=None, time=time, content=(TextBlock(prompt),))])


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_a_table_newest_first(home: Path, tmp_path: Path) -> None:
    store(home, "older", tmp_path / "p", 1, "fix [bold]the[/bold] test")
    store(home, "newer", tmp_path / "p", 2, "add a flag")
    shown = run("--project", tmp_path / "p")
    assert shown.exit_code == 0
    titles, first, second, *_ = shown.output.splitlines()
    assert titles.split() == ["session", "last", "used", "(UTC)", "turns", "size", "first", "prompt"]
    assert first.split()[:4] == ["newer", "2026-01-01", "10:02", "1"]
    assert second.endswith("fix [bold]the[/bold] test")


def test_the_current_directory_is_the_project(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(home, "here", tmp_path / "p", 1, "a")
    store(home, "there", tmp_path / "q", 1, "b")
    monkeypatch.chdir(tmp_path / "p")
    assert [row["session_id"] for row in json.loads(run("--json").output)] == ["here"]


def test_all_projects(home: Path, tmp_path: Path) -> None:
    store(home, "here", tmp_path / "p", 1, "a")
    store(home, "there", tmp_path / "q", 2, "b")
    rows = json.loads(run("--all", "--json").output)
    assert [(row["session_id"], row["project"]) for row in rows] == [
        ("there", str(tmp_path / "q")),
        ("here", str(tmp_path / "p")),
    ]
    assert str(tmp_path / "q") in run("--all").output.replace("\n", "")


def test_json_gives_every_field(home: Path, tmp_path: Path) -> None:
    store(home, "here", tmp_path / "p", 1, "a")
    (row,) = json.loads(run("--json", "--project", tmp_path / "p").output)
    assert row.keys() == {
        "session_id",
        "project",
        "path",
        "started",
        "updated",
        "prompt",
        "turns",
        "size",
        "forked_from",
    }
    assert (row["prompt"], row["turns"], row["started"]) == ("a", 1, "2026-01-01T10:01:00.000Z")


def test_no_sessions_is_explained(home: Path, tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    assert run("--all").output.startswith("There are no sessions yet.")
    assert run("--all", "--json").output.strip() == "[]"
    store(home, "here", tmp_path / "p", 1, "a")
    shown = run("--project", tmp_path / "q")
    assert shown.exit_code == 0
    assert shown.output.startswith(f"There are no sessions for {tmp_path / 'q'} yet.")
    assert "--all lists them" in shown.output


def test_a_project_that_is_no_directory_is_refused(home: Path, tmp_path: Path) -> None:
    shown = run("--project", tmp_path / "none")
    assert shown.exit_code == 2
    assert "does not exist" in shown.output


def test_the_list_makes_no_folder(home: Path, tmp_path: Path) -> None:
    run("--project", tmp_path)
    assert not home.exists()


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (4_100, "4.1 kB"), (2_650_000, "2.6 MB")])
def test_sizes_read_well(size: int, text: str) -> None:
    assert readable_size(size) == text


def test_times_read_well() -> None:
    assert readable_time("2026-01-31T12:34:56.789Z") == "2026-01-31 12:34"
