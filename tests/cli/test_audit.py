"""`compositor explain --dry-run` and the base line: all that would leave the machine, and what each extension costs."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from compositor.config.price import find_price
from compositor.insight.baseline import GROUPS, base_line, group_of
from compositor.types.provenance import Attribution, Lane, Lifetime, Source


def audit(call: Any, *arguments: str) -> dict[str, Any]:
    ended = call("explain", "fix it", "--dry-run", "--json", *arguments)
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, Any] = json.loads(ended.out)
    return found


@pytest.mark.req("R396", "R398")
def test_the_list_is_the_whole_body_piece_by_piece(call: Any) -> None:
    body = call("compile", "fix it", "--body").out.encode()
    found = audit(call)
    assert found["sha256"] == hashlib.sha256(body).hexdigest()
    assert sum(piece["size"] for piece in found["pieces"]) + found["syntax"] == len(body) == found["size"]
    for piece in found["pieces"]:
        data = body[piece["start"] : piece["start"] + piece["size"]]
        assert piece["sha256"] == hashlib.sha256(data).hexdigest()
        assert piece["source"]
        assert piece["lane"]
    assert found["sends"] is False


@pytest.mark.req("R396")
def test_an_instruction_file_is_on_the_list_before_anything_is_sent(call: Any, project: Path) -> None:
    (project / "CLAUDE.local.md").write_text("Personal: answer briefly.\n")
    sources = [piece["source"] for piece in audit(call)["pieces"]]
    assert {"memory CLAUDE.md", "memory CLAUDE.local.md"} <= set(sources)


def test_no_credential_is_shown(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-1")
    text = call("explain", "x", "--dry-run").out
    assert "sk-secret" not in text
    assert "authorization or x-api-key" in text
    assert "would go to https://" in text


def test_a_sent_request_is_no_dry_run(call: Any) -> None:
    ended = call("explain", "1f0c9a3e", "--dry-run")
    assert ended.code == 2
    assert "what was sent is no dry run" in ended.err


@pytest.mark.req("R400", "R402")
def test_the_base_line_names_every_extension_and_what_is_absent(call: Any) -> None:
    out = call("explain", "fix it").out
    assert all(group in out for group in GROUPS)
    assert "MCP servers          absent" in out
    rows = json.loads(call("explain", "fix it", "--json").out)
    shares = {share["group"]: share for share in rows["base_line"]}
    assert shares["instruction files"]["tokens"] > 0
    assert shares["hooks"]["pieces"] == 0
    counted = sum(row["tokens"] for row in rows["rows"] if row["origin"]["lane"] != Lane.SCALAR.value)
    assert sum(share["tokens"] for share in shares.values()) == counted


@pytest.mark.req("R402")
def test_cuts_and_absences_are_listed(call: Any) -> None:
    kept = audit(call)["kept_back"]
    assert any("section language" in line and "does not hold" in line for line in kept)
    assert any("MCP servers" in line for line in kept)


@pytest.mark.parametrize(
    ("kind", "name", "group"),
    [
        ("tool", "Read", "built-in tools"),
        ("tool", "mcp__github__search", "MCP servers"),
        ("tool", "Skill", "skills"),
        ("memory", "CLAUDE.md", "instruction files"),
        ("attachment", "nested_memory", "instruction files"),
        ("attachment", "skill_listing", "skills"),
        ("attachment", "mcp_instructions_delta", "MCP servers"),
        ("attachment", "agent_listing_delta", "agents"),
        ("attachment", "hook_additional_context", "hooks"),
        ("attachment", "changed_files", "facts and reminders"),
        ("section", "identity", "system prompt"),
        ("context", "date", "facts and reminders"),
        ("entry", "u1", "conversation"),
    ],
)
def test_every_source_has_its_group(kind: str, name: str, group: str) -> None:
    assert group_of(Attribution(Source(kind, name), Lane.SYSTEM, Lifetime.SESSION)) == group


def test_dollars_are_those_of_one_request() -> None:
    origin = Attribution(Source("section", "identity"), Lane.SYSTEM, Lifetime.RELEASE)
    (share, *_) = base_line([(origin, 1_000_000)], find_price("claude-sonnet-4-6"))
    # 0.30 read and 3.75 written for a million tokens (wire page 9.3).
    assert (share.read, share.written) == (0.30, 3.75)
    assert base_line([(origin, 5)], None)[0].read is None
