"""What the gate leaves behind, how a change of enforcement is logged, and that the context line cannot reach it."""

import ast
import hashlib
from pathlib import Path

import pytest

from compositor.policy.audit import Gate, enforcement_changes, policy_digest
from compositor.policy.registry import GATE_INSTRUCTIONS
from compositor.types.instructions import (
    LOSS_MODES,
    EnforcementPower,
    InstructionClass,
    LossMode,
    ModelAuthority,
    Region,
)
from compositor.types.verdicts import PermissionMode
from tests.policy.judge import make_call, make_policy, make_rules, run_gate


def test_a_record_says_what_was_decided_by_whom_and_on_what() -> None:
    call = make_call("Bash", command="rm x")
    policy = make_policy(*make_rules("managed", deny=("Bash(rm:*)",)))
    record = run_gate(call, policy)[0].audit
    assert (record.call_id, record.tool, record.allowed, record.gate) == ("toolu_1", "Bash", False, "deny_rules")
    assert record.rule is not None
    assert (record.rule.text, record.rule.level) == ("Bash(rm:*)", "managed")
    assert record.input_digest == hashlib.sha256(b'{"command":"rm x"}').hexdigest()
    assert record.mode == "default"
    assert "rm x" not in record.reason
    assert [finding.gate for finding in record.trace] == [Gate.REGISTRY, Gate.DENY_RULES]


def test_an_allowed_record_names_the_last_gate() -> None:
    record = run_gate(make_call("Bash", command="ls"), make_policy())[0].audit
    assert record.allowed
    assert record.gate == "execution"


def test_equal_policies_have_equal_digests() -> None:
    assert policy_digest(make_policy()) == policy_digest(make_policy())
    assert policy_digest(make_policy()) != policy_digest(make_policy(trusted=False))


@pytest.mark.req("R370")
@pytest.mark.parametrize("cause", LOSS_MODES[InstructionClass.ENFORCEMENT])
def test_each_of_the_four_causes_of_a_change_can_be_logged(cause: LossMode) -> None:
    before, after = make_policy(), make_policy(*make_rules(deny=("Bash",)), mode=PermissionMode.PLAN)
    changes = list(enforcement_changes(before, after, cause))
    assert [(change.cause, change.field) for change in changes] == [(cause, "rules"), (cause, "mode")]
    assert (changes[1].before, changes[1].after) == ('"default"', '"plan"')
    assert not list(enforcement_changes(before, before, cause))


def test_a_change_has_one_of_the_four_causes() -> None:
    with pytest.raises(ValueError, match="'dedup' is no cause"):
        list(enforcement_changes(make_policy(), make_policy(), LossMode.DEDUP))


@pytest.mark.req("R016", "R018")
def test_every_gate_is_declared_as_enforcement() -> None:
    assert [row.name for row in GATE_INSTRUCTIONS] == [f"gate.{gate.value}" for gate in Gate]
    for row in GATE_INSTRUCTIONS:
        assert row.kind is InstructionClass.ENFORCEMENT
        assert row.power is EnforcementPower.STOPS_BEFORE
        assert row.authority is ModelAuthority.NONE
        assert row.region is Region.NONE
        assert row.producer
        assert row.form
        assert row.why_here


@pytest.mark.req("R017")
def test_enforcement_is_lost_in_four_ways() -> None:
    expected = {
        LossMode.CONFIGURATION_SOURCE,
        LossMode.SESSION_REBUILD,
        LossMode.PLATFORM_ABILITY,
        LossMode.EXTERNAL_POLICY,
    }
    assert all(set(row.loss_modes) == expected for row in GATE_INSTRUCTIONS)


@pytest.mark.req("R012", "R359", "R360")
def test_nothing_of_the_context_line_can_reach_a_verdict(repository: Path) -> None:
    imported: set[str] = set()
    for file in sorted((repository / "src/compositor/policy").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module)
            elif isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
    own = {name for name in imported if name.startswith("compositor")}
    assert own <= {
        "compositor.config.layer",
        "compositor.config.settings",
        "compositor.errors",
        "compositor.types.json",
        "compositor.types.diagnostics",
        "compositor.types.instructions",
        "compositor.types.patterns",
        "compositor.types.tools",
        "compositor.types.verdicts",
    }
    assert {name.split(".")[0] for name in imported - own} <= {
        "__future__", "collections", "enum", "fnmatch", "functools", "hashlib", "json", "jsonschema_rs", "msgspec", "posixpath",
        "re", "tree_sitter", "tree_sitter_bash", "typing", "unicodedata", "urllib",
    }  # fmt: skip
