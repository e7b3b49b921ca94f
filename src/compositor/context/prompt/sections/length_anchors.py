"""Section `length_anchors`: numbers for the length of answers; off by default (R066)."""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts


def render_length_anchors(facts: SessionFacts) -> str | None:
    """The text, or `None` when the option is off; then its module is not even loaded (R042)."""
    if not facts.anchors_length:
        return None
    from compositor.context.prompt.optional.length_anchors import ANCHORS

    return ANCHORS
