"""What the modes free, and that levels, trust and mode cannot weaken a rule."""

import pytest

from compositor.policy.modes import FREE_ACTIONS, Action, Answer, answer_of, rules_may_allow
from compositor.policy.policy import effective_mode, rules_in_force
from compositor.types.verdicts import PermissionMode, RuleEffect
from tests.policy.judge import MORE, judge, make_call, make_policy, make_rules

FREE = {Action.READ, Action.SHELL_READ, Action.INTERNAL}
# project-conventions 3.2, "Runs without asking".
EXPECTED = {
    PermissionMode.DEFAULT: FREE,
    PermissionMode.ACCEPT_EDITS: FREE | {Action.EDIT, Action.SHELL_EDIT},
    PermissionMode.PLAN: FREE,
    PermissionMode.AUTO: FREE | {Action.EDIT, Action.SHELL_EDIT, Action.SHELL_BUILD},
    PermissionMode.DONT_ASK: FREE,
    PermissionMode.BYPASS: set(Action) - {Action.PERSON},
}


@pytest.mark.parametrize("mode", PermissionMode)
def test_what_a_mode_frees(mode: PermissionMode) -> None:
    assert {action for action in Action if answer_of(mode, action) is Answer.ALLOW} == EXPECTED[mode]
    assert mode in FREE_ACTIONS


@pytest.mark.req("R366")
def test_only_plan_mode_refuses_and_it_refuses_every_write() -> None:
    for mode in PermissionMode:
        refused = {action for action in Action if answer_of(mode, action) is Answer.DENY}
        writes = {Action.EDIT, Action.EDIT_OUTSIDE, Action.EDIT_PROTECTED, Action.SHELL_EDIT, Action.SHELL_WRITE}
        assert refused == (writes if mode is PermissionMode.PLAN else set())


@pytest.mark.parametrize("mode", PermissionMode)
def test_no_rule_frees_what_needs_a_person_or_a_protected_path(mode: PermissionMode) -> None:
    assert not rules_may_allow(mode, Action.PERSON)
    assert not rules_may_allow(mode, Action.EDIT_PROTECTED)


@pytest.mark.req("R366")
def test_no_rule_frees_an_effect_in_plan_mode() -> None:
    freed = {action for action in Action if rules_may_allow(PermissionMode.PLAN, action)}
    assert freed == FREE | {Action.READ_OUTSIDE, Action.NETWORK}


def test_a_locked_bypass_is_none() -> None:
    assert effective_mode(make_policy(mode=PermissionMode.BYPASS)) is PermissionMode.BYPASS
    locked = make_policy(mode=PermissionMode.BYPASS, bypass_disabled=True)
    assert effective_mode(locked) is PermissionMode.DEFAULT
    assert judge(make_call("Bash", command="make"), locked) == "ask"


@pytest.mark.req("R372")
def test_managed_rules_come_first_and_cannot_be_weakened() -> None:
    managed = make_rules("managed", deny=("Bash(curl:*)",), ask=("Bash(git push:*)",))
    for level in ("cli", "local", "project", "user", "session"):
        own = make_rules(level, allow=("Bash(curl:*)", "Bash(git push:*)", "Bash"))
        policy = make_policy(*own, *managed)
        assert judge(make_call("Bash", command="curl x"), policy) == "deny"
        assert judge(make_call("Bash", command="git push"), policy) == "ask"
        assert rules_in_force(policy, RuleEffect.DENY)[0].level == "managed"


@pytest.mark.req("R372")
def test_a_managed_policy_may_shut_out_all_other_allow_rules_and_no_deny() -> None:
    rules = (
        *make_rules("user", allow=("Bash(make)",), deny=("Bash(npm)",)),
        *make_rules("managed", allow=("Bash(go)",)),
    )
    policy = make_policy(*rules, managed_rules_only=True)
    assert judge(make_call("Bash", command="make"), policy) == "ask"
    assert judge(make_call("Bash", command="go"), policy) == "allow"
    assert judge(make_call("Bash", command="npm"), policy) == "deny"


def test_the_rules_of_a_repository_wait_for_trust_where_they_allow() -> None:
    rules = make_rules("project", allow=("Bash(make)",), deny=("Bash(npm)",), ask=("Bash(ls:*)",))
    for trusted in (False, True):
        policy = make_policy(*rules, trusted=trusted)
        assert judge(make_call("Bash", command="make"), policy) == ("allow" if trusted else "ask")
        assert judge(make_call("Bash", command="npm"), policy) == "deny"
        assert judge(make_call("Bash", command="ls"), policy) == "ask"


@pytest.mark.req("R365")
def test_advice_is_no_rule_and_a_rule_needs_no_advice() -> None:
    call = make_call("Bash", command="npm publish")
    freest = make_policy(mode=PermissionMode.BYPASS)
    # "Do not run npm publish" in a project's instructions has no way into the policy: the call is free.
    assert judge(call, freest) == "allow"
    managed = make_policy(*make_rules("managed", deny=("Bash(npm publish:*)",)), mode=PermissionMode.BYPASS)
    assert judge(call, managed) == "deny"


def test_where_a_session_moved_to_another_folder_git_is_not_read_only() -> None:
    assert judge(make_call("Bash", command="git status"), make_policy()) == "allow"
    assert judge(make_call("Bash", command="git status"), make_policy(cwd="/home/u/proj/vendor")) == "ask"
    assert judge(make_call("Bash", command="ls"), make_policy(cwd="/home/u/proj/vendor")) == "allow"


def test_in_an_additional_directory_git_is_not_read_only_either() -> None:
    assert judge(make_call("Bash", command="git status"), make_policy()) == "allow"
    assert judge(make_call("Bash", command=f"cd {MORE} && git status"), make_policy()) == "ask"
    assert judge(make_call("Bash", command=f"cd {MORE} && ls"), make_policy()) == "allow"


def test_a_search_that_hides_what_is_denied_does_not_ask() -> None:
    rules = make_rules(deny=("Read(.env)",))
    assert judge(make_call("Grep", pattern="x"), make_policy(*rules)) == "ask"
    hides = make_policy(*rules, search_hides_denied=True)
    assert judge(make_call("Grep", pattern="x"), hides) == "allow"
    # A shell command knows no rules, whatever the search tools do.
    for command in ("grep -r x .", "grep --recursive x", "grep -d recurse x .", "rg x", "diff a b"):
        assert judge(make_call("Bash", command=command), hides) == "ask"
        assert judge(make_call("Bash", command=command), make_policy()) == "allow"


def test_an_allow_rule_does_not_move_with_the_session_and_a_deny_reaches_both_places() -> None:
    moved = {"cwd": "/home/u/proj/vendor"}
    policy = make_policy(*make_rules(allow=("Edit(src/**)",), deny=("Edit(./gen/**)",)), **moved)
    assert judge(make_call("Edit", file_path="/home/u/proj/src/a"), policy) == "allow"
    assert judge(make_call("Edit", file_path="src/a"), policy) == "ask"
    assert judge(make_call("Edit", file_path="gen/a"), policy) == "deny"
    assert judge(make_call("Edit", file_path="/home/u/proj/gen/a"), policy) == "deny"


def test_an_edit_without_a_path_is_asked_about() -> None:
    assert judge(make_call("Edit", old_string="a"), make_policy(mode=PermissionMode.ACCEPT_EDITS)) == "ask"


@pytest.mark.parametrize(
    ("tool", "fields", "rule", "expected"),
    [
        ("Agent", {"subagent_type": "x", "model": "opus"}, "Agent(model:opus)", "deny"),
        ("Agent", {"subagent_type": "x", "model": "haiku"}, "Agent(model:opus)", "allow"),
        ("Agent", {"subagent_type": "x"}, "Agent(model:*)", "allow"),
        ("Agent", {}, "Agent(general-purpose)", "deny"),
        ("Bash", {"command": "ls", "run_in_background": True}, "Bash(run_in_background:true)", "deny"),
        ("Bash", {"command": "ls", "run_in_background": False}, "Bash(run_in_background:true)", "allow"),
        ("Bash", {"command": "ls", "timeout": 5}, "Bash(timeout:5)", "deny"),
        ("mcp__db__q", {"database": "prod-1"}, "mcp__db__q(database:prod*)", "deny"),
        ("mcp__db__q", {"database": ["prod"]}, "mcp__db__q(database:*)", "ask"),
        ("mcp__db__q", {"database": None}, "mcp__db__q(database:*)", "ask"),
    ],
)
def test_the_parameter_form(tool: str, fields: dict[str, object], rule: str, expected: str) -> None:
    assert judge(make_call(tool, **fields), make_policy(*make_rules(deny=(rule,)))) == expected
