"""The only place where adapters meet the runtime: an opened session becomes an agent.

Decides which implementation stands behind each port. Decides nothing about context or permission.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from compositor.adapters.home import project_key, session_file
from compositor.adapters.ids import UuidSource
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.tools.process import CommandRunner, run_child
from compositor.lining import memory_keeper, web_searcher
from compositor.loop.answer_form import parse_form
from compositor.opened import Opened
from compositor.ports import Asker, Editor, HandlerWay, Interviewer, ModelTransport, Presence
from compositor.telemetry.setup import recorded

if TYPE_CHECKING:
    from compositor.adapters.services import Services
    from compositor.adapters.tools.session_tools import SessionTools
    from compositor.branching import Branch
    from compositor.context.compaction.kept import Kept
    from compositor.context.compaction.ladder import Ladder
    from compositor.footing import Footing
    from compositor.gating import Gating
    from compositor.guarding import Guard
    from compositor.heads import SessionHeads
    from compositor.loop.session import Conversation
    from compositor.runtime.agent import Agent
    from compositor.runtime.collect import Collection
    from compositor.runtime.compacting import Compacting
    from compositor.runtime.compaction import Compactor
    from compositor.runtime.events import Watcher
    from compositor.runtime.hooks import Hooks
    from compositor.runtime.line import ModelLine
    from compositor.runtime.memory_keeper import MemoryKeeper
    from compositor.runtime.offering import Offering
    from compositor.runtime.renewal import CurrentPolicy

NOBODY: Final = Presence()
"""Nobody sits before the session."""


def session_services(
    opened: Opened, interviewer: Interviewer | None = None, presence: Presence = NOBODY
) -> AbstractAsyncContextManager[Services]:
    """What runs beside the agent of an opened session; hand it to `build_agent` inside the context.

    `interviewer` answers the questions of MCP servers; without one they are told that nobody can be asked. `presence` reaches servers in the program.
    """
    from compositor.adapters.services import run_services

    around = opened.around
    return run_services(
        opened.servers,
        roots=(around.cwd, *around.directories),
        home=opened.home,
        env=opened.environment.variables,
        told=opened.conversation.prefix.head.parts.tools,
        interviewer=interviewer,
        languages=opened.languages,
        result_tokens=opened.limits.result,
        exchange=presence.exchange,
    )


def build_agent(
    opened: Opened,
    *,
    transport: ModelTransport,
    watch: Watcher,
    asker: Asker,
    services: Services | None = None,
    interviewer: Interviewer | None = None,
    editor: Editor | None = None,
    run_command: CommandRunner = run_child,
    presence: Presence = NOBODY,
    branch: Branch | None = None,
) -> tuple[Agent, JsonlSession]:
    """An agent on an opened session, and the store it writes to (close it).

    Without `services` there are no MCP servers. `interviewer` answers the model's own questions; without one they stay unanswered. `editor` says what an editor shows; without one a file that an editor writes is looked at. `run_command` runs the commands of Bash. With `branch` the agent works for another session.
    """
    from compositor.footing import employ, stand
    from compositor.gating import make_guard
    from compositor.runtime.agent import Agent  # with them comes the event loop: compiling needs none
    from compositor.runtime.line import ModelLine
    from compositor.runtime.parts import Parts

    watch, stop = _heard(opened, watch, branch)
    base, offering = stand(opened, transport, watch, interviewer, branch), _offering(opened, services)
    force, speaks = _force(opened), ModelLine(base.line, opened.account)
    tools = _tools(opened, services, offering, interviewer, force, run=run_command, base=base)
    gating = _gating(opened, force, tools, services=services, base=base, watch=watch)
    guard, skills = make_guard(gating, asker, presence, _judge(opened, speaks, lambda: agent.conversation))
    heads, hooks = _heads(opened, tools, services), guard.hooks
    keeper = memory_keeper(opened, speaks, guard, services, watch) if branch is None else None
    hire = _hiring(transport, asker, services, run_command, presence)
    workforce = employ(opened, tools, guard, base, skills=skills, services=services, watch=watch, hire=hire)
    compactor = _compactor(opened, base.store.path, tools, heads, watch, force=force, keeper=keeper)
    parts = Parts(
        line=speaks,
        store=base.store,
        clock=opened.clock,
        ids=UuidSource(),
        workshop=guard.workshop,
        hooks=hooks,
        compacting=_compacting(compactor, watch, hooks),
        heads=heads,
        keeper=keeper,
        closing=(guard.close, stop),
        watch=watch,
        collection=_collection(opened, tools, services=services, guard=guard, force=force, line=speaks, editor=editor),
        skills=skills,
        workforce=workforce,
        offering=offering,
        max_requests=opened.contract.max_turns,
        output_limit=opened.contract.output_limit,
        fallbacks=opened.flags.fallback_models or opened.contract.settings.fallback_model,
        form=None if opened.flags.json_schema is None else parse_form(opened.flags.json_schema),
        modes=tools.mode,
        typed=presence.typed,
    )
    agent = Agent(parts, opened.conversation)
    base.serve(agent, workforce)
    return agent, base.store


def _heard(opened: Opened, watch: Watcher, branch: Branch | None) -> tuple[Watcher, Callable[[], None]]:
    """The watcher of a run with what else hears of it: its trace, and the failures behind events; and what ends the trace. An agent is heard by its session."""
    from compositor.footing import record_nothing
    from compositor.runtime.failures import FailureWatcher

    if branch is not None:
        return watch, record_nothing
    told, stop = recorded(opened, watch)
    return FailureWatcher(told, opened.diagnostics), stop


def _compacting(compactor: Compactor, watch: Watcher, hooks: Hooks | None) -> Compacting:
    from compositor.runtime.compacting import Compacting

    return Compacting(compactor, watch, hooks)


def _judge(opened: Opened, line: ModelLine, conversation: Callable[[], Conversation]) -> HandlerWay:
    """Runs hooks that are a question to the model."""
    from compositor.runtime.hook_model import HookModel

    return HookModel(line, conversation, UuidSource(), opened.clock).run


def _force(opened: Opened) -> CurrentPolicy:
    from compositor.runtime.renewal import CurrentPolicy

    return CurrentPolicy(opened.policy, os.path.realpath)


def _gating(
    opened: Opened,
    force: CurrentPolicy,
    tools: SessionTools,
    *,
    services: Services | None,
    base: Footing,
    watch: Watcher,
) -> Gating:
    from compositor.gating import Gating

    return Gating(
        opened=opened,
        force=force,
        tools=tools,
        services=services,
        transcript=base.store.path,
        watch=watch,
        edges=base.edges,
        agent=base.agent,
    )


def _hiring(
    transport: ModelTransport,
    asker: Asker,
    services: Services | None,
    run_command: CommandRunner,
    presence: Presence,
) -> Callable[[Branch], tuple[Agent, JsonlSession]]:
    """Builds the agents of a session: with what the session itself is built with, and nobody who could be asked or type."""

    def hire(branch: Branch) -> tuple[Agent, JsonlSession]:
        served = services if branch.servers or services is None else msgspec.structs.replace(services, servers=None)
        return build_agent(
            branch.opened,
            transport=transport,
            watch=branch.watch,
            asker=asker,
            services=served,
            run_command=run_command,
            presence=msgspec.structs.replace(presence, typed=tuple),
            branch=branch,
        )

    return hire


def _offering(opened: Opened, services: Services | None) -> Offering | None:
    """The tools of servers, as the model is told of them; `None` without servers."""
    from compositor.runtime.offering import make_offering

    servers = None if services is None else services.servers
    return make_offering(servers, opened.contract, opened.conversation, opened.around.tool_search)


def plan_compaction(opened: Opened, focus: str) -> tuple[Ladder, Kept]:
    """What a compaction that a person asks for would do with an opened session. Sends and stores nothing."""
    from compositor.runtime.compaction import State, by_hand

    folder = Path(opened.home, "sessions", project_key(opened.header.cwd))
    force = _force(opened)
    tools = _tools(opened, None, None, None, force)
    transcript = str(session_file(folder, opened.header.session_id))
    compactor = _compactor(opened, transcript, tools, _heads(opened, tools, None), lambda _event: None, force=force)
    return compactor.preview(opened.conversation, by_hand(focus), State())


def _heads(opened: Opened, tools: SessionTools, services: Services | None) -> SessionHeads:
    """Plans the head of the running session anew when that is due."""
    from compositor.heads import Ground, SessionHeads

    servers = None if services is None else services.servers
    ground = Ground(
        look=opened.look,
        worktree=lambda: "" if tools.worktree.current is None else tools.worktree.current.path,
        listings=None if servers is None else servers.listings,
        is_debugged=opened.around.is_debugged,
    )
    return SessionHeads(opened.contract, opened.around, opened.memo, ground)


def _collection(
    opened: Opened,
    tools: SessionTools,
    *,
    services: Services | None,
    guard: Guard,
    force: CurrentPolicy,
    line: ModelLine,
    editor: Editor | None,
) -> Collection:
    """The sources of notes, and the meters that the model may be told of."""
    from compositor.adapters.collectors.usage import Meter
    from compositor.collecting import Collecting, make_collection

    contract = opened.contract

    def window() -> Meter:
        return Meter(0 if line.account.paid is None else line.account.paid.tokens, contract.window.tokens)

    def requests() -> Meter:
        return Meter(line.requests, contract.max_turns or 0)

    return make_collection(
        Collecting(
            opened=opened,
            tools=tools,
            services=services,
            scope=guard.workshop.scope,
            may_read=force.shows,
            editor=editor,
            meters=(window, requests) if contract.settings.compositor.tell_usage else None,
        )
    )


def _compactor(
    opened: Opened,
    transcript: str,
    tools: SessionTools,
    heads: SessionHeads,
    watch: Watcher,
    *,
    force: CurrentPolicy,
    keeper: MemoryKeeper | None = None,
) -> Compactor:
    from compositor.standing import Standing, make_compactor

    standing = Standing(
        contract=opened.contract,
        around=opened.around,
        heads=heads,
        home=opened.home,
        session_id=opened.header.session_id,
        transcript=transcript,
        tools=tools,
        price=opened.account.tariff.price,
        may_read=force.shows,
        settle=None if keeper is None else keeper.settle,
    )
    return make_compactor(standing, watch)


def _tools(
    opened: Opened,
    services: Services | None,
    offering: Offering | None,
    interviewer: Interviewer | None,
    force: CurrentPolicy,
    *,
    run: CommandRunner = run_child,
    base: Footing | None = None,
) -> SessionTools:
    from compositor.adapters.collectors.memory import file_views
    from compositor.adapters.tools.session_tools import session_tools

    tools = session_tools(
        home=Path(opened.home),
        session_id=opened.header.session_id,
        mode=opened.policy.mode,
        variables=opened.environment.variables,
        is_visible=force.shows,
        deferred=tuple if offering is None else offering.deferred,
        services=services,
        interviewer=interviewer,
        run_command=run,
        searcher=None if base is None else web_searcher(opened, base.line),
        keep=(lambda _paths: None) if base is None else base.history.keep,
    )
    tools.box.files.seed(file_views(opened.around.memory))
    return tools
