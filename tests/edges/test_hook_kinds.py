"""Hooks that are a tool of a server or a question to the model, and the events beside the calls themselves."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from compositor.config.flags import Flags
from compositor.loop.effects import EndReason
from compositor.types.verdicts import Deny, PermissionMode
from tests.edges.guarded import Says, Session
from tests.edges.test_hooks import ALLOW, TOUCH, hooks, said

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

SERVER = Path(__file__).resolve().parent.parent / "adapters" / "mcp" / "server.py"
NO = {"decision": "block", "reason": "the server says no"}
NOTE = {"command": "cat >> heard"}


def heard(session: Session) -> list[dict[str, Any]]:
    text = (session.project / "heard").read_text()
    return [json.loads(line) for line in text.replace("}{", "}\n{").splitlines()]


def with_server(session: Session, told: str) -> None:
    names = session.root / "names.json"
    names.write_text('["told", "echo", "fail"]')
    entry = {"command": sys.executable, "args": [str(SERVER), str(names)], "env": {"TOLD": told}}
    session.flags = Flags(mcp_config=(json.dumps({"mcpServers": {"s": entry}}),))


@pytest.mark.req("R378", "R371")
@pytest.mark.parametrize(
    ("server", "tool", "told", "runs"),
    [
        ("s", "told", "{}", True),
        ("s", "told", json.dumps(NO), False),
        ("s", "told", '{"decision": ', False),
        ("s", "fail", "", False),
        ("s", "nothing", "", False),
        ("nobody", "told", "", False),
    ],
)
async def test_a_tool_of_a_server_is_a_guard(tmp_path: Path, server: str, tool: str, told: str, runs: bool) -> None:
    one = {"type": "mcp_tool", "server": server, "tool": tool, "guard": True}
    session = Session(tmp_path, {**ALLOW, **hooks("PreToolUse", one)})
    with_server(session, told)
    await session.run(TOUCH)
    assert (session.project / "made").exists() == runs


async def test_the_input_of_the_tool_is_filled_from_the_event(tmp_path: Path) -> None:
    one = {"type": "mcp_tool", "server": "s", "tool": "echo", "input": {"text": "ran ${tool_input.command} of ${x.y}."}}
    session = Session(tmp_path, {**ALLOW, **hooks("UserPromptSubmit", {**one, "input": {"text": "${prompt}!"}})})
    with_server(session, "")
    await session.run([{"say": "done"}], None, "a prompt")
    assert "echo: a prompt!" in session.sent


@pytest.mark.req("R378", "R371")
@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        ('{"ok": true}', True),
        ('Here it is: {"ok": true}', True),
        ('{"ok": false, "reason": "it touches"}', False),
        ("I think so", False),
        ('{"ok": "yes"}', False),
    ],
)
async def test_a_question_to_the_model_is_a_guard_and_its_yes_no_permission(
    tmp_path: Path, answer: str, runs: bool
) -> None:
    one = {"type": "prompt", "prompt": "Is this harmless? $ARGUMENTS", "guard": True}
    for rules in (ALLOW, {"permissions": {"deny": ["Bash(touch *)"]}}):
        session = Session(tmp_path / next(iter(rules["permissions"])), None)
        (session.home / ".claude" / "settings.json").write_text(json.dumps({**rules, **hooks("PreToolUse", one)}))
        asks = rules is ALLOW
        await session.run([TOUCH[0], *([{"say": answer}] if asks else []), {"say": "done"}])
        assert (session.project / "made").exists() == (runs and asks)
        requests = [json.loads(recorded.request.body) for recorded in session.emulator.requests]
        questions = [one for one in requests if "The condition:" in json.dumps(one["messages"])]
        assert len(questions) == asks
        for question in questions:
            assert len(question["messages"]) <= 2
            assert (question["system"][0]["text"], question["tools"]) == (
                requests[0]["system"][0]["text"],
                requests[0]["tools"],
            )
            assert "touch made" in json.dumps(question["messages"])


async def test_what_was_asked_aside_is_not_in_the_conversation_and_the_session_goes_on(tmp_path: Path) -> None:
    one = {"type": "prompt", "prompt": "Is it fine?"}
    session = Session(tmp_path, {**ALLOW, **hooks("PreToolUse", one)})
    result = await session.run([TOUCH[0], {"say": '{"ok": true}'}, {"say": "done"}])
    assert result.reason is EndReason.COMPLETED
    last = json.loads(session.emulator.requests[-1].request.body)
    assert "Is it fine?" not in json.dumps(last)


@pytest.mark.req("R364", "R371")
@pytest.mark.parametrize(("behavior", "rules", "runs"), [("allow", {}, True), ("deny", {}, False), ("allow", {"ask": ["Bash(touch *)"]}, False)])  # fmt: skip
async def test_a_hook_answers_an_open_question_in_place_of_the_person_and_no_other(
    tmp_path: Path, behavior: str, rules: dict[str, Any], runs: bool
) -> None:
    special = {"hookEventName": "PermissionRequest", "decision": {"behavior": behavior, "message": "because"}}
    event = hooks("PermissionRequest", {"command": said(hookSpecificOutput=special)})
    session = Session(tmp_path, {"permissions": rules, **event})
    person = Says(answer=False)
    await session.run(TOUCH, person)
    assert (session.project / "made").exists() == runs
    assert len(person.asked) == (1 if rules else 0)


async def test_the_person_is_told_that_a_call_waits(tmp_path: Path) -> None:
    session = Session(tmp_path, hooks("Notification", NOTE, matcher="permission_prompt"))
    await session.run(TOUCH, Says(answer=True))
    assert (session.project / "made").exists()
    assert [(one["notification_type"], "Bash waits" in one["message"]) for one in heard(session)] == [
        ("permission_prompt", True)
    ]


async def test_what_the_mode_auto_refuses_is_told(tmp_path: Path) -> None:
    session = Session(tmp_path, hooks("PermissionDenied", NOTE), permission_mode=PermissionMode.AUTO)
    await session.run([{"do": [{"run": "curl https://example.org"}]}, {"say": "done"}])
    assert [one["tool_input"] for one in heard(session)] == [{"command": "curl https://example.org"}]


async def test_another_directory_and_instruction_files_are_told(tmp_path: Path) -> None:
    events = {**hooks("CwdChanged", NOTE)["hooks"], **hooks("InstructionsLoaded", {"command": "cat >> $CLAUDE_PROJECT_DIR/loaded"})["hooks"]}  # fmt: skip
    session = Session(tmp_path, {"permissions": {"allow": ["Bash"]}, "hooks": events})
    (session.project / "sub").mkdir()
    (session.project / "CLAUDE.md").write_text("one")
    (session.project / "sub" / "CLAUDE.md").write_text("two")
    (session.project / "sub" / "a").write_text("x")
    await session.run([{"do": [{"read": "sub/a"}]}, {"do": [{"run": "cd sub"}]}, {"say": "done"}])
    moved = json.loads((session.project / "sub" / "heard").read_text())
    assert (moved["old_cwd"], moved["new_cwd"]) == (str(session.project), str(session.project / "sub"))
    text = (session.project / "loaded").read_text().replace("}{", "}\n{")
    loaded = [json.loads(line) for line in text.splitlines()]
    assert [(Path(one["file_path"]).parent.name, one["memory_type"], one["load_reason"]) for one in loaded] == [
        ("project", "Project", "session_start"),
        ("sub", "Project", "nested_traversal"),
    ]


async def test_a_turn_that_the_service_ended_is_told(tmp_path: Path) -> None:
    session = Session(tmp_path, hooks("StopFailure", NOTE, matcher="invalid_request"))
    fault = {"status": 400, "code": "invalid_request_error", "times": 9}
    result = await session.run([{"say": "done", "faults": [fault]}])
    assert result.reason is EndReason.API_ERROR
    assert [one["error"] for one in heard(session)] == ["invalid_request"]


class Edits(Says):
    """A person who says no and rewrites the settings before the next question."""

    def __init__(self, file: Path, settings: dict[str, Any]) -> None:
        super().__init__(answer=False)
        self._file = file
        self._settings = settings

    async def ask(self, permission: Any) -> bool:
        self._file.write_text(json.dumps(self._settings))
        return await super().ask(permission)


TWICE = [{"do": [{"run": "touch first"}]}, {"do": [{"run": "touch made"}]}, {"say": "done"}]


@pytest.mark.req("R370", "R363")
async def test_hooks_follow_the_settings_while_a_session_runs(tmp_path: Path) -> None:
    session = Session(tmp_path, {})
    file = session.home / ".claude" / "settings.json"
    person = Edits(file, {**ALLOW, **hooks("PreToolUse", {"command": "echo no >&2; exit 2"})})
    await session.run(TWICE, person)
    assert not (session.project / "made").exists()
    assert isinstance(session.verdicts[1].verdict, Deny)
    assert "pre_hooks" in {found.gate.value for found in session.verdicts[1].trace}
    changes = [(line["field"], line["cause"]) for line in session.log() if line["type"] == "change"]
    assert ("hooks", "configuration_source") in changes


@pytest.mark.req("R370", "R372")
@pytest.mark.parametrize("managed", [False, True])
async def test_a_hook_keeps_a_change_of_settings_out_but_none_of_the_managed_ones(
    tmp_path: Path, managed: bool
) -> None:
    session = Session(tmp_path, hooks("ConfigChange", {"command": "echo frozen >&2; exit 2"}))
    (tmp_path / "managed").mkdir()
    session.environ["COMPOSITOR_MANAGED_DIR"] = str(tmp_path / "managed")
    file = tmp_path / "managed" / "managed-settings.json" if managed else session.home / ".claude" / "settings.json"
    await session.run(TWICE, Edits(file, ALLOW))
    assert (session.project / "made").exists() == managed
    assert any("keeps a change of the settings out" in remark for remark in session.remarks) != managed
    causes = {line["cause"] for line in session.log() if line["type"] == "change"}
    assert causes == ({"external_policy"} if managed else set())


@pytest.mark.req("R370")
async def test_a_rule_that_comes_later_hides_a_file_from_the_notes_too(tmp_path: Path) -> None:
    session = Session(tmp_path, {})
    (session.project / "notes.txt").write_text("first\n")
    file = session.home / ".claude" / "settings.json"

    class Denies(Edits):
        async def ask(self, permission: Any) -> bool:
            (session.project / "notes.txt").write_text("first\nSECRET\n")
            return await super().ask(permission)

    turns = [{"do": [{"read": "notes.txt"}]}, *TWICE]
    await session.run(turns, Denies(file, {"permissions": {"deny": ["Read(notes.txt)"]}}))
    assert "first" in session.sent
    assert "SECRET" not in session.sent
