"""The public Python agent SDK starts `compositor run` in the place of the program it knows, and understands all that it prints."""

import json
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolPermissionContext,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk._internal.message_parser import parse_message

from tests.cli.program import HELLO, READ, environment, run_program, script

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

WRITE: dict[str, Any] = {"do": [{"write": {"path": "made.txt", "content": "made"}}]}


@pytest.fixture
def options(tmp_path: Path) -> ClaudeAgentOptions:
    """The options of a caller who names this program; two lines of shell make `run` the whole of it (docs/headless.md)."""
    home, project, cli = tmp_path / "home", tmp_path / "project", tmp_path / "compositor-sdk"
    home.mkdir()
    project.mkdir()
    (project / "greeter.py").write_text("print('Hello')\n")
    cli.write_text(f'#!/bin/sh\nexec {sys.executable} -m compositor run "$@"\n')
    cli.chmod(0o755)
    return ClaudeAgentOptions(cli_path=cli, cwd=project, env=environment(home))


def played(options: ClaudeAgentOptions, *turns: dict[str, Any], **changes: Any) -> ClaudeAgentOptions:
    folder = Path(str(options.cwd)).parent
    return replace(options, extra_args={"offline": script(folder, *turns)}, **changes)


async def messages(options: ClaudeAgentOptions, prompt: Any = "Look around.") -> list[Any]:
    return [message async for message in query(prompt=prompt, options=options)]


def test_the_parser_takes_every_line_of_a_run(options: ClaudeAgentOptions) -> None:
    """Text, thinking, calls, results, denials, retries, pieces and the result: each line becomes a message of the SDK."""
    home = Path(options.env["HOME"])
    thinks = {"think": "Let me see.", "say": "I look.", "do": [{"read": "greeter.py"}]}
    fails = {"say": "x", "faults": [{"status": 529, "message": "overloaded", "retry_after": 0.01}]}
    ran = run_program(
        "run", "x", "--offline", script(home, thinks, WRITE, fails), "--output-format", "stream-json",
        "--include-partial-messages", cwd=Path(str(options.cwd)), home=home,
    )  # fmt: skip
    lines = [json.loads(line) for line in ran.out.splitlines()]
    parsed = [parse_message(line) for line in lines]
    assert None not in parsed
    assert {type(one) for one in parsed} == {AssistantMessage, UserMessage, SystemMessage, StreamEvent, ResultMessage}
    blocks = [block for one in parsed if isinstance(one, AssistantMessage | UserMessage) for block in one.content]
    assert {type(block) for block in blocks} == {ThinkingBlock, TextBlock, ToolUseBlock, ToolResultBlock}
    result = parsed[-1]
    assert isinstance(result, ResultMessage)
    assert (result.subtype, result.result, result.terminal_reason) == ("success", "x", "completed")
    assert result.permission_denials == lines[-1]["permission_denials"] != []
    assert "api_retry" in {one.subtype for one in parsed if isinstance(one, SystemMessage)}


async def test_a_query_of_the_sdk_runs_a_turn(options: ClaudeAgentOptions) -> None:
    found = await messages(played(options, READ, HELLO, include_partial_messages=True))
    first, last = found[0], found[-1]
    assert isinstance(first, SystemMessage)
    assert first.subtype == "init"
    assert isinstance(last, ResultMessage)
    assert (last.result, last.num_turns, last.is_error, last.stop_reason) == ("Hello 👋.", 2, False, "end_turn")
    assert last.model_usage is not None
    assert any(isinstance(one, StreamEvent) for one in found)


async def test_options_of_the_sdk_arrive(options: ClaudeAgentOptions) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    given = played(
        options,
        {"say": '{"ok": true}'},
        output_format={"type": "json_schema", "schema": schema},
        model="haiku",
        effort=None,
        max_turns=3,
        max_budget_usd=1.0,
        allowed_tools=["Read"],
        disallowed_tools=["WebFetch"],
        setting_sources=["user", "project"],
        system_prompt="You are terse.",
        session_id="0b2c6a1e-7d35-4f0c-9a64-0d2f4a8f5f10",
    )
    found = await messages(given)
    assert "haiku" in found[0].data["model"]
    assert "WebFetch" not in found[0].data["tools"]
    assert (found[-1].structured_output, found[-1].session_id) == ({"ok": True}, given.session_id)


@pytest.mark.parametrize("allows", [True, False])
async def test_the_sdk_is_asked_for_permission(options: ClaudeAgentOptions, allows: bool) -> None:
    asked: list[tuple[str, dict[str, Any], ToolPermissionContext]] = []

    async def may(
        name: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        asked.append((name, given, context))
        return PermissionResultAllow() if allows else PermissionResultDeny(message="no")

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": "Write it."}, "parent_tool_use_id": None}

    found = await messages(played(options, WRITE, HELLO, can_use_tool=may), prompts())
    ((name, given, context),) = asked
    assert (name, given["content"], bool(context.tool_use_id)) == ("Write", "made", True)
    assert len(found[-1].permission_denials) == (0 if allows else 1)
    (told,) = [block for one in found if isinstance(one, UserMessage) for block in one.content]
    assert bool(told.is_error) is not allows


@pytest.mark.parametrize(("destination", "remembered"), [("session", False), ("localSettings", True)])
async def test_an_answer_of_the_sdk_can_hold_for_more_than_one_call(
    options: ClaudeAgentOptions, destination: Any, remembered: bool
) -> None:
    asked: list[ToolPermissionContext] = []

    async def may(_name: str, _given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        asked.append(context)
        return PermissionResultAllow(
            updated_permissions=[replace(one, destination=destination) for one in context.suggestions]
        )

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": "Run it twice."}, "parent_tool_use_id": None}

    run = {"do": [{"run": "touch made-by-a-command"}]}
    found = await messages(played(options, run, run, HELLO, can_use_tool=may), prompts())
    assert (len(asked), found[-1].permission_denials) == (1, [])
    approved = list((Path(options.env["COMPOSITOR_HOME"]) / "approved-rules").glob("*.json"))
    assert bool(approved) is remembered


async def test_hooks_of_the_sdk_are_hooks(options: ClaudeAgentOptions) -> None:
    """They see every call before it runs and can refuse it, also where rules allow it; they hear what came of it."""
    seen: list[tuple[str, str]] = []

    async def before(given: Any, _id: str | None, _context: Any) -> Any:
        seen.append((given["hook_event_name"], given["tool_name"]))
        if given["tool_name"] != "Write":
            return {}
        said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not today"}
        return {"hookSpecificOutput": said}

    async def after(given: Any, _id: str | None, _context: Any) -> Any:
        seen.append((given["hook_event_name"], given["tool_name"]))
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "mind the gap"}}

    hooks: Any = {"PreToolUse": [HookMatcher(hooks=[before])], "PostToolUse": [HookMatcher("Read", hooks=[after])]}
    turns = ({"do": [{"read": "greeter.py"}]}, WRITE, HELLO)
    given = played(options, *turns, hooks=hooks, permission_mode="bypassPermissions")
    async with ClaudeSDKClient(given) as client:
        await client.query("go")
        found = [one async for one in client.receive_response()]
    assert seen == [("PreToolUse", "Read"), ("PostToolUse", "Read"), ("PreToolUse", "Write")]
    assert [denied["tool_name"] for denied in found[-1].permission_denials] == ["Write"]
    (_, second, _) = sorted((Path(options.env["COMPOSITOR_HOME"]) / "requests").glob("*/*.json"))
    assert "mind the gap" in second.read_text()


async def test_hooks_that_would_never_be_asked_are_refused(options: ClaudeAgentOptions) -> None:
    """A program that relies on a guard must not go on without it."""

    async def hear(_given: Any, _id: str | None, _context: Any) -> Any:
        return {}

    off = played(
        options, HELLO, hooks={"PreToolUse": [HookMatcher(hooks=[hear])]}, settings='{"disableAllHooks": true}'
    )
    with pytest.raises(Exception, match="settings turn hooks off"):
        async with ClaudeSDKClient(off):
            pass


async def test_tools_of_the_sdk_s_own_process_can_be_called(options: ClaudeAgentOptions) -> None:
    called: list[Any] = []

    @tool("add", "Adds two numbers.", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        called.append(given)
        return {"content": [{"type": "text", "text": f"the sum is {given['a'] + given['b']}"}]}

    server = create_sdk_mcp_server("calc", tools=[add])
    env = {**options.env, "ENABLE_TOOL_SEARCH": "false", "MCP_CONNECTION_NONBLOCKING": "0"}
    call = {"do": [{"call": {"tool": "mcp__calc__add", "input": {"a": 2, "b": 3}}}]}
    given = played(options, call, HELLO, mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add"], env=env)
    async with ClaudeSDKClient(given) as client:
        await client.query("add")
        found = [one async for one in client.receive_response()]
    assert found[0].data["mcp_servers"] == [{"name": "calc", "status": "connected"}]
    assert called == [{"a": 2, "b": 3}]
    (told,) = [block for one in found if isinstance(one, UserMessage) for block in one.content]
    assert "the sum is 5" in str(told.content)


async def test_a_client_of_the_sdk_asks_for_servers_and_window_and_brings_files_back(
    options: ClaudeAgentOptions,
) -> None:
    given = played(options, WRITE, HELLO, permission_mode="acceptEdits")
    given = replace(given, extra_args={**given.extra_args, "replay-user-messages": None})
    async with ClaudeSDKClient(given) as client:
        await client.query("write it")
        found = [one async for one in client.receive_response()]
        (asked,) = [one for one in found if isinstance(one, UserMessage) and one.content == "write it"]
        made = Path(found[0].data["cwd"]) / "made.txt"
        assert made.read_text() == "made"
        usage = await client.get_context_usage()
        counted = {row["name"]: row["tokens"] for row in usage["categories"]}
        assert counted["System tools"] > 0 < counted["Messages"]
        assert usage["totalTokens"] + counted["Free space"] == usage["maxTokens"]
        assert (await client.get_mcp_status()) == {"mcpServers": []}
        assert asked.uuid is not None
        await client.rewind_files(asked.uuid)
        assert not made.exists()
        with pytest.raises(Exception, match="holds no prompt"):
            await client.rewind_files("nope")


async def test_a_client_of_the_sdk_interrupts_changes_the_mode_and_goes_on(options: ClaudeAgentOptions) -> None:
    slow = {"say": "a long answer " * 50, "faults": [{"slow": 0.2}]}
    given = played(options, HELLO, slow, WRITE, HELLO, include_partial_messages=True)
    async with ClaudeSDKClient(given) as client:
        info = await client.get_server_info()
        assert info is not None
        assert info["models"]
        await client.query("first")
        assert [one async for one in client.receive_response()][-1].result == "Hello 👋."
        await client.query("second")
        async for one in client.receive_response():
            if isinstance(one, StreamEvent) and one.event["type"] == "content_block_delta":
                await client.interrupt()
        assert one.terminal_reason == "aborted_streaming"
        await client.set_permission_mode("acceptEdits")
        await client.query("third")
        third = [one async for one in client.receive_response()]
        assert third[0].data["permissionMode"] == "acceptEdits"
        assert third[-1].permission_denials == []


async def test_a_client_of_the_sdk_goes_on_with_another_model(options: ClaudeAgentOptions) -> None:
    async with ClaudeSDKClient(played(options, HELLO, HELLO)) as client:
        await client.query("first")
        first = [one async for one in client.receive_response()]
        await client.set_model("claude-haiku-4-5")
        await client.query("second")
        second = [one async for one in client.receive_response()]
    spoken = [[one.model for one in found if isinstance(one, AssistantMessage)] for found in (first, second)]
    assert spoken[0] != spoken[1]
    assert set(spoken[1]) == {"claude-haiku-4-5"}
