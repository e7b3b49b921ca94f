"""Hooks as values: which handlers count, whom a matcher hears, what an output means."""

import json
from typing import Any

import pytest

from compositor.config.layer import Level, parse_layer
from compositor.config.settings import Settings, merge_layers
from compositor.policy.condition import condition_applies
from compositor.policy.hook_handlers import Hook, HookKind
from compositor.policy.hook_output import Ended, HookRun, plan_answer, read_report
from compositor.policy.hook_table import EVENTS
from compositor.policy.hooks import OnFailure, chosen_hooks, matches, plan_hooks
from tests.policy.judge import make_call, make_policy


def settings(*layers: tuple[Level, dict[str, Any]], shared: bool = False) -> Settings:
    parsed = [
        parse_layer(json.dumps(value).encode(), level=level, file=f"{level.value}.json", base="/b", shared=shared)
        for level, value in layers
    ]
    return merge_layers(parsed)


def group(event: str, *handlers: Any, matcher: str = "") -> dict[str, Any]:
    return {"hooks": {event: [{"matcher": matcher, "hooks": list(handlers)}]}}


def handler(command: str = "x", **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


def make_hook(event: str = "PreToolUse", **more: Any) -> Hook:
    return Hook(event=event, kind=HookKind.COMMAND, level=Level.USER, file="f", command="x", **more)


def exited(code: int = 0, stdout: Any = "", stderr: str = "") -> HookRun:
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    return HookRun(ended=Ended.EXITED, code=code, stdout=text, stderr=stderr)


@pytest.mark.parametrize(
    ("matcher", "tool", "heard"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("Edit, Write", "Write", True),
        ("Edit|Write", "NotebookEdit", False),
        ("mcp__git__.*", "mcp__git__log", True),
        ("mcp__git", "mcp__git__log", False),
        ("Note.*", "NotebookEdit", True),
        ("^Edit$", "NotebookEdit", False),
        ("[", "Bash", True),
    ],
)
def test_a_matcher_is_a_name_a_list_or_an_expression_and_a_broken_one_hears_all(
    matcher: str, tool: str, heard: bool
) -> None:
    assert matches(matcher, tool) is heard


def test_hooks_of_all_levels_add_up_and_the_same_one_runs_once() -> None:
    found = plan_hooks(
        settings(
            (Level.USER, group("PreToolUse", handler("a"), handler("b"))),
            (Level.PROJECT, group("PreToolUse", handler("a"), handler("c"))),
        )
    )
    assert sorted(hook.command for hook in found.hooks) == ["a", "b", "c"]
    assert len(chosen_hooks(found, "PreToolUse", {"tool_name": "Bash"})) == 3
    assert chosen_hooks(found, "Stop", {}) == ()


@pytest.mark.req("R372")
def test_only_managed_settings_turn_managed_hooks_off() -> None:
    managed, user = group("PreToolUse", handler("m")), group("PreToolUse", handler("u"))
    off = settings((Level.USER, {**user, "disableAllHooks": True}), (Level.MANAGED, managed))
    assert [hook.command for hook in plan_hooks(off).hooks] == ["m"]
    only = settings((Level.USER, user), (Level.MANAGED, {**managed, "allowManagedHooksOnly": True}))
    assert [hook.command for hook in plan_hooks(only).hooks] == ["m"]
    none = settings((Level.USER, user), (Level.MANAGED, {**managed, "disableAllHooks": True}))
    assert plan_hooks(none).hooks == ()


@pytest.mark.req("R371")
def test_a_settings_file_cannot_name_a_function_of_a_program() -> None:
    found = plan_hooks(settings((Level.USER, group("PreToolUse", {"type": "callback", "callback": "hook_0"}))))
    assert (found.hooks, "'callback' is not run" in found.diagnostics[0].message) == ((), True)


def test_a_bad_handler_is_left_out_and_a_bad_managed_one_is_a_guard_that_never_passes() -> None:
    bad = group("PreToolUse", {"type": "command"}, {"type": "agent", "prompt": "x"}, "x")
    found = plan_hooks(settings((Level.USER, bad)))
    assert found.hooks == ()
    assert len(found.diagnostics) == 3
    managed = plan_hooks(settings((Level.MANAGED, bad)))
    assert {(hook.command, hook.is_guard) for hook in managed.hooks} == {("exit 1", True)}


def test_hooks_of_a_repository_wait_for_trust_where_somebody_can_be_asked_for_it() -> None:
    shared = settings((Level.PROJECT, group("PreToolUse", handler())), shared=True)
    assert plan_hooks(shared, runs_shared=False).hooks == ()
    assert "not trusted" in plan_hooks(shared, runs_shared=False).diagnostics[0].message
    assert plan_hooks(shared).hooks[0].shared


def test_events_that_are_unknown_or_not_fired_are_said() -> None:
    found = plan_hooks(settings((Level.USER, {"hooks": {"Nope": [], "TeammateIdle": [], "onFailure": "refuse"}})))
    assert [note.message for note in found.diagnostics] == [
        "The hook event 'Nope' is not known",
        "The hook event 'TeammateIdle' is not fired by this version",
    ]
    assert found.on_failure is OnFailure.REFUSE


@pytest.mark.parametrize(
    ("run", "decision", "failure"),
    [
        (exited(), None, None),
        (exited(stdout="hello"), None, None),
        (exited(2, stderr="no"), "deny", None),
        (
            exited(2, {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}),
            "deny",
            None,
        ),
        (exited(0, {"decision": "approve"}), "allow", None),
        (exited(0, {"decision": "block"}), "deny", None),
        (exited(0, {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}), "ask", None),
        (
            exited(0, {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}),
            "ask",
            None,
        ),
        (exited(1, {"decision": "block"}), "deny", None),
        (exited(0, {"hookSpecificOutput": {"permissionDecision": "allow"}}), None, "names another event"),
        (
            exited(0, {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "yes"}}),
            None,
            "unknown",
        ),
        (exited(0, {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": "x"}}), None, "no object"),
        (exited(0, '{"decision": '), None, "broken JSON"),
        (exited(1, stderr="Traceback\nx"), None, "exit code 1: Traceback"),
        (exited(127, stderr="sh: 1: x: not found"), None, "could not be launched"),
        (exited(2, stderr="python3: can't open file '/x/missing.py': [Errno 2]"), None, "could not be launched"),
        (HookRun(ended=Ended.TIMED_OUT), None, "timed out"),
        (HookRun(ended=Ended.NOT_STARTED), None, "could not be started"),
        (exited(-9), None, "exit code -9"),
    ],
)
@pytest.mark.req("R371")
def test_what_a_pre_hook_said(run: HookRun, decision: str | None, failure: str | None) -> None:
    report = read_report(make_hook(), run)
    assert report.decision == decision
    assert (report.failure is None) == (failure is None)
    assert failure is None or failure in (report.failure or "")


def test_deny_beats_ask_beats_allow() -> None:
    def say(verdict: str) -> Any:
        special = {"hookEventName": "PreToolUse", "permissionDecision": verdict, "permissionDecisionReason": verdict}
        return read_report(make_hook(), exited(0, {"hookSpecificOutput": special}))

    allow, ask, deny = say("allow"), say("ask"), say("deny")
    assert plan_answer([allow, ask, deny], None, interactive=True).denied is not None
    both = plan_answer([allow, ask], None, interactive=True)
    assert (both.denied, both.allowed) == (None, None)
    assert both.ask is not None
    assert plan_answer([allow], None, interactive=True).allowed is not None
    assert plan_answer([], None, interactive=True) == plan_answer(
        [read_report(make_hook(), exited())], None, interactive=True
    )


@pytest.mark.parametrize("event", [name for name, row in EVENTS.items() if row.fired and name != "PreToolUse"])
@pytest.mark.req("R367", "R378")
def test_no_other_hook_speaks_about_permission(event: str) -> None:
    special = {"hookEventName": event, "permissionDecision": "allow", "updatedInput": {"command": "x"}}
    report = read_report(make_hook(event), exited(0, {"hookSpecificOutput": special, "decision": "approve"}))
    assert (report.decision, report.input) == (None, None)


@pytest.mark.parametrize(
    ("rule", "command", "heard"),
    [
        ("Bash(git *)", "git push", True),
        ("Bash(git *)", "ls && git push", True),
        ("Bash(git *)", "ls", False),
        ("Bash(git *)", "case x in x) ls;; esac", True),
        ("Edit", "ls", False),
        ("((", "ls", True),
    ],
)
def test_a_condition_that_cannot_be_judged_is_heard(rule: str, command: str, heard: bool) -> None:
    assert condition_applies(rule, make_call("Bash", command=command), make_policy()) is heard
