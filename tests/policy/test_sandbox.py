"""The borders of the sandbox as values: what settings and rules draw, and what a repository cannot move."""

import json
from typing import Any

import pytest

from compositor.config.layer import Layer, Level, parse_layer
from compositor.config.settings import merge_layers
from compositor.policy.policy import SandboxState
from compositor.policy.sandbox import is_confined, plan_sandbox, plan_state
from compositor.types.verdicts import PermissionMode
from tests.policy.judge import CWD, HOME, judge, make_call, make_policy, make_rules

HERE = SandboxState(enabled=True, available=True, reason="it works")


def layer(level: Level, shared: bool = False, **sandbox: Any) -> Layer:
    data = json.dumps({"sandbox": sandbox}).encode()
    return parse_layer(data, level=level, file=f"{level.value}.json", base="/base", shared=shared)


def test_paths_of_settings_start_where_their_file_says() -> None:
    settings = merge_layers(
        [
            layer(Level.USER, filesystem={"allowWrite": ["/abs", "~/h", "u"], "denyRead": ["~/keys"]}),
            layer(Level.PROJECT, filesystem={"allowWrite": ["./p"], "denyWrite": ["gen"]}),
        ]
    )
    plan = plan_sandbox(settings, make_policy())
    assert set(plan.writable) == {CWD, "/srv/more", "/abs", f"{HOME}/h", "/base/u", f"{CWD}/p"}
    assert f"{CWD}/gen" in plan.kept
    assert f"{CWD}/.git/hooks" in plan.kept
    assert plan.unreadable == (f"{HOME}/keys",)


def test_permission_rules_draw_borders_too() -> None:
    rules = make_rules(
        deny=("Read(~/.ssh/**)", "Read(//etc/secret)", "Edit(gen/**)", "Read(*.pem)", "WebFetch(domain:x.test)"),
        allow=("WebFetch(domain:a.test)",),
    )
    plan = plan_sandbox(merge_layers([]), make_policy(*rules))
    assert plan.unreadable == (f"{HOME}/.ssh", "/etc/secret")
    assert f"{CWD}/gen" in plan.kept
    assert (plan.domains, plan.denied_domains) == (("a.test",), ("x.test",))


@pytest.mark.req("R372", "R359")
def test_a_repository_without_trust_tightens_and_never_loosens() -> None:
    own = layer(Level.USER, enabled=True, failIfUnavailable=True, autoAllowBashIfSandboxed=False)
    loose = layer(
        Level.PROJECT, shared=True, enabled=False, failIfUnavailable=False, autoAllowBashIfSandboxed=True,
        excludedCommands=["*"], filesystem={"allowWrite": ["/"]}, network={"allowedDomains": ["*"]},
    )  # fmt: skip
    settings, untrusted = merge_layers([own, loose]), make_policy(trusted=False)
    state = plan_state(settings, untrusted, available=True, reason="")
    assert (state.enabled, state.required, state.allows_itself, state.excluded) == (True, True, False, ())
    plan = plan_sandbox(settings, untrusted)
    assert "/" not in plan.writable
    assert plan.domains == ()
    strict = layer(Level.PROJECT, shared=True, enabled=True, filesystem={"denyRead": ["/x"]})
    assert plan_state(merge_layers([strict]), untrusted, available=True, reason="").enabled
    assert plan_sandbox(merge_layers([strict]), untrusted).unreadable == ("/x",)


def test_managed_settings_can_keep_reading_and_domains_to_themselves() -> None:
    settings = merge_layers(
        [
            layer(Level.USER, filesystem={"allowRead": ["/u"]}, network={"allowedDomains": ["u.test"]}),
            layer(
                Level.MANAGED,
                filesystem={"allowRead": ["/m"], "allowManagedReadPathsOnly": True},
                network={"allowedDomains": ["m.test"], "allowManagedDomainsOnly": True},
            ),
        ]
    )
    plan = plan_sandbox(settings, make_policy())
    assert plan.readable == ("/m",)
    assert plan.domains == ("m.test",)


def test_a_line_with_one_excluded_command_runs_outside() -> None:
    state = SandboxState(enabled=True, available=True, excluded=("docker *",))
    assert is_confined("ls && make", state)
    assert not is_confined("ls && docker ps", state)
    assert not is_confined("ls", SandboxState(enabled=True))
    assert not is_confined("ls", SandboxState(available=True))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make", "allow"),
        ("python3 x.py > out", "allow"),
        ("rm x", "deny"),
        ("true; rm x", "deny"),
        ("git push", "ask"),
        ("rm -rf /", "deny"),
        ("rmdir /", "ask"),
        ("case x in x) make;; esac", "ask"),
    ],
)
@pytest.mark.req("R363")
def test_what_is_confined_runs_unless_a_rule_or_a_critical_path_speaks(command: str, expected: str) -> None:
    rules = make_rules(deny=("Bash(rm *)",), ask=("Bash(git push *)",))
    assert judge(make_call("Bash", command=command), make_policy(*rules, sandbox=HERE)) == expected


def test_the_sandbox_frees_nothing_else() -> None:
    assert judge(make_call("Edit", file_path="a", old_string="", new_string=""), make_policy(sandbox=HERE)) == "ask"
    assert judge(make_call("Monitor", command="make"), make_policy(sandbox=HERE)) == "ask"
    assert judge(make_call("Bash", command="make"), make_policy(sandbox=HERE, mode=PermissionMode.PLAN)) == "ask"
