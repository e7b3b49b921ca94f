"""Sections of the system prompt and what each of them declares.

Decides the declaration. Order and texts live in `context/prompt`. A section without a declared zone cannot be built
(R031); an effective prompt is a type of its own, so that loose strings cannot take its place (R027).
"""

from __future__ import annotations

import enum

from msgspec import Struct

from .provenance import Fragment


class Zone(enum.StrEnum):
    """Before or after the cache boundary (P06)."""

    STATIC = "static"
    DYNAMIC = "dynamic"


class Priority(enum.StrEnum):
    """How common a dynamic section is: P0 almost always, P3 under special conditions (R055)."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"


class SectionText(Struct, frozen=True, kw_only=True):
    """One rendered section: its key, its zone, its one text with attribution."""

    key: str
    zone: Zone
    fragment: Fragment


class EffectivePrompt(Struct, frozen=True, kw_only=True):
    """The chosen system prompt: keyed parts in order, the branch that won, and the inputs that were ignored (R075, R082)."""

    branch: str
    sections: tuple[SectionText, ...]
    ignored: tuple[str, ...] = ()
