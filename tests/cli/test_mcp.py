"""`compositor mcp` and `compositor tools`: adding, listing, approving, testing and removing servers; what tools cost."""

import json
import sys
from pathlib import Path

import pytest

from compositor.cli.main import cli, run_command

SERVER = Path(__file__).resolve().parent.parent / "adapters" / "mcp" / "server.py"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPOSITOR_HOME", str(tmp_path / "state"))
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "tools.json").write_text('["echo", "other"]')
    return folder


def run(capsys, *arguments):
    code = run_command(cli, [str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def add(capsys, project, name="small", *more):
    tools = project.parent / "tools.json"
    return run(capsys, "mcp", "add", "--project", project, *more, name, "--", sys.executable, SERVER, tools)


def test_a_server_is_added_tested_and_removed(project, capsys):
    code, out, _ = add(capsys, project)
    assert code == 0
    file = project.parent / "state" / "mcp.json"
    assert str(file) in out
    assert file.stat().st_mode & 0o077 == 0
    code, out, _ = run(capsys, "mcp", "test", "--project", project, "small")
    assert (code, out) == (0, "small: 2 tools, 1 prompts\n")
    code, _, err = add(capsys, project)
    assert code == 2
    assert "already" in err
    assert run(capsys, "mcp", "remove", "--project", project, "small")[0] == 0
    assert "No MCP servers" in run(capsys, "mcp", "list", "--project", project)[1]


def test_a_server_of_another_project_is_not_seen(project, capsys, tmp_path):
    add(capsys, project)
    add(capsys, project, "everywhere", "--scope", "user")
    other = tmp_path / "other"
    other.mkdir()
    rows = json.loads(run(capsys, "mcp", "list", "--json", "--project", other)[1])
    assert [(row["name"], row["scope"]) for row in rows] == [("everywhere", "user")]


def test_a_server_of_the_repository_needs_an_approval_for_what_it_says_now(project, capsys):
    add(capsys, project, "shared", "--scope", "project")
    file = project / ".mcp.json"
    assert "nobody approved it" in run(capsys, "mcp", "list", "--project", project)[1]
    assert run(capsys, "mcp", "test", "--project", project, "shared")[0] == 2
    assert run(capsys, "mcp", "approve", "--project", project, "shared")[0] == 0
    assert run(capsys, "mcp", "test", "--project", project, "shared")[0] == 0
    file.write_text(file.read_text().replace("server.py", "evil.py"))
    assert "nobody approved it" in run(capsys, "mcp", "list", "--project", project)[1]


def test_a_server_that_cannot_start_is_told(project, capsys):
    run(capsys, "mcp", "add", "--project", project, "gone", "--", "/nothing/here")
    code, out, _ = run(capsys, "mcp", "test", "--project", project)
    assert code == 1
    assert "No such file" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x", "https://h/mcp", "--env", "A=b"], "takes no variables"),
        (["x", "--header", "A: b", "--", "cmd"], "takes no headers"),
        (["x", "--transport", "http", "--", "cmd"], "needs one address"),
        (["x", "--env", "novalue", "--", "cmd"], "is no pair"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(project, capsys, arguments, words):
    code, _, err = run(capsys, "mcp", "add", "--project", project, *arguments)
    assert code == 2
    assert words in err


@pytest.mark.req("R250", "R252")
def test_tools_are_listed_with_their_cost_and_the_reasons(project, capsys):
    add(capsys, project)
    report = json.loads(run(capsys, "tools", "--json", "--project", project, "--disallowed-tools", "Write")[1])
    rows = {row["name"]: row for row in report["tools"]}
    assert rows["mcp__small__echo"]["deferred"] is True
    assert rows["Read"]["deferred"] is False
    assert report["tokens"]["in_full"] - report["tokens"]["with_deferral"] == report["tokens"]["saved"]
    assert "Write" not in rows
    assert any("Write" in omission["what"] for omission in report["omitted"])
    alone = run(capsys, "tools", "--no-servers", "--project", project)[1]
    assert "mcp__small" not in alone
    assert "tokens in a request" in alone


@pytest.mark.req("R236")
def test_the_default_list_of_a_run_stays_economical(project, capsys):
    report = json.loads(run(capsys, "tools", "--json", "--project", project)[1])
    assert report["tokens"]["with_deferral"] < 4_500
