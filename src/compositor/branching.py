"""An agent's own session out of the one that starts it: its place, its head, its store; called by `wiring`.

Decides which value each part gets, and ends what the place needed. What an agent gets is decided in `loop/branch.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.adapters.agent_files import AgentMemory, agent_memory, keep_report, write_agent_note
from compositor.adapters.checkpoints import FileHistory
from compositor.adapters.enforcement import Enforcement
from compositor.adapters.home import private_folder, project_key
from compositor.adapters.ids import UuidSource
from compositor.adapters.sessions.begin import begin_session
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.tools.agent import AgentTool
from compositor.adapters.tools.results import Problem
from compositor.adapters.tools.session_tools import SessionTools
from compositor.adapters.tools.worktree import Worktree, leave_worktree, make_worktree
from compositor.config.contract import Host, RunContract, resolve_contract
from compositor.context.extensions.agents import AgentDefinition
from compositor.context.extensions.catalog import Catalog
from compositor.context.extensions.reports import report_limit
from compositor.errors import UsageError
from compositor.loop.branch import FORK_LIMITS, agent_contract, agent_limits, agent_surroundings, forked
from compositor.loop.opening import Surroundings
from compositor.loop.session import Stamp
from compositor.opened import Look, Opened, session_account
from compositor.policy.policy import Policy
from compositor.ports import Modes, ToolScope
from compositor.runtime.agent import Agent
from compositor.runtime.budget_gate import SharedBudget
from compositor.runtime.events import Watcher
from compositor.runtime.line import LineParts
from compositor.runtime.workforce import Employing, Job, Worker, Workforce

MODEL = "CLAUDE_CODE_SUBAGENT_MODEL"
"""The variable that names the model of every agent (project-conventions 6.2)."""


class Branch(Struct, frozen=True, kw_only=True):
    """A session that works for another one. `folder` holds its transcript, `kind` is its type of agent, `level` counts the agents above it.

    `line` and `edges` are those of the session it works for: one transport, one budget, one sandbox, one log. `skills` are loaded before it begins,
    `servers` says whether it has those of MCP.
    """

    opened: Opened
    watch: Watcher
    folder: str
    kind: str
    level: int
    line: LineParts
    edges: Enforcement
    history: FileHistory
    skills: tuple[str, ...] = ()
    servers: bool = True

    def line_to(self, store: JsonlSession) -> LineParts:
        """The line to the model: what is said goes to `store`, what it costs to the session that this one works for."""
        budget = None if self.line.budget is None else SharedBudget(self.line.budget)
        return msgspec.structs.replace(self.line, store=store, watch=self.watch, budget=budget)


class Hiring(Struct, frozen=True, kw_only=True):
    """What agents are hired with: `hire` builds one from its branch, `scope` is where the tools of the session work now."""

    opened: Opened
    hire: Callable[[Branch], tuple[Agent, JsonlSession]]
    scope: Callable[[], ToolScope]
    modes: Modes
    line: LineParts
    edges: Enforcement
    history: FileHistory
    watch: Watcher
    level: int
    spawn: Callable[[Callable[[], Awaitable[None]]], None] | None


def make_workforce(given: Hiring, tools: SessionTools) -> Workforce:
    """The agents of a session, and their tool among its tools."""
    workforce = _workforce(given)
    tools.box.add(AgentTool(workforce))
    return workforce


def _workforce(given: Hiring) -> Workforce:
    opened = given.opened
    shelf, variables = opened.shelf, opened.environment.variables

    @asynccontextmanager
    async def build(job: Job) -> AsyncIterator[Worker]:
        async with branch_place(opened, job, given.scope()) as (placed, tree):
            branch = make_branch(placed, job, given)
            agent, store = given.hire(branch)
            with store:
                for name in branch.skills:
                    await agent.invoke(name)
                yield Worker(agent, lambda: closing_words(tree, given.scope()))

    no_background = variables.get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") == "1"
    return Workforce(
        Employing(
            catalog=lambda: Catalog() if shelf is None else shelf.agents,
            build=build,
            spawn=None if no_background else given.spawn,
            watch=given.watch,
            ids=UuidSource(),
            modes=given.modes,
            keep=lambda worker, text: keep_report(given.edges.outputs, worker, text),
            level=given.level,
            deepest=_number(variables, "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", 3),
            most=_number(variables, "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", 20),
            longest=report_limit(variables.get("TASK_MAX_OUTPUT_LENGTH", "")),
            awaited=not opened.policy.interactive,
            patience=_number(variables, "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", 600_000) / 1000,
        )
    )


def _number(variables: Mapping[str, str], name: str, otherwise: int) -> int:
    word = variables.get(name, "")
    return int(word) if word.isdecimal() else otherwise


@asynccontextmanager
async def branch_place(opened: Opened, job: Job, scope: ToolScope) -> AsyncIterator[tuple[Opened, Worktree | None]]:
    """The session as its agent sees it from its place: the same one, or a worktree of its own."""
    definition = job.definition
    wanted = job.assignment.worktree or (definition is not None and definition.worktree)
    if not wanted:
        yield opened, None
        return
    tree = await make_worktree(scope, job.worker_id)
    if isinstance(tree, Problem):
        raise UsageError(tree.message)
    policy = msgspec.structs.replace(opened.policy, cwd=tree.path, roots=(tree.path, *opened.policy.roots[1:]))
    around = msgspec.structs.replace(
        opened.look(tree.path, opened.contract.model)[1], directories=opened.around.directories
    )
    yield msgspec.structs.replace(opened, around=around, policy=policy), tree


async def closing_words(tree: Worktree | None, scope: ToolScope) -> str:
    """What is said of the worktree of an agent that has ended: nothing where it changed nothing, since it is gone then."""
    return "" if tree is None else await leave_worktree(scope, tree)


def make_branch(opened: Opened, job: Job, given: Hiring) -> Branch:
    """The session of one agent, in its place. Raises `ConfigError` for a model that cannot be used."""
    home, definition = Path(opened.home), job.definition
    parent = given.opened.header
    folder = private_folder(home, "sessions", project_key(parent.cwd), parent.session_id, "subagents")
    header = msgspec.structs.replace(
        opened.header, session_id=job.worker_id, time=opened.clock.now(), cwd=opened.around.cwd, imported_from=None
    )
    limits = FORK_LIMITS if definition is None else agent_limits(definition, job.standing)
    policy = msgspec.structs.replace(opened.policy, mode=job.mode, limits=limits)
    bare = msgspec.structs.replace(opened, header=header, policy=policy, copied=(), events=(), news=(), diagnostics=())
    write_agent_note(folder, job.worker_id, kind=job.assignment.kind, description=job.assignment.description)
    return Branch(
        opened=_fork(bare, job) if definition is None else _agent(bare, job, definition),
        watch=job.watch,
        folder=str(folder),
        kind=job.assignment.kind,
        level=given.level + 1,
        line=given.line,
        edges=given.edges,
        history=given.history,
        skills=() if definition is None else definition.skills,
        servers=limits.tools is None or any(tool.startswith("mcp__") for tool in limits.tools),
    )


def _fork(opened: Opened, job: Job) -> Opened:
    ids = UuidSource()
    conversation = forked(job.parent.conversation, lambda: Stamp(ids.new(), opened.clock.now()))
    return msgspec.structs.replace(opened, conversation=conversation, account=job.parent.account)


def _agent(opened: Opened, job: Job, definition: AgentDefinition) -> Opened:
    memory = agent_memory(Path(opened.home), opened.around.cwd, definition)
    contract = agent_contract(_with_model(opened, job, definition), definition, job.standing)
    around = agent_surroundings(opened.around, definition, "" if memory is None else memory.words)
    begun = begin_session(contract, around, None, Path(opened.home), opened.clock)
    return msgspec.structs.replace(
        opened,
        contract=contract,
        around=around,
        conversation=begun.conversation,
        memo=begun.memo,
        account=session_account(contract, None),
        policy=_remembering(opened, memory),
        look=_looking(opened, job, definition, memory),
        flags=msgspec.structs.replace(opened.flags, json_schema=None),
    )


def _remembering(opened: Opened, memory: AgentMemory | None) -> Policy:
    policy = opened.policy
    return policy if memory is None else msgspec.structs.replace(policy, roots=(*policy.roots, memory.folder))


def _looking(opened: Opened, job: Job, definition: AgentDefinition, memory: AgentMemory | None) -> Look:
    def look(cwd: str, model: str) -> tuple[RunContract, Surroundings]:
        contract, around = opened.look(cwd, model)
        notes = "" if memory is None else memory.words
        return agent_contract(contract, definition, job.standing), agent_surroundings(around, definition, notes)

    return look


def _with_model(opened: Opened, job: Job, definition: AgentDefinition) -> RunContract:
    """The variable, then the call, then the definition, then the parent's (6.2)."""
    variables = opened.environment.variables
    asked = (variables.get(MODEL), job.assignment.model, definition.model)
    name = next((word for word in asked if word), "inherit")
    contract = opened.contract
    if name in {"inherit", contract.model}:
        return contract
    flags = msgspec.structs.replace(opened.flags, model=name)
    host = Host(session=contract.facts.session)
    renewed = resolve_contract(
        flags, contract.settings, variables, cwd=opened.around.cwd, trust=contract.trust, host=host
    )
    return msgspec.structs.replace(renewed, ttl_wish=contract.ttl_wish)
