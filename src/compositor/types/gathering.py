"""How the sources of notes stood at one collection: what the watcher hears, and what the journal keeps.

Decides the record only.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class FactState(enum.StrEnum):
    """How a source stands at one collection. Absence is a state, never silence."""

    FRESH = "fresh"
    LATE = "late"
    FAILED = "failed"
    STALE = "stale"


class Gathered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one source did at one collection: seconds it took, characters it brought, and the seconds that the request waited for it alone.

    The last adds up over the sources to the whole waiting time (R207).
    """

    name: str
    state: FactState
    seconds: float
    size: int
    waited: float
    reason: str = ""
