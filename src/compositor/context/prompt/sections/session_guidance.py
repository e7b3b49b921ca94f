"""Section `session_guidance`: habits that depend on the tools of this session (R056, R070).

Decides the text from the names of the tools that are there; it names no other.
"""

from __future__ import annotations

from compositor.context.prompt.facts import SessionFacts

_LINES: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"AskUserQuestion"}),
        "Ask with AskUserQuestion when a choice is the user's and the project does not answer it; never to be told to go on.",
    ),
    (
        frozenset({"Agent"}),
        (
            "Hand work to an agent when it would fill this conversation with output that nobody needs later: a wide search, a long log. "
            "An agent that explores starts from nothing and needs the whole question; a fork knows this conversation and costs little more than its own "
            "work. Do small things yourself. What an agent reports is a claim: check it before you build on it."
        ),
    ),
    (
        frozenset({"Agent"}),
        (
            "After a change of some size, have an agent that did not write it check it: give it the goal and how to test, and let it report what "
            "fails. Do not call work verified that only its author looked at."
        ),
    ),
    (
        frozenset({"Skill"}),
        "Skills are listed in notes. When one fits the task, call it with Skill before you begin; do not guess what a skill says.",
    ),
    (
        frozenset({"ToolSearch"}),
        "Some tools are only named. Load one with ToolSearch before you call it, and load together what you will need together.",
    ),
    (
        frozenset({"tool_search_tool_bm25"}),
        "Some tools are only named. Search for one before you call it, and search together for what you will need together.",
    ),
    (
        frozenset({"TodoWrite"}),
        "Keep a list with TodoWrite when the work has three steps or more: one item in progress, each marked as soon as it is done.",
    ),
    (
        frozenset({"TaskCreate"}),
        "Keep a list with the task tools when the work has three steps or more, and mark each step as soon as it is done.",
    ),
    (
        frozenset({"EnterPlanMode"}),
        "Enter plan mode when the way is not clear and a wrong start would be costly; not for what can simply be done.",
    ),
    (
        frozenset({"BashOutput"}),
        "Start what runs long in the background and look at it with BashOutput; do not wait for it with sleep.",
    ),
)


def render_session_guidance(facts: SessionFacts) -> str | None:
    """The lines whose tools are all there, or `None` when there are none."""
    lines = [f"- {line}" for tools, line in _LINES if tools <= facts.tools]
    return "\n".join(["In this session:", *lines]) if lines else None
