"""The built-in tools as candidates: names and needs (R002).

Decides which names can be eligible without plugins, servers or agents. Never defines a tool: that is `adapters/tools/`.
"""

from __future__ import annotations

from .eligibility import Candidate, CandidateSource

BUILTIN_TOOLS: tuple[Candidate, ...] = (
    Candidate(name="Bash", why="a built-in tool", host=frozenset({"bash"})),
    Candidate(name="Edit", why="a built-in tool"),
    Candidate(name="Glob", why="a built-in tool"),
    Candidate(name="Grep", why="a built-in tool"),
    Candidate(name="Read", why="a built-in tool"),
    Candidate(name="Write", why="a built-in tool"),
)


def named(names: tuple[str, ...], source: CandidateSource, why: str) -> tuple[Candidate, ...]:
    """Candidates of another source by their names alone; all of them can wait for a tool search."""
    return tuple(Candidate(name=name, source=source, why=why, deferrable=True) for name in names)
