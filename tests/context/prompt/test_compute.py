"""Computing sections: once until a reset, uncached ones each time, in the order of the table whatever finishes first."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec.structs
import pytest

from compositor.context.prompt.compute import DefaultPath, SectionMemo, compute_default, compute_sections
from compositor.context.prompt.facts import SectionProfile, SessionFacts, Style
from compositor.context.prompt.order import SECTIONS
from compositor.context.prompt.section import (
    CacheKind,
    DANGEROUS_uncached_section,
    DynamicSection,
    check_sections,
    find_section,
    memoised_section,
)
from compositor.errors import UsageError
from compositor.types.system import Priority
from tests.context.prompt.building import FACTS

PROFILE = SectionProfile()
DECLARED: dict[str, Any] = {"priority": Priority.P1, "condition": "c", "why_here": "w"}
FULL = msgspec.structs.replace(
    FACTS,
    language="Greek",
    tools=frozenset({"Agent", "Skill", "TodoWrite"}),
    memory_rules=("Keep notes in /notes.",),
    server_instructions=(("zeta", "Call me last."), ("alpha", "Call me first.")),
    style=Style("terse", "Say little."),
    clears_results=True,
    has_scratchpad=True,
    profile_text="Use British spelling.",
    anchors_length=True,
    is_autonomous=True,
)


def counted(text: str | None) -> tuple[list[SessionFacts], Callable[[SessionFacts], str | None]]:
    calls: list[SessionFacts] = []

    def render(facts: SessionFacts) -> str | None:
        calls.append(facts)
        return text

    return calls, render


@pytest.mark.req("R048", "R071")
@pytest.mark.parametrize("text", ["said", None, ""])
def test_a_memoised_section_is_computed_once_until_a_reset(text: str | None) -> None:
    calls, render = counted(text)
    table = (memoised_section("one", render, **DECLARED),)
    first = compute_sections(PROFILE, FACTS, sections=table)
    second = compute_sections(PROFILE, FULL, first.memo, table)
    assert len(calls) == 1
    assert second.sections == first.sections
    assert len(first.sections) == (1 if text else 0)
    compute_sections(PROFILE, FULL, SectionMemo(), table)
    assert len(calls) == 2


@pytest.mark.req("R049", "R050")
def test_an_uncached_section_is_computed_each_time_and_its_reason_changes_no_byte() -> None:
    calls, render = counted("said")
    for reason in ("because", "for another reason"):
        table = (DANGEROUS_uncached_section("one", render, reason, **DECLARED),)
        first = compute_sections(PROFILE, FACTS, sections=table)
        assert compute_sections(PROFILE, FACTS, first.memo, table).sections == first.sections
        assert first.sections[0].fragment.text == "said"
    assert len(calls) == 4
    with pytest.raises(UsageError, match="nobody says why"):
        DANGEROUS_uncached_section("one", render, " ", **DECLARED)


@pytest.mark.req("R047", "R069")
def test_the_table_has_at_most_one_uncached_section_with_its_reason() -> None:
    uncached = [one for one in SECTIONS if isinstance(one, DynamicSection) and one.cache is CacheKind.UNCACHED]
    assert [one.key for one in uncached] == ["mcp_instructions"]
    assert all(one.reason for one in uncached)
    _, render = counted("x")
    twice = [DANGEROUS_uncached_section(key, render, "r", **DECLARED) for key in ("one", "two")]
    with pytest.raises(UsageError, match="one, two"):
        check_sections(twice)
    assert find_section(SECTIONS, "memory").key == "memory"
    with pytest.raises(UsageError, match="there is no section 'nothing'"):
        find_section(SECTIONS, "nothing")


@pytest.mark.req("R054", "R055")
def test_the_shipped_dynamic_sections_have_their_classes() -> None:
    found = {one.key: one.priority.value for one in SECTIONS if isinstance(one, DynamicSection)}
    assert found == {
        "session_guidance": "P0",
        "memory": "P0",
        "mcp_instructions": "P0",
        "env_info": "P1",
        "output_style": "P1",
        "function_result_clearing": "P1",
        "summarize_tool_results": "P1",
        "language": "P2",
        "scratchpad": "P2",
        "token_budget": "P2",
        "profile_override": "P2",
        "length_anchors": "P3",
        "autonomous_brief": "P3",
    }
    assert all(one.condition for one in SECTIONS)


@pytest.mark.req("R052", "R053")
def test_the_order_is_that_of_the_table_whatever_the_facts() -> None:
    order = [one.key for one in SECTIONS]
    rng = random.Random(5)
    for _ in range(100):
        given = {name: getattr(rng.choice((FACTS, FULL)), name) for name in SessionFacts.__struct_fields__}
        said = [one.key for one in compute_sections(PROFILE, SessionFacts(**given)).sections]
        assert said == [key for key in order if key in said]


@pytest.mark.req("R056", "R060", "R061", "R062", "R063", "R064", "R066", "R067", "R068")
def test_each_section_speaks_when_its_condition_holds_and_only_then() -> None:
    without = {one.key for one in compute_sections(PROFILE, FACTS).sections}
    texts = {one.key: one.fragment.text for one in compute_sections(PROFILE, FULL).sections}
    assert without & {one.key for one in SECTIONS[7:]} == {"env_info", "token_budget"}
    assert set(texts) == {one.key for one in SECTIONS}
    assert texts["mcp_instructions"].index("alpha") < texts["mcp_instructions"].index("zeta")
    assert "Say little." in texts["output_style"]
    assert texts["profile_override"] == "Use British spelling."
    assert "25 words" in texts["length_anchors"]
    assert "COMPOSITOR_SCRATCHPAD" in texts["scratchpad"]
    assert "/" not in texts["scratchpad"].replace("/tmp", "")


@pytest.mark.req("R056", "R070")
def test_guidance_names_only_tools_that_are_there() -> None:
    names = (
        "Agent",
        "Skill",
        "ToolSearch",
        "TodoWrite",
        "TaskCreate",
        "EnterPlanMode",
        "BashOutput",
        "AskUserQuestion",
    )
    for name in names:
        facts = msgspec.structs.replace(FACTS, tools=frozenset({name}))
        (text,) = [
            one.fragment.text for one in compute_sections(PROFILE, facts).sections if one.key == "session_guidance"
        ]
        assert {word for word in re.findall(r"\w+", text) if word in names} <= {name}


@pytest.mark.req("R065")
def test_a_budget_changes_no_byte() -> None:
    texts = {
        one.fragment.text
        for facts in (FACTS, FULL)
        for one in compute_sections(PROFILE, facts).sections
        if one.key == "token_budget"
    }
    assert len(texts) == 1


@pytest.mark.req("R044", "R045", "R068")
def test_the_autonomous_path_leaves_the_static_sections_out() -> None:
    found = compute_default(PROFILE, FULL, DefaultPath.AUTONOMOUS).sections
    keys = [one.key for one in found]
    assert keys[0] == "autonomous"
    assert not {one.key for one in SECTIONS[:7]} & set(keys)
    assert {"env_info", "autonomous_brief"} <= set(keys)


@pytest.mark.req("R042", "R083")
def test_the_texts_of_modes_are_loaded_only_where_a_mode_is_on() -> None:
    program = (
        "import sys; from compositor.context.prompt.compute import DefaultPath, compute_default;"
        "from compositor.context.prompt.facts import MachineFacts, SectionProfile, SessionFacts;"
        "facts = SessionFacts(cwd='/r', date='2026-01-01', machine=MachineFacts(platform='linux'), model='m');"
        "compute_default(SectionProfile(), facts, DefaultPath.STANDARD);"
        "print([name for name in sys.modules if '.optional' in name])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
