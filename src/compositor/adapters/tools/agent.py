"""Agent: the tool that hands a task to an agent.

Decides how the answer reads. What an agent is and how it works is the business of whoever implements `Employer`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from compositor.context.extensions.agents import GENERAL
from compositor.context.tools.builtin import BUILTIN
from compositor.ports import Assignment, Employer, ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .results import Problem, done, failed, read_input


class AgentInput(Struct, frozen=True, forbid_unknown_fields=True):
    prompt: str
    description: str = ""
    subagent_type: str = GENERAL
    model: str = ""
    run_in_background: bool | None = None
    isolation: Literal["worktree"] | None = None


class AgentTool:
    definition: ToolDefinition = BUILTIN["Agent"]

    def __init__(self, employer: Employer) -> None:
        self._employer = employer

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, AgentInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        if not wanted.prompt.strip():
            return failed(call, "An agent needs a task: 'prompt' is empty.")
        reply = await self._employer.start(
            Assignment(
                call_id=call.id,
                kind=wanted.subagent_type,
                prompt=wanted.prompt,
                description=wanted.description,
                model=wanted.model,
                background=wanted.run_in_background,
                worktree=wanted.isolation is not None,
            )
        )
        if reply.problem:
            return failed(call, reply.problem)
        what = f"{wanted.subagent_type}: {wanted.description or 'done'}"
        return done(call, reply.text, display=f"Agent: {what}", structured={"content": reply.text})
