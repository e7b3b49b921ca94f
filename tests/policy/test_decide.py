"""The verdict by itself, without the gate around it."""

import pytest
from msgspec import Raw

from compositor.policy.decide import GATE, STAGES, check_denied, decide
from compositor.policy.paths import ResolvedPath
from compositor.types.tools import ToolCall
from compositor.types.verdicts import Allow, Ask, Deny, PermissionMode
from tests.policy.judge import CWD, make_call, make_definition, make_policy, make_rules

MAKE = make_call("Bash", command="make")
BASH = make_definition("Bash")


def test_each_verdict_carries_its_rule_and_a_reason() -> None:
    rules = make_rules(deny=("Bash(a)",), ask=("Bash(b)",), allow=("Bash(c)",))
    policy = make_policy(*rules)
    found = [decide(make_call("Bash", command=text), BASH, policy, {}) for text in "abc"]
    assert [type(verdict) for verdict in found] == [Deny, Ask, Allow]
    assert [verdict.rule for verdict in found] == list(rules)
    assert all(repr(rule.text) in verdict.reason for verdict, rule in zip(found, rules, strict=True))


def test_in_dont_ask_mode_a_question_is_a_refusal_with_the_reason_of_the_question() -> None:
    rules = make_rules(ask=("Bash(make)",))
    verdict = decide(MAKE, BASH, make_policy(*rules, mode=PermissionMode.DONT_ASK), {})
    assert isinstance(verdict, Deny)
    assert verdict.gate == GATE
    assert verdict.rule == rules[0]
    assert "asks" in verdict.reason
    assert "dontAsk" in verdict.reason


def test_only_the_deny_rules_speak_on_the_given_input() -> None:
    policy = make_policy(*make_rules(deny=("Bash(rm:*)",), ask=("Bash(make)",)), mode=PermissionMode.PLAN)
    assert check_denied(MAKE, BASH, policy, {}) is None
    assert (
        check_denied(
            make_call("Edit", file_path="/x"), make_definition("Edit"), policy, {"/x": ResolvedPath("/x", "/x")}
        )
        is None
    )
    denied = check_denied(make_call("Bash", command="rm -- "), BASH, policy, {})
    assert denied is not None
    assert denied.rule is not None


@pytest.mark.req("R371")
def test_a_path_that_was_not_resolved_and_an_unreadable_input_are_errors() -> None:
    policy = make_policy(mode=PermissionMode.BYPASS)
    with pytest.raises(KeyError):
        decide(make_call("Read", file_path="a"), make_definition("Read"), policy, {})
    with pytest.raises(ValueError, match="twice"):
        decide(ToolCall(id="1", name="Bash", input=Raw(b'{"a":1,"a":2}')), BASH, policy, {})
    with pytest.raises(ValueError, match="no JSON object"):
        decide(ToolCall(id="1", name="Bash", input=Raw(b"[]")), BASH, policy, {})


def test_a_further_path_of_a_reading_tool_is_read_and_of_any_other_written() -> None:
    a, extra = ResolvedPath(f"{CWD}/a", f"{CWD}/a"), ResolvedPath(f"{CWD}/.git/x", f"{CWD}/.git/x")
    resolved = {a.path: a, extra.path: extra}
    assert isinstance(decide(make_call("Read", file_path="a"), make_definition("Read"), make_policy(), resolved), Allow)
    policy = make_policy(*make_rules(allow=("mcp__fs", "Edit")))
    assert isinstance(decide(make_call("mcp__fs__x"), make_definition("mcp__fs__x"), policy, {extra.path: extra}), Ask)
    assert isinstance(decide(make_call("mcp__fs__x"), make_definition("mcp__fs__x"), policy, {a.path: a}), Allow)
    assert isinstance(decide(make_call("Edit", file_path="a"), make_definition("Edit"), policy, resolved), Ask)


def test_the_stages_stand_in_the_order_of_the_conventions() -> None:
    names = [stage.__name__.strip("_") for stage in STAGES]
    assert names[0] == "denied"
    assert names.index("asked") < names.index("allowed") < names.index("by_mode") == len(names) - 1
    assert all(names.index(name) < names.index("allowed") for name in ("critical", "not_simple", "refused_by_mode"))
