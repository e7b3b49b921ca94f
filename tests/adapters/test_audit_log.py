"""The log of the enforcement line: private, one object a line, digests instead of inputs, and never silent when it fails."""

import json
from pathlib import Path

import msgspec
import pytest

from compositor.adapters import audit_log
from compositor.adapters.audit_log import AuditLog
from compositor.adapters.clock import clock_from
from compositor.policy.audit import enforcement_changes
from compositor.types.instructions import LossMode
from tests.policy.judge import make_call, make_policy, make_rules, run_gate


def make_log(home: Path) -> AuditLog:
    return AuditLog(home, "session", "/p", clock_from({"COMPOSITOR_NOW": "2026-01-31T12:00:00Z"}))


def lines(log: AuditLog) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(log.path).read_text().splitlines()]


@pytest.mark.req("R370")
def test_a_verdict_with_its_rule_and_a_change_with_its_cause(tmp_path: Path) -> None:
    log = make_log(tmp_path)
    policy = make_policy(*make_rules(deny=("Bash(rm *)",)))
    log.verdict(run_gate(make_call("Bash", command="rm secret-name"), policy)[0].audit)
    for cause in (
        LossMode.CONFIGURATION_SOURCE,
        LossMode.SESSION_REBUILD,
        LossMode.PLATFORM_ABILITY,
        LossMode.EXTERNAL_POLICY,
    ):
        for change in enforcement_changes(policy, make_policy(), cause):
            log.change(change)
    first, *changes = lines(log)
    assert (first["type"], first["verdict"], first["rule"], first["level"]) == ("verdict", "deny", "Bash(rm *)", "user")
    assert "secret-name" not in Path(log.path).read_text().splitlines()[0]
    assert [(one["cause"], one["field"]) for one in changes] == [
        ("configuration_source", "rules"),
        ("session_rebuild", "rules"),
        ("platform_ability", "rules"),
        ("external_policy", "rules"),
    ]
    assert Path(log.path).stat().st_mode & 0o077 == 0


def test_a_full_file_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "MAX_BYTES", 10)
    log = make_log(tmp_path)
    record = run_gate(make_call("Bash", command="ls"), make_policy())[0].audit
    log.verdict(record)
    log.verdict(msgspec.structs.replace(record, call_id="second"))
    assert [line["tool_use_id"] for line in lines(log)] == ["second"]
    assert Path(log.path).with_name("audit.1.jsonl").exists()
