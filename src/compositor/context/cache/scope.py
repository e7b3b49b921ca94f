"""How widely the cached system prompt may be shared, where a platform has scopes at all (R086 to R090, R095).

Decides by one table of three scenarios, conservatively: any MCP tool keeps everything inside the organization. No public platform offers scopes today,
so no value is sent; the scenario is known and shown all the same. What stands behind the system prompt belongs to one user and never gets one.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

GLOBAL, ORGANIZATION = "global", "org"


class ScopePlan(Struct, frozen=True, kw_only=True):
    """`scenario` is 1, 2 or 3; `static` and `dynamic` are what each system block's marker says, `None` for a plain one. `reason` tells what stepped down."""

    scenario: int
    static: str | None = None
    dynamic: str | None = None
    reason: str


def plan_scope(
    offered: Collection[str],
    *,
    has_server_tools: bool,
    is_first_party: bool,
    is_debugged: bool = False,
    dynamic: str | None = None,
) -> ScopePlan:
    """The scopes of a session. `offered` are those that the platform declares, `dynamic` is wanted for the second block (R087)."""
    if is_debugged:
        return ScopePlan(scenario=3, reason="the debug switch turns sharing off (R421)")
    inside = ORGANIZATION if ORGANIZATION in offered else next(iter(sorted(offered)), None)
    if not is_first_party:
        reason = "another provider: its own scope" if inside else "another provider, which offers no scopes"
        return ScopePlan(scenario=3, static=inside, dynamic=inside, reason=reason)
    if has_server_tools:
        narrow = inside if inside != GLOBAL else None
        return ScopePlan(
            scenario=1, static=narrow, dynamic=narrow, reason="there are MCP tools: nothing is shared widely"
        )
    if GLOBAL not in offered:
        return ScopePlan(
            scenario=2, reason="no MCP tools; the platform offers no wider scope, so the markers are plain"
        )
    wanted = dynamic if dynamic in offered else None
    return ScopePlan(
        scenario=2, static=GLOBAL, dynamic=wanted, reason="no MCP tools: the static block is the same for everybody"
    )
