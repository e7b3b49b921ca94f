"""Section `function_result_clearing`: that old results may disappear (R061)."""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts

_TEXT = """\
Results of earlier tool calls may be cleared from this conversation to make room; the newest ones stay. A cleared result is replaced by a short \
mark. Nothing was undone: call the tool again if you need what it said."""


def render_function_result_clearing(facts: SessionFacts) -> str | None:
    """The text, or `None` when nothing is cleared in this session."""
    return _TEXT if facts.clears_results else None
