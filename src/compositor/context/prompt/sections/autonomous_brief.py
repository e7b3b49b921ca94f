"""Section `autonomous_brief`: how to work when nobody watches (R068)."""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts


def render_autonomous_brief(facts: SessionFacts) -> str | None:
    """The text, or `None` outside the autonomous mode; then its module is not even loaded (R042)."""
    if not facts.is_autonomous:
        return None
    from compositor.context.prompt.optional.autonomous import render_brief

    return render_brief()
