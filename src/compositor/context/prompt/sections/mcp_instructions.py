"""Section `mcp_instructions`: what servers say about the use of their tools, where changes are not announced at the tail (R058).

Decides the text. With deltas on, the default, there is no such section: the words of a server come as a note when it connects.
"""

from __future__ import annotations

from compositor.context.prompt.envelope import neutralize_text
from compositor.context.prompt.facts import SessionFacts


def render_mcp_instructions(facts: SessionFacts) -> str | None:
    """The servers in the order of their names, or `None` when nothing is to be said."""
    if not facts.server_instructions:
        return None
    parts = [f"## {name}\n{neutralize_text(text)}" for name, text in sorted(facts.server_instructions)]
    return "\n\n".join(("# MCP servers and what they say about their tools", *parts))
