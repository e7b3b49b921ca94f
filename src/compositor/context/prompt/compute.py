"""From the table to the default prompt: every section computed once, kept until a reset event.

Decides when a section is computed (R048, R049, R071) and which path makes the default prompt (R045). Order and declarations stand in `order.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import assert_never

from msgspec import Struct

from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Omission, Source
from compositor.types.system import SectionText, Zone

from .facts import SectionProfile, SessionFacts
from .order import SECTIONS
from .section import CacheKind, DynamicSection, Section, StaticSection
from .sections.identity import MINIMAL

STEP = "prompt"

DEBUG_VARIABLE = "COMPOSITOR_DEBUG_RECOMPUTE"
"""The variable that turns the section cache and shared scopes off (R421)."""


class DefaultPath(enum.StrEnum):
    """The ways to make the default prompt (R045)."""

    STANDARD = "standard"
    MINIMAL = "minimal"
    AUTONOMOUS = "autonomous"


class SectionMemo(Struct, frozen=True):
    """What was computed since the last reset: text by key, `None` for a section that had nothing to say. Empty after a reset."""

    texts: Mapping[str, str | None] = {}


class Computed(Struct, frozen=True, kw_only=True):
    """The sections with something to say, in table order, and what is remembered of all of them."""

    sections: tuple[SectionText, ...]
    memo: SectionMemo


def compute_sections(
    profile: SectionProfile,
    facts: SessionFacts,
    memo: SectionMemo = SectionMemo(),  # noqa: B008  (a frozen value)
    sections: Sequence[Section] = SECTIONS,
) -> Computed:
    """Each section once: memoised ones as they were remembered, uncached ones anew. None sees another's text (R051)."""
    texts = {section.key: _text(section, profile, facts, memo) for section in sections}
    kept = {
        section.key: texts[section.key]
        for section in sections
        if isinstance(section, StaticSection) or section.cache is CacheKind.MEMOISED
    }
    made = (_made(section, text) for section in sections if (text := texts[section.key]))
    return Computed(sections=tuple(made), memo=SectionMemo(kept))


def default_sections(profile: SectionProfile, facts: SessionFacts, path: DefaultPath) -> tuple[SectionText, ...]:
    """The default prompt in table order; a section that has nothing to say leaves nothing behind (R053)."""
    return compute_default(profile, facts, path).sections


def compute_default(
    profile: SectionProfile,
    facts: SessionFacts,
    path: DefaultPath,
    memo: SectionMemo = SectionMemo(),  # noqa: B008  (a frozen value)
) -> Computed:
    """As `default_sections`, with what is remembered of them."""
    match path:
        case DefaultPath.MINIMAL:
            only = _section_text("minimal", Zone.STATIC, MINIMAL, Lifetime.RELEASE, "the minimal prompt is switched on")
            return Computed(sections=(only,), memo=memo)
        case DefaultPath.STANDARD:
            return compute_sections(profile, facts, memo)
        case DefaultPath.AUTONOMOUS:
            # Loaded only where it is used (R042, R083).
            from .optional.autonomous import SLIM

            gate = "the autonomous mode is on"
            slim = _section_text("autonomous", Zone.STATIC, SLIM, Lifetime.RELEASE, gate)
            behind = tuple(section for section in SECTIONS if isinstance(section, DynamicSection))
            computed = compute_sections(profile, facts, memo, behind)
            return Computed(sections=(slim, *computed.sections), memo=computed.memo)
        case _:
            assert_never(path)


def left_out_sections(computed: Computed) -> tuple[Omission, ...]:
    """Sections that have nothing to say in this session, each with its condition."""
    said = {section.key for section in computed.sections}
    return tuple(
        Omission(f"section {section.key}", f"its condition does not hold: {section.condition}", STEP)
        for section in SECTIONS
        if isinstance(section, DynamicSection) and section.key in computed.memo.texts and section.key not in said
    )


def _text(section: Section, profile: SectionProfile, facts: SessionFacts, memo: SectionMemo) -> str | None:
    if isinstance(section, StaticSection):
        return memo.texts[section.key] if section.key in memo.texts else section.render(profile)
    if section.cache is CacheKind.MEMOISED and section.key in memo.texts:
        return memo.texts[section.key]
    return section.render(facts)


def _made(section: Section, text: str) -> SectionText:
    lifetime = Lifetime.RELEASE if section.zone is Zone.STATIC else Lifetime.SESSION
    return _section_text(section.key, section.zone, text, lifetime, section.condition)


def _section_text(key: str, zone: Zone, text: str, lifetime: Lifetime, gate: str) -> SectionText:
    origin = Attribution(Source("section", key), Lane.SYSTEM, lifetime, gate)
    return SectionText(key=key, zone=zone, fragment=Fragment(text, origin))
