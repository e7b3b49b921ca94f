"""The one table of the system prompt's sections: what comes first, and what is declared about each.

Decides order, zone, priority, scope and condition of every section. The texts stand in `sections/`; which prompt applies is decided in
`choose.py`. To change what comes first, change the order of the rows.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

from msgspec import Struct

from compositor.errors import UsageError
from compositor.types.instructions import EnforcementPower, Instruction, InstructionClass, ModelAuthority, Region
from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Omission, Source
from compositor.types.system import Priority, SectionText, Zone

from .facts import SectionProfile, SessionFacts
from .sections.actions import render_actions
from .sections.doing_tasks import render_doing_tasks
from .sections.env_info import render_env_info
from .sections.identity import MINIMAL, render_identity
from .sections.language import render_language
from .sections.output_efficiency import render_output_efficiency
from .sections.system import render_system
from .sections.tone_style import render_tone_style
from .sections.using_tools import render_using_tools


class SharedScope(enum.StrEnum):
    """How widely the bytes of a section may be shared (R046, R086, R087)."""

    GLOBAL = "global"
    NONE = "none"


class DefaultPath(enum.StrEnum):
    """The ways to make the default prompt (R045); the autonomous one has no sections yet."""

    STANDARD = "standard"
    MINIMAL = "minimal"


class StaticSection(Struct, frozen=True, kw_only=True):
    """A section before the boundary. Its text depends on the profile alone. `topics` are what the text must cover (R033 to R040)."""

    key: str
    render: Callable[[SectionProfile], str]
    scope: SharedScope
    topics: tuple[str, ...]
    why_here: str
    priority: Priority = Priority.P0
    condition: str = "always, in the default prompt"

    @property
    def zone(self) -> Zone:
        return Zone.STATIC


class DynamicSection(Struct, frozen=True, kw_only=True):
    """A section behind the boundary, fixed for the session. `is_session_bound` marks facts of this machine or session (R105)."""

    key: str
    render: Callable[[SessionFacts], str | None]
    priority: Priority
    condition: str
    why_here: str
    is_session_bound: bool
    scope: SharedScope = SharedScope.NONE
    topics: tuple[str, ...] = ()

    @property
    def zone(self) -> Zone:
        return Zone.DYNAMIC


Section: TypeAlias = StaticSection | DynamicSection

SECTIONS: tuple[Section, ...] = (
    StaticSection(
        key="identity",
        render=render_identity,
        scope=SharedScope.GLOBAL,
        topics=("identity", "safety_floor", "no_invented_urls"),
        why_here="who the model is, and what holds whatever follows",
    ),
    StaticSection(
        key="system",
        render=render_system,
        scope=SharedScope.GLOBAL,
        topics=(
            "output_constraints",
            "tool_constraints",
            "automatic_compaction",
            "reminder_added_by_client",
            "reminder_unrelated_to_carrier",
            "reminder_not_typed_by_user",
        ),
        why_here="how to read everything else that arrives",
    ),
    StaticSection(
        key="doing_tasks",
        render=render_doing_tasks,
        scope=SharedScope.GLOBAL,
        topics=(
            "no_speculative_abstraction",
            "no_early_error_handling",
            "no_single_use_helper",
            "no_needless_validation",
            "read_before_change",
        ),
        why_here="how to work",
    ),
    StaticSection(
        key="actions",
        render=render_actions,
        scope=SharedScope.GLOBAL,
        topics=(
            "reversibility",
            "blast_radius",
            "local_is_free",
            "confirm_irreversible",
            "approval_scope",
            "approval_not_standing",
        ),
        why_here="how to work: what needs a word first; the gate does not depend on it",
    ),
    StaticSection(
        key="using_tools",
        render=render_using_tools,
        scope=SharedScope.GLOBAL,
        topics=("dedicated_over_shell", "shell_is_opaque", "parallel_calls"),
        why_here="how to work: the habits that hold for every tool; a tool's own abilities stand in its definition",
    ),
    StaticSection(
        key="tone_style",
        render=render_tone_style,
        scope=SharedScope.GLOBAL,
        topics=("no_emoji", "file_line_references", "issue_references", "no_colon_before_call"),
        why_here="how to write",
    ),
    StaticSection(
        key="output_efficiency",
        render=render_output_efficiency,
        scope=SharedScope.GLOBAL,
        topics=("straight_to_the_point", "not_needlessly_terse", "reader_without_questions"),
        why_here="how to write: how much",
    ),
    DynamicSection(
        key="env_info",
        render=render_env_info,
        priority=Priority.P1,
        condition="always, in the default prompt",
        why_here="where the session runs; fixed when it starts",
        is_session_bound=True,
    ),
    DynamicSection(
        key="language",
        render=render_language,
        priority=Priority.P2,
        condition="a language is set",
        why_here="how to write: a standing wish of the user",
        is_session_bound=False,
    ),
)

SESSION_BOUND: frozenset[str] = frozenset(
    section.key for section in SECTIONS if isinstance(section, DynamicSection) and section.is_session_bound
)
"""Keys of the sections that move to the first user message when session facts are excluded from the prompt (R105)."""

STEP = "prompt"


def default_sections(profile: SectionProfile, facts: SessionFacts, path: DefaultPath) -> tuple[SectionText, ...]:
    """The default prompt in table order; a section that has nothing to say leaves nothing behind (R053)."""
    match path:
        case DefaultPath.MINIMAL:
            return (
                _section_text("minimal", Zone.STATIC, MINIMAL, Lifetime.RELEASE, "the minimal prompt is switched on"),
            )
        case DefaultPath.STANDARD:
            return tuple(text for section in SECTIONS if (text := _render(section, profile, facts)) is not None)
        case _:
            assert_never(path)


def left_out_sections(facts: SessionFacts) -> tuple[Omission, ...]:
    """Sections of the standard path that have nothing to say in this session, each with its condition."""
    return tuple(
        Omission(f"section {section.key}", f"its condition does not hold: {section.condition}", STEP)
        for section in SECTIONS
        if isinstance(section, DynamicSection) and not section.render(facts)
    )


def section_instruction(section: Section) -> Instruction:
    """What is declared about a section as an instruction to the model (R016, R018, R023)."""
    return Instruction(
        name=section.key,
        kind=InstructionClass.SYSTEM_PROMPT,
        producer=f"context/prompt/sections/{section.key}.py",
        region=Region.SYSTEM,
        form=f"text in the {section.zone.value} block of the system prompt",
        authority=ModelAuthority.OPERATOR,
        power=EnforcementPower.NONE,
        why_here=section.why_here,
    )


def check_sections(sections: Sequence[Section]) -> None:
    """Refuse a table that cannot be laid out (R031, R046, R047). Raises `UsageError` with the key of the section."""
    seen: set[str] = set()
    boundary_passed = False
    for section in sections:
        if section.key in seen:
            raise UsageError(f"two sections have the key {section.key!r}", where="the table of sections")
        seen.add(section.key)
        boundary_passed = boundary_passed or section.zone is Zone.DYNAMIC
        if section.zone is Zone.STATIC and section.scope is not SharedScope.GLOBAL:
            raise UsageError(
                f"section {section.key!r} stands before the boundary without the widest scope",
                where="the table of sections",
            )
        if section.zone is Zone.STATIC and boundary_passed:
            raise UsageError(
                f"static section {section.key!r} stands behind the boundary", where="the table of sections"
            )


def _render(section: Section, profile: SectionProfile, facts: SessionFacts) -> SectionText | None:
    match section:
        case StaticSection():
            return _section_text(
                section.key, section.zone, section.render(profile), Lifetime.RELEASE, section.condition
            )
        case DynamicSection():
            text = section.render(facts)
            return _section_text(section.key, section.zone, text, Lifetime.SESSION, section.condition) if text else None
        case _:
            assert_never(section)


def _section_text(key: str, zone: Zone, text: str, lifetime: Lifetime, gate: str) -> SectionText:
    origin = Attribution(Source("section", key), Lane.SYSTEM, lifetime, gate)
    return SectionText(key=key, zone=zone, fragment=Fragment(text, origin))


check_sections(SECTIONS)
