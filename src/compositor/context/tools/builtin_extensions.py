"""The built-in tools for what a project brings along: its agents and skills (project-conventions 5.6, 6, 9.2).

Decides texts and schemas. Never performs a call.
"""

from __future__ import annotations

from compositor.types.tools import Concurrency, ToolDefinition

from .shapes import choice, flag, object_schema, text

AGENT_TEXT = """\
Hands a task to an agent that works on its own and reports once. It sees nothing of this conversation but `prompt`: say what the task is, what is known, and what \
the report has to hold.

- `general-purpose` does a task of several steps; `Explore` finds things and `Plan` works out a change, both read only. Others are listed in notes.
- `fork` is a copy of this conversation that goes on with `prompt`: it knows all that you know, and reads what is cached.
- Start several in one message where they do not depend on each other. With `run_in_background` you go on at once and the report comes by itself.
- With `isolation: worktree` it works in a checkout of its own, which stays where it changed something."""

SKILL_TEXT = """\
Loads a skill: instructions for a kind of task that the project or the person wrote down. Skills are listed in notes. Call it before you \
begin what a skill is for; its text comes with the results. A skill whose text stands in the conversation already need not be loaded again."""

EXTENSION_TOOLS: tuple[ToolDefinition, ...] = (
    ToolDefinition(
        name="Agent",
        description=AGENT_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,  # what an agent does passes the gate by itself
        input_schema=object_schema(
            ("description", "prompt"),
            description=text("The task in three to five words."),
            prompt=text("The whole task."),
            subagent_type=text("Which agent; general-purpose when left out."),
            model=text("Another model than this one."),
            run_in_background=flag("Go on without waiting for the report."),
            isolation=choice(("worktree",), "Where it works."),
        ),
    ),
    ToolDefinition(
        name="Skill",
        description=SKILL_TEXT,
        read_only=True,
        input_schema=object_schema(
            ("skill",),
            skill=text("Name of the skill, as it is listed."),
            args=text("What the skill shall be told beside its own text."),
        ),
    ),
)
