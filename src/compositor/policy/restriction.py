"""What a helper may do that works on one file and nothing else: the gate of the memory helper (R330).

Decides by tool and real path. Whatever the helper was told, any other call is refused before rules, modes and persons are asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Restriction(Struct, frozen=True):
    """`tool` on `path` (absolute, every link followed), and nothing else."""

    tool: str
    path: str

    def refusal(self, name: str, paths: Sequence[str]) -> str | None:
        """Why a call of `name` that touches the real `paths` may not run; `None` lets it through. A call without a path touches nothing it may."""
        if name != self.tool:
            return f"this helper may use {self.tool} and nothing else"
        if not paths or any(path != self.path for path in paths):
            return f"this helper may change {self.path} and nothing else"
        return None
