"""Handlers that are a tool or a question: what is wrong with one, how its input is filled, and how its answer is read."""

import json
from typing import Any

import pytest

from compositor.config.layer import Layer, Level
from compositor.config.settings import merge_layers
from compositor.policy.hook_handlers import PROMPT_SECONDS, Hook, HookKind, fill_input, handler_fault, read_handler
from compositor.policy.hook_output import Ended, HookRun, plan_permission, read_report
from compositor.policy.hooks import gate_hooks, plan_hooks

LAYER = Layer(level=Level.USER, file="u.json", base="/u")
NOTHING = merge_layers(())


def make_hook(event: str = "PermissionRequest", kind: HookKind = HookKind.COMMAND, **more: Any) -> Hook:
    return Hook(event=event, kind=kind, level=Level.USER, file="u.json", command="x", **more)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ({"a": "${tool_input.file_path}"}, {"a": "/x"}),
        ({"a": "at ${tool_input.file_path}!"}, {"a": "at /x!"}),
        ({"a": "${tool_input}"}, {"a": {"file_path": "/x", "n": 3}}),
        ({"a": "${tool_input.n}", "b": "n=${tool_input.n}"}, {"a": 3, "b": "n=3"}),
        (
            {"a": "${gone.away}", "b": ["${gone}", 1], "c": {"d": "${tool_input.n}"}},
            {"a": "", "b": ["", 1], "c": {"d": 3}},
        ),
        ({"a": "$HOME ${", "b": None}, {"a": "$HOME ${", "b": None}),
    ],
)
def test_places_in_the_input_stand_for_fields_of_the_event(template: Any, filled: Any) -> None:
    assert fill_input(json.dumps(template), {"tool_input": {"file_path": "/x", "n": 3}}) == filled


@pytest.mark.parametrize(
    ("event", "handler", "fault"),
    [
        ("PreToolUse", {"type": "mcp_tool", "server": "s", "tool": "t"}, None),
        ("SessionStart", {"type": "mcp_tool", "server": "s", "tool": "t"}, None),
        ("PreToolUse", {"type": "mcp_tool", "server": "s"}, "names no server and tool"),
        ("PreToolUse", {"type": "mcp_tool", "server": "s", "tool": "t", "input": "x"}, "input is no object"),
        ("PreToolUse", {"type": "prompt", "prompt": "ok?"}, None),
        ("PreToolUse", {"type": "prompt", "prompt": " "}, "has no prompt"),
        ("SessionStart", {"type": "prompt", "prompt": "ok?"}, "takes no prompt"),
        ("SessionStart", {"type": "http", "url": "https://x"}, "takes none"),
        ("PreToolUse", {"type": "agent", "prompt": "ok?"}, "not run by this version"),
        ("PreToolUse", {"type": ["command"]}, "not run by this version"),
    ],
)
def test_what_is_wrong_with_a_handler(event: str, handler: dict[str, Any], fault: str | None) -> None:
    found = handler_fault(event, handler, NOTHING)
    assert found == fault if fault is None else fault in (found or "")


def test_a_question_has_half_a_minute_and_is_never_left_running() -> None:
    hook = read_handler("PreToolUse", "", {"type": "prompt", "prompt": "ok?", "async": True}, LAYER, NOTHING)
    assert (hook.seconds, hook.background) == (PROMPT_SECONDS, False)


@pytest.mark.parametrize(
    ("answer", "decision", "failed"),
    [
        ('{"ok": true}', None, False),
        ('{"ok": false, "reason": "no"}', "deny", False),
        ('```json\n{"ok": false}\n```', "deny", False),
        ('{"ok": 1}', None, True),
        ("yes", None, True),
        ("{}", None, True),
        ("", None, True),
    ],
)
@pytest.mark.req("R378")
def test_a_yes_of_the_model_is_no_permission(answer: str, decision: str | None, failed: bool) -> None:
    for event in ("PreToolUse", "PermissionRequest"):
        report = read_report(make_hook(event, HookKind.PROMPT), HookRun(ended=Ended.EXITED, stdout=answer))
        assert (report.decision, report.failure is not None) == (decision, failed)


def test_a_no_of_the_model_blocks_a_prompt() -> None:
    run = HookRun(ended=Ended.EXITED, stdout='{"ok": false, "reason": "secret"}')
    assert read_report(make_hook("UserPromptSubmit", HookKind.PROMPT), run).blocked == "secret"


@pytest.mark.req("R371", "R378")
def test_before_a_question_deny_beats_allow_and_a_silent_guard_refuses() -> None:
    def said(behavior: str, **more: Any) -> Any:
        special = {"hookEventName": "PermissionRequest", "decision": {"behavior": behavior, "message": "m"}}
        return read_report(
            make_hook(**more), HookRun(ended=Ended.EXITED, stdout=json.dumps({"hookSpecificOutput": special}))
        )

    broken = HookRun(ended=Ended.TIMED_OUT)
    assert plan_permission([said("allow")]).allowed is not None
    assert plan_permission([said("allow"), said("deny")]).denied == "x (user): m"
    assert plan_permission([said("allow"), read_report(make_hook(guard=True), broken)]).denied is not None
    assert plan_permission([read_report(make_hook(), broken)]).denied is None
    assert said("maybe").failure == "its decision 'maybe' is unknown"
    two = HookRun(ended=Ended.EXITED, code=2, stderr="no")
    assert read_report(make_hook(), two).decision is None


def test_the_gate_asks_only_hooks_that_hear_it() -> None:
    def fields(*events: str) -> dict[str, tuple[str, ...]]:
        hooks = {event: [{"hooks": [{"type": "command", "command": "x"}]}] for event in events}
        layer = Layer(level=Level.USER, file="u.json", base="/u", values={"hooks": hooks})
        return gate_hooks(plan_hooks(merge_layers((layer,))))

    assert fields("Stop") == {"pre_hooks": (), "ask_hooks": ()}
    assert fields("PreToolUse") == {"pre_hooks": ("PreToolUse",), "ask_hooks": ()}
    assert fields("Notification")["ask_hooks"] == ("PermissionRequest",)
