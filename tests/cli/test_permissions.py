"""`compositor permissions`, `hooks` and `settings`: what they print, what they run, what their exit codes mean."""

import json
from pathlib import Path
from typing import Any

import pytest


def write(folder: Path, value: dict[str, Any]) -> Path:
    file = folder / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(value))
    return file


@pytest.mark.req("R363")
def test_a_call_is_judged_and_nothing_runs(call: Any, home: Path, project: Path) -> None:
    file = write(home, {"permissions": {"deny": ["Bash(rm *)"], "allow": ["Bash(make *)"]}})
    denied = call("permissions", "test", 'Bash({"command": "ls && rm -r greeter.py"})', "--json")
    assert denied.code == 1
    found = json.loads(denied.out)
    assert (found["verdict"], found["rule"], found["level"], found["file"]) == ("deny", "Bash(rm *)", "user", str(file))
    assert [(one["rule"], one["effect"], one["covers"]) for one in found["considered"]] == [
        ("Bash(rm *)", "deny", True),
        ("Bash(make *)", "allow", False),
    ]
    assert (project / "greeter.py").exists()
    allowed = call("permissions", "test", 'Bash({"command": "make | tail -3"})', "--json")
    assert (allowed.code, json.loads(allowed.out)["verdict"], json.loads(allowed.out)["rule"]) == (
        0,
        "allow",
        "Bash(make *)",
    )
    asked = call("permissions", "test", 'mcp__a__b({"x": 1})', "--json")
    assert (asked.code, json.loads(asked.out)["verdict"]) == (1, "ask")
    shown = call("permissions", "test", 'Read({"file_path": "greeter.py"})')
    assert shown.code == 0
    assert shown.out.startswith("allow: the call reads inside the working directories, which the mode")
    unknown = json.loads(call("permissions", "test", "Nope({})", "--json").out)
    assert (unknown["verdict"], unknown["considered"]) == ("deny", [])


@pytest.mark.parametrize("text", ["Bash", "Bash(ls)", "Bash([])", "({})", ""])
def test_what_is_no_call_is_bad_input(call: Any, text: str) -> None:
    ended = call("permissions", "test", text)
    assert ended.code == 2
    assert "is no call" in ended.err


def test_lint_names_what_does_not_do_what_it_seems_to(call: Any, home: Path, project: Path) -> None:
    assert call("permissions", "lint").code == 0
    write(home, {"permissions": {"deny": ["Read(/etc/passwd)", "Bsh(x)"], "allow": ["Bash(a && b)"]}})
    write(project, {"permissions": {"allow": ["Bash(x)"]}, "hooks": {"Nope": []}})
    ended = call("permissions", "lint", "--json")
    assert ended.code == 1
    messages = " | ".join(note["message"] for note in json.loads(ended.out))
    for part in ("probably matches nothing", "does not exist", "compound command", "not trusted", "'Nope'"):
        assert part in messages


def test_a_rule_is_explained_for_a_path(call: Any, project: Path) -> None:
    covered = call("permissions", "explain", "deny Read(src/**)", "lib/src/a.py", "--json")
    assert (covered.code, json.loads(covered.out)["covers"]) == (0, True)
    anchored = call("permissions", "explain", "allow Read(src/**)", "lib/src/a.py", "--json")
    assert (anchored.code, json.loads(anchored.out)["covers"]) == (1, False)
    (project / "link").symlink_to("/etc")
    linked = json.loads(call("permissions", "explain", "allow Read(link/**)", "link/passwd", "--json").out)
    assert (linked["covers"], linked["unmatched"]) == (False, ["/etc/passwd"])
    assert "doubt" in call("permissions", "explain", "Read(/etc/**)", "/etc/passwd").out
    assert call("permissions", "explain", "Bash(ls)", "a").code == 2


def test_hooks_are_listed_and_those_of_an_event_are_run(call: Any, home: Path, project: Path, tmp_path: Path) -> None:
    commands = [{"type": "command", "command": text} for text in ("cat > seen.json", "echo no >&2; exit 2")]
    write(home, {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": commands}]}})
    assert len(json.loads(call("hooks", "list", "--json").out)) == 2
    given = tmp_path / "in.json"
    given.write_text(json.dumps({"tool_name": "Bash", "tool_input": {"command": "ls"}}))
    ended = call("hooks", "test", "PreToolUse", "--input", str(given), "--json")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert [one.get("decision") for one in found["hooks"]] == [None, "deny"]
    assert "no" in found["answer"]["denied"]
    assert json.loads((project / "seen.json").read_text())["tool_name"] == "Bash"
    given.write_text(json.dumps({"tool_name": "Read"}))
    assert "0 of 2 hooks hear this" in call("hooks", "test", "PreToolUse", "--input", str(given)).out
    assert call("hooks", "test", "Nope", "--input", str(given)).code == 2
    given.write_text("[")
    assert call("hooks", "test", "Stop", "--input", str(given)).code == 2


def test_settings_are_shown_with_their_origin_and_secrets_are_not(call: Any, home: Path, project: Path) -> None:
    user = write(home, {"language": "Dutch", "env": {"KEY": "s3cret"}, "permissions": {"deny": ["A"]}})
    shared = write(project, {"permissions": {"deny": ["B"]}})
    found = json.loads(call("settings", "--json").out)
    assert found["values"]["language"]["origins"] == [{"level": "user", "file": str(user), "line": 1}]
    deny = found["values"]["permissions.deny"]
    assert deny["value"] == ["A", "B"]
    assert [one["file"] for one in deny["origins"]] == [str(user), str(shared)]
    assert "s3cret" not in call("settings").out + call("settings", "--json").out


def test_trust_lets_the_rules_of_a_repository_count(call: Any, project: Path) -> None:
    write(project, {"permissions": {"allow": ["Bash(make *)"]}})
    test = ("permissions", "test", 'Bash({"command": "make"})')
    assert call(*test).code == 1
    assert call("settings", "trust").code == 0
    assert call(*test).code == 0
    assert json.loads(call("settings", "--json").out)["trust"]["state"] == "trusted"
    assert call("settings", "trust", "--revoke").code == 0
    assert call(*test).code == 1


def test_an_approved_rule_counts_and_can_be_taken_back(call: Any, home: Path, project: Path) -> None:
    test = ("permissions", "test", 'Bash({"command": "make"})', "--json")
    assert json.loads(call(*test).out)["verdict"] == "ask"
    assert call("permissions", "approve", "Bash(make)").code == 0
    found = json.loads(call(*test).out)
    assert (found["verdict"], found["rule"], found["level"]) == ("allow", "Bash(make)", "local")
    assert found["file"].startswith(str(home / "state" / "approved-rules"))
    assert not (project / ".claude").exists()
    assert call("permissions", "approve", "*").code == 2
    assert call("permissions", "approve", "Bash(make)", "--revoke").code == 0
    assert call("permissions", "approve", "Bash(make)", "--revoke").code == 1
    assert json.loads(call(*test).out)["verdict"] == "ask"
    (file,) = (home / "state" / "approved-rules").iterdir()
    file.write_text("{")
    assert call(*test).code == 2
