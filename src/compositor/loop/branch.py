"""What an agent gets of the session that starts it: tools, mode, instructions, and for a fork the conversation itself (project-conventions 6.2 to 6.4).

Decides all of it as values. A definition takes away and never adds: no tool that its parent lacks, no mode that is looser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from compositor.config.contract import RunContract
from compositor.config.profile import Effort
from compositor.context.extensions.agents import AgentDefinition
from compositor.context.memory.chain import MemoryChain
from compositor.policy.limits import ToolLimits
from compositor.policy.policy import Policy
from compositor.types.blocks import ToolUseBlock
from compositor.types.entries import AssistantEntry
from compositor.types.tools import OutcomeKind, ToolOutcome
from compositor.types.verdicts import PermissionMode

from .opening import AgentPart, Surroundings
from .session import Conversation, Stamp, record, results_entry

FORK = "fork"
"""The name under which a copy of the session itself is started."""

NEVER = ("AskUserQuestion", "EndConversation", "EnterPlanMode", "ExitPlanMode", "ScheduleWakeup", "Workflow")
"""Tools that need the person in front of the main conversation."""

IN_BACKGROUND = frozenset(
    "Agent Artifact Bash BashOutput Edit EnterWorktree ExitWorktree Glob Grep Monitor NotebookEdit Read SendMessage Skill TaskStop TodoWrite "
    "ToolSearch WebFetch WebSearch Write".split()
)
"""Built-in tools of an agent that runs beside the conversation."""

STRICTEST_FIRST = (
    PermissionMode.PLAN,
    PermissionMode.DONT_ASK,
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.AUTO,
    PermissionMode.BYPASS,
)


class Standing(Struct, frozen=True, kw_only=True):
    """How an agent is started: beside the conversation or inside the turn, and whether it may start others."""

    background: bool = False
    delegates: bool = False


def stricter(one: PermissionMode, other: PermissionMode | None) -> PermissionMode:
    """The stricter of two modes; a definition that names none takes its parent's."""
    return one if other is None else min(one, other, key=STRICTEST_FIRST.index)


def agent_tools(definition: AgentDefinition, offered: Iterable[str], standing: Standing) -> tuple[str, ...]:
    """The built-in tools of an agent out of those that its parent was offered, in their order."""
    limits = agent_limits(definition, standing)
    return tuple(
        name
        for name in offered
        if limits.refusal(name, ()) is None and (not standing.background or name in IN_BACKGROUND)
    )


def agent_limits(definition: AgentDefinition, standing: Standing) -> ToolLimits:
    """What the gate holds an agent to. A rule in place of a name, as in `Bash(git *)`, counts as the name: rules stand in the settings."""
    never = NEVER if standing.delegates else (*NEVER, "Agent")
    own = lead_limits(definition)
    return msgspec.structs.replace(own, denied=(*never, *own.denied))


def lead_limits(definition: AgentDefinition) -> ToolLimits:
    """What the gate holds a conversation to that an agent leads: it has the person in front of it, and loses nothing but what its definition takes."""
    names = None if definition.tools is None else tuple(map(_name, definition.tools))
    kept = ("Edit", "Read", "Write") if definition.memory else ()
    return ToolLimits(
        tools=None if names is None else tuple(dict.fromkeys((*names, *kept))),
        denied=tuple(map(_name, definition.denied_tools)),
    )


def led_by(contract: RunContract, definition: AgentDefinition | None) -> RunContract:
    """The contract of a conversation that an agent leads: with its tools alone."""
    if definition is None:
        return contract
    limits = lead_limits(definition)
    return msgspec.structs.replace(
        contract, tools=tuple(name for name in contract.tools if limits.refusal(name, ()) is None)
    )


def led_policy(policy: Policy, definition: AgentDefinition | None) -> Policy:
    """The gate of such a conversation: its limits, and the stricter mode."""
    if definition is None:
        return policy
    mode = stricter(policy.mode, definition.mode)
    return msgspec.structs.replace(policy, limits=lead_limits(definition), mode=mode)


FORK_LIMITS = ToolLimits(denied=(*NEVER, "Agent"))
"""A fork has the tools of its parent in its prefix, and may not fork again."""


def agent_contract(contract: RunContract, definition: AgentDefinition, standing: Standing) -> RunContract:
    """The run contract of an agent: fewer tools, its own number of requests and effort."""
    effort = Effort(definition.effort) if definition.effort in contract.profile.efforts else contract.effort
    return msgspec.structs.replace(
        contract,
        tools=agent_tools(definition, contract.tools, standing),
        max_turns=definition.max_turns,
        effort=effort,
    )


def agent_surroundings(around: Surroundings, definition: AgentDefinition, notes: str = "") -> Surroundings:
    """What surrounds an agent: its own prompt, instruction files and version state where it reads them, no notes and no output style of the main one.

    `notes` are those of its own memory.
    """
    place = msgspec.structs.replace(around.memory_place, folders=(), is_on=definition.reads_instructions)
    memory = msgspec.structs.replace(around.memory, indexes=()) if definition.reads_instructions else MemoryChain()
    text = "\n\n".join(part for part in (definition.prompt, notes) if part)
    return msgspec.structs.replace(
        around,
        agent=AgentPart(definition.name, text),
        memory=memory,
        memory_place=place,
        git=around.git if definition.reads_instructions else None,
        outline=around.outline if definition.reads_instructions else None,
        style=None,
        coordinator=False,
    )


def forked(conversation: Conversation, stamp: Callable[[], Stamp]) -> Conversation:
    """The conversation with a result for every call that is still open: what its copy goes on from. Nothing of the prefix moves."""
    open_calls = tuple(_open_calls(conversation))
    if not open_calls:
        return conversation
    text = "This is a copy of the conversation, made for one task. The call goes on in the other one."
    outcomes = [ToolOutcome(call_id=call.id, kind=OutcomeKind.DONE, content=text) for call in open_calls]
    return record(conversation, (results_entry(outcomes, stamp=stamp(), parent=conversation.leaf),))


def _open_calls(conversation: Conversation) -> Iterable[ToolUseBlock]:
    """The calls of the newest answer, which nothing stands behind yet while its batch runs."""
    last = conversation.prefix.tail.entries[-1:]
    for entry in last:
        if isinstance(entry, AssistantEntry):
            yield from (block for block in entry.content if isinstance(block, ToolUseBlock))


def _name(tool: str) -> str:
    return tool.partition("(")[0].strip()
