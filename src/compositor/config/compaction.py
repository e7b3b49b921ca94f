"""When a full window is compacted, as settings and variables say (project-conventions 10.5).

Decides which of them wins: a variable beats a setting, and each can only make compaction start earlier or turn it off.
"""

from __future__ import annotations

from msgspec import Struct

from .environment import Environment
from .settings import Settings


class CompactionChoice(Struct, frozen=True, kw_only=True):
    """`window` in tokens, `None` for the model's; `percent` (1 to 100) of what is usable. `allowed` is false where nobody may compact."""

    window: int | None = None
    percent: int | None = None
    automatic: bool = True
    allowed: bool = True


def choose_compaction(variables: Environment, settings: Settings) -> CompactionChoice:
    """`CLAUDE_CODE_AUTO_COMPACT_WINDOW` beats `autoCompactWindow`; `DISABLE_COMPACT` beats everything."""
    return CompactionChoice(
        window=variables.auto_compact_window or settings.auto_compact_window,
        percent=variables.auto_compact_percent,
        automatic=settings.auto_compact_enabled and not variables.disable_auto_compact,
        allowed=not variables.disable_compact,
    )
