"""The base line: what every request carries before anything is said, by what put it there (R400).

Decides how pieces are grouped. Figures come in; tokens are estimates, dollars those of one request read from the cache and written anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from compositor.config.price import Price
from compositor.types.provenance import Attribution, Lane

GROUPS = (
    "system prompt",
    "built-in tools",
    "instruction files",
    "skills",
    "MCP servers",
    "agents",
    "hooks",
    "facts and reminders",
    "conversation",
)
"""In the order of the report. A group without pieces is shown as absent: that is a fact too (R402)."""


class Share(Struct, frozen=True, kw_only=True):
    """What one group takes of the request. `pieces` counts them; dollars are `None` without a price.

    `read` is its price in a request that finds it in the cache, `written` in one that does not. `is_stable`: it stands in the head.
    """

    group: str
    pieces: int
    tokens: int
    is_stable: bool
    read: float | None
    written: float | None


def base_line(pieces: Iterable[tuple[Attribution, int]], price: Price | None) -> tuple[Share, ...]:
    """A share for each group, from pieces with their estimated tokens."""
    counts: dict[str, list[int]] = {group: [] for group in GROUPS}
    for origin, tokens in pieces:
        if origin.lane not in {Lane.SCALAR, Lane.WIRE}:
            counts[group_of(origin)].append(tokens)
    total = sum(map(sum, counts.values()))
    tier = None if price is None else price.tier(total)
    return tuple(
        Share(
            group=group,
            pieces=len(found),
            tokens=sum(found),
            is_stable=group != "conversation",
            read=None if tier is None else sum(found) * tier.read / 1e6,
            written=None if tier is None else sum(found) * tier.write_5m / 1e6,
        )
        for group, found in counts.items()
    )


def group_of(origin: Attribution) -> str:
    """The group that a piece belongs to, by the kind and name of its source."""
    source = origin.source
    name = source.name.lower()
    if source.kind == "tool":
        return "MCP servers" if name.startswith("mcp__") else "skills" if name == "skill" else "built-in tools"
    if source.kind == "memory" or name in {"nested_memory", "claudemd", "memory"}:
        return "instruction files"
    for part, group in _BY_NAME:
        if part in name:
            return group
    if source.kind == "section":
        return "system prompt"
    return "conversation" if source.kind in {"entry", "repair"} else "facts and reminders"


# A part of a section's or attachment's name, and whose extension it is.
_BY_NAME = (("skill", "skills"), ("mcp", "MCP servers"), ("agent", "agents"), ("hook", "hooks"))
