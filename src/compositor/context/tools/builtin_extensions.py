"""The built-in tools for what a project brings along: its skills (project-conventions 5.6, 9.2).

Decides texts and schemas. Never performs a call.
"""

from __future__ import annotations

from compositor.types.tools import ToolDefinition

from .shapes import object_schema, text

SKILL_TEXT = """\
Loads a skill: instructions for a kind of task that the project or the person wrote down. Skills are listed in notes. Call it before you \
begin what a skill is for; its text comes with the results. A skill whose text stands in the conversation already need not be loaded again."""

EXTENSION_TOOLS: tuple[ToolDefinition, ...] = (
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
