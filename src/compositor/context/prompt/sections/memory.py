"""Section `memory`: how notes for later sessions are kept (R057).

Decides when it is told: where a folder of notes is kept. The index itself is user context, single notes come at the tail.
"""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts


def render_memory(facts: SessionFacts) -> str | None:
    """The rules of keeping notes, one paragraph a folder, or `None` when none is kept."""
    return "\n\n".join(facts.memory_rules) or None
