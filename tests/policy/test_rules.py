"""The text of rules: what is one, what is reported, what it names."""

import pytest

from compositor.errors import PermissionRuleError
from compositor.policy.rules import Parameter, names_tool, parameter_of, parse_rule, parse_rules
from compositor.types.diagnostics import Severity
from compositor.types.verdicts import PermissionRule, RuleEffect

ALLOW, ASK, DENY = RuleEffect.ALLOW, RuleEffect.ASK, RuleEffect.DENY


def parsed(text: object, effect: RuleEffect = DENY) -> PermissionRule:
    rule = parse_rule(text, effect=effect, level="user")
    assert isinstance(rule, PermissionRule), rule
    return rule


@pytest.mark.parametrize(
    ("text", "tool", "specifier"),
    [
        ("Bash", "Bash", None),
        ("Bash(*)", "Bash", None),
        ("  Bash(ls -la)  ", "Bash", "ls -la"),
        ("Bash(echo (a) b)", "Bash", "echo (a) b"),
        ("Read(./a b/**)", "Read", "./a b/**"),
        ("Task(reviewer)", "Agent", "reviewer"),
        ("mcp__db__query", "mcp__db__query", None),
        ("WebFetch(domain:a.test)", "WebFetch", "domain:a.test"),
        ("Bash(a:b:*)", "Bash", "a:b:*"),
        ("*", "*", None),
        ("mcp__*", "mcp__*", None),
    ],
)
def test_a_rule_is_a_tool_and_perhaps_a_specifier(text: str, tool: str, specifier: str | None) -> None:
    rule = parsed(text)
    assert (rule.tool, rule.specifier, rule.text) == (tool, specifier, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "Bash(",
        "Bash)",
        "Bash(ls) x",
        "(ls)",
        "Bash ls",
        "Bash()",
        "Bash( )",
        "mcp__*(x)",
        3,
        None,
        ["Bash"],
        {},
    ],
)
def test_what_is_no_rule_is_a_value_and_not_a_crash(text: object) -> None:
    found = parse_rule(text, effect=DENY, level="user", where="settings.json, permissions.deny[0]")
    assert isinstance(found, PermissionRuleError)
    assert repr(text) in found.message
    assert found.where == "settings.json, permissions.deny[0]"


@pytest.mark.parametrize("text", ["*", "mcp__*", "B*", "mcp__*__read", "mcp__d?__x"])
def test_an_allow_rule_has_no_name_glob_before_the_server(text: str) -> None:
    assert isinstance(parse_rule(text, effect=ALLOW, level="user"), PermissionRuleError)
    assert parsed(text, DENY).tool == text
    assert parsed(text, ASK).tool == text


def test_an_allow_rule_may_hold_a_glob_behind_a_literal_server() -> None:
    assert parsed("mcp__db__read_*", ALLOW).tool == "mcp__db__read_*"


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ("Agent(model:opus)", Parameter("model", "opus")),
        ("Agent(model : opus )", Parameter("model", "opus")),
        ("Bash(run_in_background:true)", Parameter("run_in_background", "true")),
        ("Bash(dangerouslyDisableSandbox:true)", Parameter("dangerouslyDisableSandbox", "true")),
        ("mcp__db__query(database:prod*)", Parameter("database", "prod*")),
        ("Bash(npm:run)", None),
        ("WebFetch(domain:a.test)", None),
        ("Agent(plugin:reviewer)", None),
        ("Skill(plugin:deploy)", None),
        ("Read(a:b)", None),
    ],
)
def test_the_parameter_form(text: str, parameter: Parameter | None) -> None:
    assert parameter_of(parsed(text)) == parameter


def test_the_parameter_form_is_for_deny_and_ask() -> None:
    assert isinstance(parse_rule("Agent(model:opus)", effect=ALLOW, level="user"), PermissionRuleError)


@pytest.mark.parametrize("text", ["Bash(command:ls)", "Read(file_path:x)", "Grep(path:x)", "WebFetch(url:x)"])
def test_the_main_field_is_no_parameter(text: str) -> None:
    assert isinstance(parse_rule(text, effect=DENY, level="user"), PermissionRuleError)


def test_one_bad_entry_costs_only_itself() -> None:
    found = parse_rules(["Bash(", "Read", 3], effect=ALLOW, level="project", file="settings.json")
    assert [rule.text for rule in found.rules] == ["Read"]
    assert [note.where for note in found.diagnostics] == [
        "settings.json, permissions.allow[0]",
        "settings.json, permissions.allow[2]",
    ]
    assert {note.severity for note in found.diagnostics} == {Severity.WARNING}
    assert not found.errors


def test_a_bad_deny_is_an_error_and_a_managed_one_stops_the_run() -> None:
    own = parse_rules(["Bash("], effect=DENY, level="user")
    assert [note.severity for note in own.diagnostics] == [Severity.ERROR]
    assert not own.errors
    managed = parse_rules(["Bash(", "Read"], effect=DENY, level="managed", file="managed-settings.json")
    assert [error.where for error in managed.errors] == ["managed-settings.json, permissions.deny[0]"]
    assert [rule.tool for rule in managed.rules] == ["Read"]


@pytest.mark.parametrize(
    ("effect", "text", "code", "hint"),
    [
        (DENY, "Read(/Users/me/.ssh/**)", "permission.matches-nothing", "Read(//Users/me/.ssh/**)"),
        (DENY, "Read(/etc/passwd)", "permission.matches-nothing", "Read(//etc/passwd)"),
        (DENY, "Read(!a)", "permission.matches-nothing", "other list"),
        (ALLOW, "Bash(a && b)", "permission.matches-nothing", "own rule"),
        (ALLOW, "Bash(a | b)", "permission.matches-nothing", "own rule"),
        (ALLOW, "Bash(a $(b))", "permission.matches-nothing", "own rule"),
        (DENY, "WebFetch(a.test)", "permission.matches-nothing", "domain:"),
        (DENY, "WebSearch(x)", "permission.matches-nothing", "parentheses"),
        (ALLOW, "Write(src/**)", "permission.family", "Edit(src/**)"),
        (DENY, "Glob(src/**)", "permission.family", "Read(src/**)"),
        (DENY, "Bsh", "permission.unknown-tool", ""),
    ],
)
def test_a_rule_that_probably_means_something_else_is_visible(
    effect: RuleEffect, text: str, code: str, hint: str
) -> None:
    found = parse_rules([text], effect=effect, level="user", known_tools={"Bash", "WebFetch", "WebSearch", "Agent"})
    assert [note.code for note in found.diagnostics] == [code]
    assert hint in found.diagnostics[0].hint
    assert len(found.rules) == 1


@pytest.mark.parametrize(
    "text", ["Bash(ls:*)", "Read(/docs/x)", "mcp__no__such", "my_tool", "No*", "Edit", "Agent(x)", "Read(//etc/x)"]
)
def test_no_warning_without_a_reason(text: str) -> None:
    assert not parse_rules([text], effect=DENY, level="user", known_tools={"Bash", "Agent"}).diagnostics


@pytest.mark.parametrize(
    ("text", "name", "named"),
    [
        ("Bash", "Bash", True),
        ("Bash", "BashX", False),
        ("*", "anything", True),
        ("mcp__*", "mcp__a__b", True),
        ("mcp__*", "Bash", False),
        ("mcp__a", "mcp__a__b", True),
        ("mcp__a", "mcp__ab__c", False),
        ("mcp__a__*", "mcp__a__b", True),
        ("mcp__a__b", "mcp__a__bc", False),
        ("B?sh", "Bash", True),
        ("bash", "Bash", False),
    ],
)
def test_names(text: str, name: str, named: bool) -> None:
    assert names_tool(parsed(text), name) is named
