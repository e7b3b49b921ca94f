"""What the shape of the table and of the layout holds by itself."""

from __future__ import annotations

import inspect
from pathlib import Path

import msgspec.structs
import pytest

from compositor.context.memory.automatic import keeping_rules
from compositor.context.memory.facts import MemoryFolder
from compositor.context.prompt.facts import SectionProfile, SessionFacts
from compositor.context.prompt.layout import head_parts
from compositor.context.prompt.order import SECTIONS
from compositor.context.prompt.section import DynamicSection
from compositor.types.memory import MemoryLevel
from tests.context.prompt.building import FACTS, blocks, prompt


@pytest.mark.req("R051", "R038")
def test_no_section_can_see_another_ones_text() -> None:
    """A renderer takes the facts, or the profile, and nothing else: there is no way to another section's result."""
    for section in SECTIONS:
        (parameter,) = inspect.signature(section.render, eval_str=True).parameters.values()
        wanted = SessionFacts if isinstance(section, DynamicSection) else SectionProfile
        assert parameter.annotation is wanted, section.key
    assert all("SectionText" not in str(field.type) for field in msgspec.structs.fields(SessionFacts))


@pytest.mark.req("R057")
def test_the_rules_of_keeping_notes_stand_behind_the_boundary_only(tmp_path: Path) -> None:
    folder = MemoryFolder(path=str(tmp_path / "notes"), level=MemoryLevel.AUTOMATIC, is_kept=True)
    facts = msgspec.structs.replace(FACTS, memory_rules=(keeping_rules(folder),))
    static, dynamic = blocks(head_parts(prompt(facts)))
    assert str(tmp_path) in dynamic
    assert str(tmp_path) not in static
    assert static == blocks(head_parts(prompt(FACTS)))[0]
