"""Section `scratchpad`: where temporary files go (R064).

Decides the text. The folder has a name that is the same in every session, a variable, so that the bytes do not differ between sessions.
"""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts

SCRATCHPAD_VARIABLE = "COMPOSITOR_SCRATCHPAD"
"""The variable that commands find the folder in."""

_TEXT = f"""\
Put temporary files (scripts to try something, intermediate results, downloads) into the folder that the variable {SCRATCHPAD_VARIABLE} names in the \
shell, not into the project and not into /tmp. It belongs to this session alone."""


def render_scratchpad(facts: SessionFacts) -> str | None:
    """The text, or `None` without such a folder."""
    return _TEXT if facts.has_scratchpad else None
