"""Section `token_budget`: what a budget means, should there be one (R065).

Decides the text. It says nothing about the present budget, so that turning one on or off changes no byte; the figures come at the tail.
"""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts

_TEXT = """\
If a note names a budget of tokens or money for this work, use it: go on while the work is not done and the budget is not spent, and stop with a report \
when it is. Without such a note there is none, and you stop when the work is done."""


def render_token_budget(_facts: SessionFacts) -> str:
    """The text of the section."""
    return _TEXT
