"""The official client of the Agent Client Protocol drives `compositor acp`: turns, permission, differences, sessions, terminals."""

import asyncio
import base64
import io
import signal
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, image_block, resource_block, text_block
from acp.helpers import embedded_text_resource, resource_link_block

from tests.cli.program import records
from tests.edges.editor import Editor, connected, words_of
from tests.edges.test_cli_loopback import KEY, Service

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

HELLO: dict[str, Any] = {"say": "Hello."}
READ: dict[str, Any] = {"think": "Let me see.", "say": "I look.", "do": [{"read": "greeter.py"}]}
EDIT: dict[str, Any] = {"do": [{"edit": {"path": "greeter.py", "old": "Hello", "new": "Goodbye"}}]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "greeter.py").write_text("print('Hello')\n")
    return folder


def said(text: str) -> list[Any]:
    return [text_block(text)]


async def test_a_turn_with_permission_and_difference(tmp_path: Path, project: Path) -> None:
    editor = Editor("allow_once")
    with Service(READ, EDIT, HELLO) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            assert session.modes.current_mode_id == "default"
            ended = await agent.prompt(session_id=session.session_id, prompt=said("Change it."))
    assert (ended.stop_reason, editor.text()) == ("end_turn", "I look.Hello.")
    assert "Let me see." in editor.text("agent_thought_chunk")
    ((asked, options),) = editor.asked
    (difference,) = [one for one in asked.content if one.type == "diff"]
    assert (difference.path, difference.old_text, difference.new_text) == (
        str(project / "greeter.py"),
        "Hello",
        "Goodbye",
    )
    assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once"]
    assert (project / "greeter.py").read_text() == "print('Goodbye')\n"
    # The life of a call: asked for, running, done, each under one id.
    begun = {update.tool_call_id: update.kind for update in editor.of("tool_call")}
    assert sorted(begun.values()) == ["edit", "read"]
    for call_id in begun:
        states = [update.status for update in editor.of("tool_call_update") if update.tool_call_id == call_id]
        assert states == ["in_progress", "completed"]
    usage = editor.of("usage_update")[-1]
    assert usage.size >= 200_000 > usage.used > 0 < usage.cost.amount
    assert ended.usage.cached_read_tokens > 0


@pytest.mark.parametrize(("answer", "later"), [("allow_once", 1), ("allow_session", 1), ("allow_always", 0)])
async def test_an_answer_holds_as_long_as_it_says(tmp_path: Path, project: Path, answer: str, later: int) -> None:
    """Once: asked again. For the session: not again in it, but in the next one. Always: not in the next one either."""
    run = {"do": [{"run": "touch made-by-a-command"}]}
    editor, after = Editor(answer, "reject_once"), Editor()
    with Service(run, run, HELLO, run, HELLO) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            await agent.prompt(session_id=session.session_id, prompt=said("Run it twice."))
        async with connected(after, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            await agent.prompt(session_id=session.session_id, prompt=said("Run it once more."))
    assert len(editor.asked) == (2 if answer == "allow_once" else 1)
    assert any("touch" in option.name for option in editor.asked[0][1])
    assert len(after.asked) == later


async def test_edits_can_be_allowed_for_the_session(tmp_path: Path, project: Path) -> None:
    editor = Editor("accept_edits")
    back = {"do": [{"edit": {"path": "greeter.py", "old": "Goodbye", "new": "Hello"}}]}
    with Service(READ, EDIT, back, HELLO) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            await agent.prompt(session_id=session.session_id, prompt=said("Change it and back."))
    assert (len(editor.asked), editor.of("current_mode_update")[-1].current_mode_id) == (1, "acceptEdits")


@pytest.mark.parametrize("answers", [("reject_once",), ()])
async def test_a_no_is_a_no_and_so_is_a_closed_question(
    tmp_path: Path, project: Path, answers: tuple[str, ...]
) -> None:
    editor = Editor(*answers)
    with Service(READ, EDIT, HELLO) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            await agent.prompt(session_id=session.session_id, prompt=said("Change it."))
    assert (project / "greeter.py").read_text() == "print('Hello')\n"
    assert editor.of("tool_call_update")[-1].status == "failed"


async def test_a_cancel_ends_the_turn_and_the_session_goes_on(tmp_path: Path, project: Path) -> None:
    editor = Editor()
    slow = {"say": "a long answer " * 50, "faults": [{"slow": 0.2}]}
    with Service(slow, HELLO) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            turn = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=said("first")))
            await editor.until("agent_message_chunk")
            await agent.cancel(session_id=session.session_id)
            assert (await turn).stop_reason == "cancelled"
            assert (await agent.prompt(session_id=session.session_id, prompt=said("second"))).stop_reason == "end_turn"


async def test_a_mode_that_the_editor_sets_counts_from_the_next_call_on(tmp_path: Path, project: Path) -> None:
    editor = Editor()
    with Service(READ, EDIT, HELLO) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            await agent.set_session_mode(session_id=session.session_id, mode_id="acceptEdits")
            assert editor.of("current_mode_update")[-1].current_mode_id == "acceptEdits"
            await agent.prompt(session_id=session.session_id, prompt=said("Change it."))
            with pytest.raises(RequestError, match="silly"):
                await agent.set_session_mode(session_id=session.session_id, mode_id="silly")
    assert (editor.asked, (project / "greeter.py").read_text()) == ([], "print('Goodbye')\n")


async def test_stored_sessions_are_listed_loaded_and_gone_on_with(tmp_path: Path, project: Path) -> None:
    with Service(READ, HELLO, {"say": "Again."}) as service:
        async with connected(Editor(), tmp_path, **service.environment()) as (agent, _):
            first = await agent.new_session(cwd=str(project))
            await agent.prompt(session_id=first.session_id, prompt=said("Look around."))
        editor = Editor()
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            (listed,) = (await agent.list_sessions(cwd=str(project))).sessions
            assert (listed.session_id, listed.title, listed.cwd) == (first.session_id, "Look around.", str(project))
            await agent.load_session(cwd=str(project), session_id=first.session_id)
            assert editor.text("user_message_chunk") == "Look around."
            assert editor.text() == "I look.Hello."
            assert [update.status for update in editor.of("tool_call_update")] == ["completed"]
            await agent.prompt(session_id=first.session_id, prompt=said("And now?"))
            assert editor.text().endswith("Again.")
            with pytest.raises(RequestError, match="there is no session"):
                await agent.load_session(cwd=str(project), session_id="nope")
    assert len(records(tmp_path / "home")) == 1


async def test_what_an_editor_sends_along_is_told_under_its_own_name(tmp_path: Path, project: Path) -> None:
    """Words stay words; a selection comes beside them, and what a rule denies reading does not come at all (F23)."""
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Read(.env*)"]}}')
    (project / ".env").write_text("KEY=abc\n")
    editor = Editor()
    with Service(HELLO, HELLO) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            secret = embedded_text_resource(f"file://{project}/.env#L1", "KEY=abc")
            chosen = embedded_text_resource(f"file://{project}/greeter.py#L1-2", "print('Hello')")
            (project / "my notes.md").write_text("Mind the step.")
            link = resource_link_block("notes", f"file://{project}/my%20notes.md")
            parts = [text_block("Explain "), resource_block(chosen), text_block(" and "), resource_block(secret), link]
            await agent.prompt(session_id=session.session_id, prompt=parts)
            looked = {"sessionId": session.session_id, "uri": f"file://{project}/greeter.py"}
            selection = {"text": "Hello", "first": 1, "last": 1}
            problem = {"uri": looked["uri"], "line": 1, "message": "no semicolon", "severity": "warning"}
            shows = {**looked, "selection": selection, "diagnostics": [problem]}
            await agent.ext_notification("compositor/looking_at", shows)
            await agent.prompt(session_id=session.session_id, prompt=said("And this?"))
    first, second = service.bodies
    assert f"Explain {project}/greeter.py and " in words_of(first)
    assert "(lines 1-2):\\nprint('Hello')" in words_of(first)
    assert (b"Mind the step." in first, b"KEY=abc" in first) == (True, False)
    assert "was held back" in editor.text("agent_thought_chunk")
    assert b"no semicolon" in second
    assert f"{project}/greeter.py open in the editor" in second.decode()
    stored = next((tmp_path / "home" / "state" / "sessions").glob("*/*.jsonl")).read_text()
    assert "KEY=abc" not in stored


async def test_commands_are_announced_and_can_be_typed(tmp_path: Path, project: Path) -> None:
    (project / ".claude" / "commands").mkdir(parents=True)
    head = "---\ndescription: Ships it.\nargument-hint: where\n---\n"
    (project / ".claude" / "commands" / "ship.md").write_text(f"{head}Ship everything to $ARGUMENTS.\n")
    editor = Editor()
    with Service(HELLO) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            (ship,) = [
                one
                for one in (await editor.until("available_commands_update")).available_commands
                if one.name == "ship"
            ]
            assert (ship.description, ship.input.root.hint) == ("Ships it.", "where")
            await agent.prompt(session_id=session.session_id, prompt=said("/ship the moon"))
    assert b"Ship everything to the moon." in service.bodies[0]


async def test_a_picture_comes_with_a_prompt(tmp_path: Path, project: Path) -> None:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "PNG")
    picture = image_block(base64.b64encode(buffer.getvalue()).decode(), "image/png")
    with Service(HELLO) as service:
        async with connected(Editor(), tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            await agent.prompt(session_id=session.session_id, prompt=[text_block("What is it?"), picture])
            with pytest.raises(RequestError, match="cannot be sent"):
                await agent.prompt(session_id=session.session_id, prompt=[image_block("AAAA", "image/png")])
    assert '"type": "image"' in words_of(service.bodies[0])


async def test_a_command_runs_in_the_terminal_of_the_editor(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words, its directory and its exit code are ours; the key that the editor has itself stays unseen."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    editor = Editor("allow_once")
    run = {"do": [{"run": "echo from the terminal; pwd; env; exit 3"}]}
    with Service(run, HELLO) as service:
        async with connected(editor, tmp_path, "--editor-terminal", **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            await agent.prompt(session_id=session.session_id, prompt=said("Run it."))
    shown = [one for update in editor.of("tool_call_update") for one in update.content or () if one.type == "terminal"]
    assert [one.terminal_id for one in shown] == list(editor.terminals)
    assert "from the terminal" in words_of(service.bodies[1])
    assert "Exit code 3" in words_of(service.bodies[1])
    output = b"".join(editor.outputs.values())
    assert (str(project).encode() in output, KEY.encode() in output) == (True, False)


async def test_servers_of_the_editor_are_servers_of_the_session(tmp_path: Path, project: Path) -> None:
    import sys

    from acp import schema

    server = schema.McpServerStdio(name="time", command=sys.executable, args=["-m", "mcp_server_time"], env=[])
    with Service(HELLO) as service:
        # The first request waits for servers as long as they may take, however busy the machine is.
        told = service.environment(ENABLE_TOOL_SEARCH="false", MCP_CONNECTION_NONBLOCKING="0")
        async with connected(Editor(), tmp_path, **told) as (agent, _):
            session = await agent.new_session(cwd=str(project), mcp_servers=[server])
            await agent.prompt(session_id=session.session_id, prompt=said("What time is it?"))
    assert b"mcp__time__get_current_time" in service.bodies[0]


async def test_without_a_key_no_session_is_opened(tmp_path: Path, project: Path) -> None:
    async with connected(Editor(), tmp_path) as (agent, _):
        with pytest.raises(RequestError, match="there is no key"):
            await agent.new_session(cwd=str(project))
        with pytest.raises(RequestError, match="does not exist"):
            await agent.new_session(cwd=str(tmp_path / "nope"))
        with pytest.raises(RequestError):
            await agent.prompt(session_id="nope", prompt=said("x"))


async def test_a_failure_of_the_service_is_an_error_of_the_prompt(tmp_path: Path, project: Path) -> None:
    refused = {"say": "x", "faults": [{"status": 401, "message": "invalid x-api-key"}]}
    with Service(refused, HELLO) as service:
        async with connected(Editor(), tmp_path, **service.environment()) as (agent, _):
            session = await agent.new_session(cwd=str(project))
            with pytest.raises(RequestError, match="invalid x-api-key"):
                await agent.prompt(session_id=session.session_id, prompt=said("x"))
            assert (await agent.prompt(session_id=session.session_id, prompt=said("y"))).stop_reason == "end_turn"


@pytest.mark.parametrize("how", ["signal", "end of input"])
async def test_an_end_in_the_middle_of_a_turn_stores_what_there_is(tmp_path: Path, project: Path, how: str) -> None:
    editor = Editor()
    slow = {"say": "a long answer " * 50, "faults": [{"slow": 0.2}]}
    with Service(slow) as service:
        async with connected(editor, tmp_path, **service.environment()) as (agent, process):
            session = await agent.new_session(cwd=str(project))
            turn = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=said("first")))
            await editor.until("agent_message_chunk")
            if how == "signal":
                process.send_signal(signal.SIGTERM)
            else:
                process.stdin.close()
            assert await asyncio.wait_for(process.wait(), 20) == (143 if how == "signal" else 0)
            turn.cancel()
    (lines,) = records(tmp_path / "home")
    assert [record["outcome"] for record in lines if record["type"] == "outcome"] == ["interrupted"]
