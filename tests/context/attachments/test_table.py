"""The table of kinds: complete, told apart from what it is not, and true about who makes each of them (R184 to R199)."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from compositor.context.attachments.kinds import Category, Kind, Restore
from compositor.context.attachments.table import KINDS, kind_of
from compositor.runtime.agent import Agent

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference" / "attachments.md"

NAMED = {
    "R184": ("file", "directory", "mcp_resource", "agent_mention", "peer_mention"),
    "R185": ("edited_text_file", "edited_image_file", "read_truncation"),
    "R186": ("nested_memory", "relevant_memories", "memory_update"),
    "R187": (
        "skill_listing",
        "dynamic_skill",
        "deferred_tools_delta",
        "mcp_instructions_delta",
        "dropped_tools",
        "agent_listing_delta",
    ),
    "R188": ("plan_mode", "auto_mode", "output_style", "critical_reminder", "token_usage", "budget"),
    "R189": ("selected_lines_in_ide", "opened_file", "diagnostics"),
    "R190": ("queued_command", "task_status", "agent_pending_message", "team_context"),
    "R191": ("async_hook_response", "hook_blocking_error", "hook_additional_context", "hook_system_message"),
    "R192": ("relevant_memories", "date_change", "diagnostics"),
    "R193": ("compact_file_reference", "plan_file_reference", "task_status"),
    "R194": ("token_usage", "deferred_tools_delta", "mcp_instructions_delta"),
    "R196": ("clipboard_image",),
}


@pytest.mark.req("R184", "R185", "R186", "R187", "R188", "R189", "R190", "R191", "R193", "R195")
def test_every_kind_that_is_named_has_a_row() -> None:
    assert not [kind for kinds in NAMED.values() for kind in kinds if kind not in KINDS]


@pytest.mark.req("R195")
def test_at_least_forty_kinds_declare_every_field() -> None:
    assert len([row for row in KINDS.values() if row.restore is not Restore.OBSOLETE]) >= 40
    assert {row.category for row in KINDS.values()} == set(Category)
    for name, row in KINDS.items():
        assert row.about, name
        assert all(getattr(row, field) is not None for field in Kind.__struct_fields__ if field != "guard"), name


@pytest.mark.req("R195", "R422")
def test_each_producer_is_there_and_the_rest_comes_in_by_the_one_door() -> None:
    for name, row in KINDS.items():
        if row.producer:
            module, _, attribute = row.producer.partition(":")
            found = importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part, None)
            assert found is not None, (name, row.producer)
    assert callable(Agent.receive)


@pytest.mark.req("R195", "R338")
def test_a_kind_that_nobody_knows_passes() -> None:
    assert kind_of("hologram").restore is Restore.KEEP
    assert "hologram" not in KINDS


def test_every_kind_has_its_line_in_the_docs() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", DOCS.read_text("utf-8"), re.MULTILINE)
    assert rows == [name for name, row in KINDS.items() if row.restore is not Restore.OBSOLETE]
