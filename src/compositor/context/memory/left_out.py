"""What the chain found and did not load, and why, as values.

Decides the reasons there are and how each reads. What goes wrong with a file is a diagnostic; what is left out on purpose stands here.
"""

from __future__ import annotations

import enum

from msgspec import Struct

from compositor.types.memory import MemoryLevel
from compositor.types.provenance import Omission, Source

STEP = "memory"


class Why(enum.StrEnum):
    SHADOWED = "shadowed"
    WAITING = "waiting"
    EMPTY = "empty"
    REPEATED = "repeated"
    CIRCULAR = "circular"
    EXCLUDED = "excluded"
    OTHER_CHECKOUT = "other checkout"
    TOO_MANY = "too many"


class LeftOut(Struct, frozen=True, kw_only=True):
    """One file. `reason` is a sentence fragment; `parent` and `line` name the import that led here, where one did."""

    path: str
    level: MemoryLevel
    why: Why
    reason: str
    parent: str | None = None
    line: int = 0

    @property
    def omission(self) -> Omission:
        return Omission(self.path, self.reason, STEP, Source("memory", self.level.name.lower(), self.path))
