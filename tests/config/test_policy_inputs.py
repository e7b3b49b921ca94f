"""What the gate is given: whose rules, whose mode, whose directories."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.config.flags import Flags
from compositor.config.layer import Layer, Level, parse_layer
from compositor.config.policy_inputs import PolicyInputs, collect_policy, denied_tools
from compositor.config.settings import RuleText, merge_layers
from compositor.config.trust import Trust
from compositor.types.verdicts import PermissionMode, RuleEffect

M = PermissionMode


def layer(level: Level, value: dict[str, Any], *, shared: bool = False) -> Layer:
    return parse_layer(json.dumps(value).encode(), level=level, file=f"{level}.json", base="/b", shared=shared)


def collect(*layers: Layer, flags: Flags = Flags(), trust: Trust = Trust.UNTRUSTED) -> PolicyInputs:  # noqa: B008
    return collect_policy(flags, merge_layers(layers), trust, "/work")


def texts(policy: PolicyInputs, effect: RuleEffect) -> list[str]:
    return [rule.text for rule in policy.rules if rule.effect is effect]


def test_without_settings_the_gate_has_no_rules_and_the_default_mode() -> None:
    policy = collect()
    assert (policy.rules, policy.mode, policy.directories) == ((), M.DEFAULT, ())


def test_flags_become_rules_of_the_command_line() -> None:
    policy = collect(flags=Flags(allowed_tools=("Edit",), disallowed_tools=("Bash(rm *)",)))
    assert [(rule.effect, rule.text, rule.level, rule.base) for rule in policy.rules] == [
        (RuleEffect.DENY, "Bash(rm *)", Level.CLI, "/work"),
        (RuleEffect.ALLOW, "Edit", Level.CLI, "/work"),
    ]


RULES = {"permissions": {"allow": ["Edit"], "ask": ["WebFetch"], "deny": ["Bash"], "additionalDirectories": ["../x"]}}


def test_a_repository_without_trust_only_tightens() -> None:
    policy = collect(layer(Level.PROJECT, RULES, shared=True))
    assert texts(policy, RuleEffect.ALLOW) == []
    assert texts(policy, RuleEffect.ASK) == ["WebFetch"]
    assert texts(policy, RuleEffect.DENY) == ["Bash"]
    assert policy.directories == ()
    assert [note.code for note in policy.diagnostics] == ["policy.rule-ignored", "policy.directory-ignored"]


def test_with_trust_all_of_it_counts() -> None:
    policy = collect(layer(Level.PROJECT, RULES, shared=True), trust=Trust.TRUSTED)
    assert texts(policy, RuleEffect.ALLOW) == ["Edit"]
    assert [(directory.path, directory.base) for directory in policy.directories] == [("../x", "/work")]
    assert policy.diagnostics == ()


def test_the_users_own_files_need_no_trust() -> None:
    policy = collect(layer(Level.USER, RULES), layer(Level.LOCAL, {"permissions": {"allow": ["Write"]}}))
    assert sorted(texts(policy, RuleEffect.ALLOW)) == ["Edit", "Write"]


@pytest.mark.req("R372")
def test_managed_settings_can_keep_allowing_to_themselves() -> None:
    policy = collect(
        layer(Level.MANAGED, {"allowManagedPermissionRulesOnly": True, "permissions": {"allow": ["Read"]}}),
        layer(Level.USER, RULES),
        flags=Flags(allowed_tools=("Write",)),
    )
    assert texts(policy, RuleEffect.ALLOW) == ["Read"]
    assert texts(policy, RuleEffect.DENY) == ["Bash"]
    assert [note.code for note in policy.diagnostics] == ["policy.rule-ignored", "policy.rule-ignored"]


_rules = st.lists(st.sampled_from(["Bash", "Edit", "Read(/x)"]), max_size=3)
_permissions = st.fixed_dictionaries({}, optional={"allow": _rules, "ask": _rules, "deny": _rules})


@given(
    st.lists(st.tuples(st.sampled_from(list(Level)), _permissions, st.booleans()), max_size=5),
    st.sampled_from(Trust),
)
@pytest.mark.req("R372")
def test_no_deny_or_ask_rule_is_ever_lost(drawn: list[tuple[Level, dict[str, Any], bool]], trust: Trust) -> None:
    policy = collect(
        *(layer(level, {"permissions": value}, shared=shared) for level, value, shared in drawn), trust=trust
    )
    for effect in (RuleEffect.DENY, RuleEffect.ASK):
        written = sorted(text for _, value, _ in drawn for text in value.get(effect.value, ()))
        assert sorted(texts(policy, effect)) == written


@pytest.mark.parametrize(
    ("level", "shared", "mode", "trust", "chosen"),
    [
        (Level.USER, False, "bypassPermissions", Trust.UNTRUSTED, M.BYPASS),
        (Level.USER, False, "manual", Trust.UNTRUSTED, M.DEFAULT),
        (Level.MANAGED, False, "plan", Trust.UNTRUSTED, M.PLAN),
        (Level.PROJECT, True, "plan", Trust.UNTRUSTED, M.PLAN),
        (Level.PROJECT, True, "dontAsk", Trust.UNTRUSTED, M.DONT_ASK),
        (Level.PROJECT, True, "acceptEdits", Trust.UNTRUSTED, M.DEFAULT),
        (Level.PROJECT, True, "acceptEdits", Trust.TRUSTED, M.ACCEPT_EDITS),
        (Level.PROJECT, True, "bypassPermissions", Trust.TRUSTED, M.DEFAULT),
        (Level.PROJECT, True, "auto", Trust.TRUSTED, M.DEFAULT),
        (Level.LOCAL, False, "auto", Trust.TRUSTED, M.DEFAULT),
        (Level.LOCAL, False, "acceptEdits", Trust.UNTRUSTED, M.ACCEPT_EDITS),
    ],
)
def test_who_may_choose_which_mode(level: Level, shared: bool, mode: str, trust: Trust, chosen: M) -> None:
    policy = collect(layer(level, {"permissions": {"defaultMode": mode}}, shared=shared), trust=trust)
    assert policy.mode is chosen
    is_refused = chosen is M.DEFAULT and mode != "manual"
    assert [note.code for note in policy.diagnostics] == (["policy.mode-ignored"] if is_refused else [])


def test_an_ignored_mode_leaves_the_choice_to_the_next_level() -> None:
    policy = collect(
        layer(Level.PROJECT, {"permissions": {"defaultMode": "auto"}}, shared=True),
        layer(Level.USER, {"permissions": {"defaultMode": "plan"}}),
    )
    assert policy.mode is M.PLAN
    assert policy.mode_source == "user.json:1"


def test_a_flag_beats_every_setting() -> None:
    policy = collect(
        layer(Level.MANAGED, {"permissions": {"defaultMode": "plan"}}), flags=Flags(permission_mode=M.ACCEPT_EDITS)
    )
    assert (policy.mode, policy.mode_source) == (M.ACCEPT_EDITS, "--permission-mode")


@pytest.mark.parametrize(
    ("mode", "value"),
    [
        (M.BYPASS, {"permissions": {"disableBypassPermissionsMode": "disable"}}),
        (M.AUTO, {"permissions": {"disableAutoMode": "disable"}}),
        (M.AUTO, {"disableAutoMode": "disable"}),
    ],
)
@pytest.mark.parametrize("level", [Level.MANAGED, Level.PROJECT])
@pytest.mark.req("R372")
def test_a_disabled_mode_is_refused_whoever_asks(mode: M, value: dict[str, Any], level: Level) -> None:
    policy = collect(layer(level, value), flags=Flags(permission_mode=mode), trust=Trust.TRUSTED)
    assert policy.mode is M.DEFAULT
    assert [note.code for note in policy.diagnostics] == ["policy.mode-disabled"]


def test_directories_of_flags_stand_last() -> None:
    policy = collect(layer(Level.USER, RULES), flags=Flags(add_dirs=("/data",)))
    assert [(directory.path, directory.level) for directory in policy.directories] == [
        ("../x", Level.USER),
        ("/data", Level.CLI),
    ]


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("Bash", "Bash"),
        (" Bash ", "Bash"),
        ("Bash(*)", "Bash"),
        ("mcp__*", "mcp__*"),
        ("Bash(rm *)", None),
        ("(*)", None),
    ],
)
def test_which_deny_rules_take_a_whole_tool(text: str, denied: str | None) -> None:
    rule = RuleText(effect=RuleEffect.DENY, text=text, level=Level.USER, file="u.json", line=3)
    assert denied_tools([rule]) == (((denied, "u.json:3"),) if denied else ())


def test_an_allow_rule_takes_no_tool_out() -> None:
    assert denied_tools([RuleText(effect=RuleEffect.ALLOW, text="Bash", level=Level.USER)]) == ()
