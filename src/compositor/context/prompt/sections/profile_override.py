"""Section `profile_override`: what a group of users wants in addition (R067)."""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts


def render_profile_override(facts: SessionFacts) -> str | None:
    """The configured text as it is, or `None` without one."""
    return facts.profile_text.strip() or None
