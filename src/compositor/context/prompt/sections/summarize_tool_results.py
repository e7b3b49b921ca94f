"""Section `summarize_tool_results`: note what matters while it can be seen (R062)."""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts

_TEXT = """\
When a tool result holds something that you will need later (a path, a figure, an error, a decision), write it down in your answer while you see it: \
the result itself may be gone by then."""


def render_summarize_tool_results(facts: SessionFacts) -> str | None:
    """The text, or `None` when nothing is cleared in this session."""
    return _TEXT if facts.clears_results else None
