"""What is declared about a section of the system prompt, and the constructors that demand it.

Decides which declarations there are and refuses what lacks one (R031, R046, R047, R049). Order and texts stand elsewhere.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from compositor.errors import UsageError
from compositor.types.instructions import EnforcementPower, Instruction, InstructionClass, ModelAuthority, Region
from compositor.types.system import Priority, Zone

from .facts import SectionProfile, SessionFacts


class SharedScope(enum.StrEnum):
    """How widely the bytes of a section may be shared (R046, R086, R087)."""

    GLOBAL = "global"
    NONE = "none"


class CacheKind(enum.StrEnum):
    """How long a computed section stays: until a reset event, or not at all (R048, R049)."""

    MEMOISED = "memoised"
    UNCACHED = "uncached"


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
    """A section behind the boundary. Made by `memoised_section` or by `DANGEROUS_uncached_section`.

    `is_session_bound` marks facts of this machine or session (R105). `reason` says why an uncached one may break the cache; it has no effect
    on the bytes (R050).
    """

    key: str
    render: Callable[[SessionFacts], str | None]
    priority: Priority
    condition: str
    why_here: str
    is_session_bound: bool
    cache: CacheKind
    reason: str = ""
    scope: SharedScope = SharedScope.NONE
    topics: tuple[str, ...] = ()

    @property
    def zone(self) -> Zone:
        return Zone.DYNAMIC


Section: TypeAlias = StaticSection | DynamicSection
Render: TypeAlias = Callable[[SessionFacts], str | None]


def memoised_section(
    key: str, render: Render, *, priority: Priority, condition: str, why_here: str, is_session_bound: bool = False
) -> DynamicSection:
    """A section that is computed once and stays until a reset event, also when it has nothing to say (R048)."""
    return DynamicSection(
        key=key,
        render=render,
        priority=priority,
        condition=condition,
        why_here=why_here,
        is_session_bound=is_session_bound,
        cache=CacheKind.MEMOISED,
    )


def DANGEROUS_uncached_section(  # noqa: N802 - the name is the warning (R049)
    key: str,
    render: Render,
    reason: str,
    *,
    priority: Priority,
    condition: str,
    why_here: str,
    is_session_bound: bool = False,
) -> DynamicSection:
    """A section that is computed before every request and may break the cached prefix each time. Raises `UsageError` without a reason."""
    if not reason.strip():
        raise UsageError(f"section {key!r} is computed for every request, and nobody says why", hint="Give a reason")
    return DynamicSection(
        key=key,
        render=render,
        priority=priority,
        condition=condition,
        why_here=why_here,
        is_session_bound=is_session_bound,
        cache=CacheKind.UNCACHED,
        reason=reason,
    )


def find_section(sections: Sequence[Section], key: str) -> Section:
    """The section of that key (R047). Raises `UsageError` that lists the known ones."""
    for section in sections:
        if section.key == key:
            return section
    known = ", ".join(section.key for section in sections)
    raise UsageError(f"there is no section {key!r}", hint=f"Sections: {known}")


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
    """Refuse a table that cannot be laid out (R031, R046, R047, R069). Raises `UsageError` with the key of the section."""
    where = "the table of sections"
    seen: set[str] = set()
    boundary_passed = False
    uncached: list[str] = []
    for section in sections:
        if section.key in seen:
            raise UsageError(f"two sections have the key {section.key!r}", where=where)
        seen.add(section.key)
        boundary_passed = boundary_passed or section.zone is Zone.DYNAMIC
        if section.zone is Zone.STATIC and section.scope is not SharedScope.GLOBAL:
            raise UsageError(
                f"section {section.key!r} stands before the boundary without the widest scope", where=where
            )
        if section.zone is Zone.STATIC and boundary_passed:
            raise UsageError(f"static section {section.key!r} stands behind the boundary", where=where)
        if isinstance(section, DynamicSection) and section.cache is CacheKind.UNCACHED:
            uncached.append(section.key)
    if len(uncached) > 1:
        raise UsageError(f"more than one section is computed for every request: {', '.join(uncached)}", where=where)
