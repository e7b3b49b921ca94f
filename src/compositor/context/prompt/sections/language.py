"""Section `language`: the language the user wants to be answered in (R063).

Decides the text. A session without a preference has no such section.
"""

from __future__ import annotations

from compositor.context.memory.one_line import one_line
from compositor.context.prompt.facts import SessionFacts


def render_language(facts: SessionFacts) -> str | None:
    """The text, or `None` when no language is set."""
    language = one_line(facts.language or "").strip()
    if not language:
        return None
    return (
        f"Answer the user in this language: {language}. Code, identifiers, commands and what the project itself writes keep the language "
        "they have."
    )
