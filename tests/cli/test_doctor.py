"""`compositor doctor`: what it looks at, what each finding means, how it ends."""

import json
import re
from pathlib import Path
from typing import Any

import pytest


def findings(call: Any, *arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
    ended = call("doctor", "--json", *arguments)
    assert ended.err == ""
    return ended.code, {found["what"]: (found["state"], found["detail"]) for found in json.loads(ended.out)}


def test_everything_is_looked_at(call: Any) -> None:
    code, found = findings(call)
    assert code == 0
    assert list(found) == ["compositor", "system", "key", "git", "rg", "sandbox", "home", "settings"]
    assert found["git"][1].startswith("git version ")


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_is_named_and_never_shown(name: str, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(call)[1]["key"][0] == "missing"
    monkeypatch.setenv(name, "sk-secret")
    state, detail = findings(call)[1]["key"]
    assert (state, name in detail) == ("ok", True)
    assert "sk-secret" not in "".join(map(str, call("doctor")))


def test_an_address_that_cannot_be_used_must_be_mended(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "ftp://user:secret@x")
    code, found = findings(call)
    assert (code, found["key"][0], "secret" in found["key"][1]) == (1, "bad", False)


def test_settings_files_are_listed_and_a_broken_one_must_be_mended(call: Any, project: Path, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"model": "haiku"}', "utf-8")
    assert findings(call)[1]["settings"] == ("ok", f"user: {home / '.claude' / 'settings.json'}")
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text("{\n oops }", "utf-8")
    code, found = findings(call)
    assert (code, found["settings"][0]) == (1, "bad")
    assert f"{project / '.claude' / 'settings.json'}:2:2" in found["settings"][1]


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/below"])
def test_a_home_that_cannot_be_one(place: str, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPOSITOR_HOME", place)
    code, found = findings(call)
    assert (code, found["home"][0]) == (1, "bad")


@pytest.mark.parametrize(
    "content", ["#!/bin/sh\nexit 3\n", "#!/nowhere/sh\n", "\x7fELF no program", "#!/bin/sh\nprintf '\\377'; exit 1\n"]
)
def test_a_program_that_does_not_work_is_a_finding(
    content: str, call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "rg", "bwrap"):
        (folder / name).write_text(content, "utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    code, found = findings(call)
    assert (code, found["git"][0], found["rg"][0], found["sandbox"][0]) == (0, "missing", "missing", "missing")


def test_a_machine_without_programs(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code, found = findings(call)
    assert (code, {found[name][0] for name in ("git", "rg", "sandbox")}) == (0, {"missing"})


def test_a_line_for_each_finding(call: Any) -> None:
    lines = call("doctor").out.splitlines()
    assert [line.split()[0] for line in lines] == [state for state, _ in findings(call)[1].values()]


def hazards(call: Any) -> dict[str, tuple[str, str]]:
    ended = call("doctor", "--json")
    assert ended.code == 0
    return {
        found["what"]: (found["detail"], found["cure"]) for found in json.loads(ended.out) if found["state"] == "hazard"
    }


def test_a_sound_project_has_no_hazard(call: Any) -> None:
    assert hazards(call) == {}


def test_each_hazard_of_a_project_has_its_cure(call: Any, project: Path, home: Path) -> None:
    from tests.insight.replay.planted import BREAKS

    (project / "CLAUDE.md").write_text("Keep it short.\n" * 6_000)
    (project / ".claude" / "rules").mkdir(parents=True)
    (project / ".claude" / "rules" / "vue.md").write_text("---\npaths: '**/*.vue'\n---\nUse setup.\n")
    hook = {"matcher": "*", "hooks": [{"type": "command", "command": "no-such-program --check"}]}
    settings = {"permissions": {"deny": ["Xread(./x)"]}, "hooks": {"Stop": [hook]}}
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    recorded = home / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", str(project))
    recorded.mkdir(parents=True)
    (recorded / "one.jsonl").write_bytes(b"".join(BREAKS["a pause of six minutes"][1]().lines))
    found = hazards(call)
    assert {"memory: large", "memory: never matches", "rule", "hook", "cache: expiry"} <= set(found)
    assert "no-such-program" in found["hook"][0]
    assert "Xread" in found["rule"][0]
    assert all(cure for _, cure in found.values())
    assert "cure: " in call("doctor").out


def test_the_cloud_that_requests_go_to_is_named_with_what_is_missing(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_USE_FOUNDRY", "1")
    monkeypatch.setenv("ANTHROPIC_FOUNDRY_RESOURCE", "team")
    monkeypatch.delenv("ANTHROPIC_FOUNDRY_API_KEY", raising=False)
    missing = call("doctor")
    assert "none for Microsoft Foundry: requests go to https://team.services.ai.azure.com" in missing.out
    monkeypatch.setenv("ANTHROPIC_FOUNDRY_API_KEY", "f-key-never-shown")
    ready = call("doctor")
    assert "with a key" in ready.out
    assert "f-key-never-shown" not in ready.out
