"""Skill: the tool with which the model loads a skill.

Decides how the answer reads. What happens when a skill is invoked is the business of whoever implements `SkillInvoker`.
"""

from __future__ import annotations

from msgspec import Struct

from compositor.context.tools.builtin import BUILTIN
from compositor.ports import SkillInvoker, ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .results import Problem, done, failed, read_input


class SkillInput(Struct, frozen=True, forbid_unknown_fields=True):
    skill: str
    args: str = ""


class SkillTool:
    definition: ToolDefinition = BUILTIN["Skill"]

    def __init__(self, invoker: SkillInvoker) -> None:
        self._invoker = invoker

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, SkillInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        name = wanted.skill.removeprefix("/")
        answer = await self._invoker.invoke(name, wanted.args)
        if answer.problem:
            return failed(call, answer.problem)
        structured = {"success": True, "commandName": name}
        return done(call, answer.text, display=f"Skill: {name}", structured=structured)
