"""What recorded sessions say is going wrong: breaks that come again, servers nobody calls, hooks that fail; each with its cure.

Decides what counts as a hazard. Looks at replayed sessions only; what stands in files is the doctor's other half.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from .replay.cures import CURES
from .replay.rows import Cause, Session

ENOUGH = 3
"""Sessions with requests before it is said that something was never used."""


WORTH_A_LOOK = 500
"""Tokens of tools below which a server is never said to be dear."""

DEAR = 20
"""Tokens of tools that stood in requests, for each token of results, from which a server is."""

NO_WEIGHTS: Mapping[str, int] = {}


class Hazard(Struct, frozen=True, kw_only=True):
    """One thing to mend. `what` is a short name, `detail` says what was seen, `cure` what to do."""

    what: str
    detail: str
    cure: str


def find_hazards(
    sessions: Sequence[Session], servers: Collection[str], weights: Mapping[str, int] = NO_WEIGHTS
) -> tuple[Hazard, ...]:
    """Hazards of one project, dearest breaks first. `servers` are the names of the configured MCP servers.

    `weights` are the tokens that a server's tools take in a request, where that is known.
    """
    active = [session for session in sessions if session.requests]
    return (*_breaks(active), *_servers(active, servers), *_weighed(active, weights), *_hooks(active))


def _breaks(sessions: Sequence[Session]) -> list[Hazard]:
    by_cause: dict[Cause, list[tuple[int, float]]] = {}
    for session in sessions:
        for found in session.breaks:
            by_cause.setdefault(found.cause, []).append((found.lost, found.dollars or 0.0))
    ordered = sorted(by_cause.items(), key=lambda item: -sum(lost for lost, _ in item[1]))
    return [
        Hazard(
            what=f"cache: {cause.value}",
            detail=f"{len(lost)} breaks, {sum(one for one, _ in lost):,} tokens paid again (${sum(one for _, one in lost):,.2f})",
            cure=CURES[cause],
        )
        for cause, lost in ordered
    ]


def _servers(sessions: Sequence[Session], servers: Collection[str]) -> list[Hazard]:
    if len(sessions) < ENOUGH:
        return []
    used = {source for session in sessions for source in session.sources if source.startswith("result of mcp__")}
    return [
        Hazard(
            what=f"MCP server {name}",
            detail=f"none of {len(sessions)} recorded sessions called a tool of it, and its tools or their names stand in every request",
            cure=f"disable it here, or `compositor mcp remove {name}`; `compositor tools` shows what it takes",
        )
        for name in sorted(servers)
        if not any(source.startswith(f"result of mcp__{name}__") for source in used)
    ]


def _weighed(sessions: Sequence[Session], weights: Mapping[str, int]) -> list[Hazard]:
    """Servers that are used, but whose tools take far more than their results ever brought."""
    requests = sum(len(session.requests) for session in sessions)
    found = []
    for name, tokens in sorted(weights.items()):
        brought = sum(
            count
            for session in sessions
            for source, count in session.sources.items()
            if source.startswith(f"result of mcp__{name}__")
        )
        stood = tokens * requests
        if brought and tokens >= WORTH_A_LOOK and stood > DEAR * brought:
            detail = f"its tools take {tokens:,} tokens of every request, {stood:,} in {requests:,} of them; its results brought {brought:,}"
            cure = "leave its tools deferred, allow only those that are used, or disable it here; `compositor tools` shows what each takes"
            found.append(Hazard(what=f"MCP server {name}", detail=detail, cure=cure))
    return found


def _hooks(sessions: Sequence[Session]) -> list[Hazard]:
    failed = [session for session in sessions if any(source in _FAILED for source in session.sources)]
    if not failed:
        return []
    detail = f"hooks failed in {len(failed)} recorded sessions; what they print stands in the conversation"
    return [Hazard(what="hooks", detail=detail, cure="`compositor hooks test EVENT` shows what each answers")]


_FAILED = frozenset({"attachment hook_non_blocking_error", "attachment hook_error_during_execution"})
