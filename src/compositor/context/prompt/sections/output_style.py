"""Section `output_style`: the style that the user chose (R060).

Decides the frame around it; the text is the style's own.
"""

from __future__ import annotations

from compositor.context.memory.one_line import one_line
from compositor.context.prompt.facts import SessionFacts


def render_output_style(facts: SessionFacts) -> str | None:
    """The style under its name, or `None` when none is set."""
    if facts.style is None or not facts.style.text.strip():
        return None
    return f"# Output style: {one_line(facts.style.name)}\n{facts.style.text.strip()}"
