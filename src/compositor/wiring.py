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

from compositor.adapters.approvals_rules import approved_file
from compositor.adapters.home import project_key, session_file
from compositor.adapters.ids import UuidSource
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.tools.process import CommandRunner, run_child
from compositor.config.policy_inputs import collect_policy
from compositor.config.settings import Settings
from compositor.context.messages.human import last_prompt
from compositor.lining import line_parts, memory_keeper, web_searcher
from compositor.loop.answer_form import parse_form
from compositor.loop.opening import plan_policy
from compositor.opened import Opened, approved_policy, current_settings
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy
from compositor.policy.visibility import may_be_shown
from compositor.ports import Asker, Editor, Interviewer, ModelTransport, Presence
from compositor.telemetry.setup import recorded
from compositor.types.verdicts import PermissionRule

if TYPE_CHECKING:
    from compositor.adapters.checkpoints import FileHistory
    from compositor.adapters.services import Services
    from compositor.adapters.tools.session_tools import SessionTools
    from compositor.context.compaction.kept import Kept
    from compositor.context.compaction.ladder import Ladder
    from compositor.guarding import Guard
    from compositor.heads import SessionHeads
    from compositor.runtime.agent import Agent
    from compositor.runtime.collect import Collection
    from compositor.runtime.compaction import Compactor
    from compositor.runtime.events import Watcher
    from compositor.runtime.line import LineParts, ModelLine
    from compositor.runtime.memory_keeper import MemoryKeeper
    from compositor.runtime.offering import Offering
    from compositor.runtime.skills import Skills

NOBODY: Final = Presence()
"""Nobody sits before the session."""


def session_services(opened: Opened, interviewer: Interviewer | None = None) -> AbstractAsyncContextManager[Services]:
    """What runs beside the agent of an opened session; hand it to `build_agent` inside the context.

    `interviewer` answers the questions of MCP servers; without one they are told that nobody can be asked.
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
) -> tuple[Agent, JsonlSession]:
    """An agent on an opened session, and the store it writes to (close it).

    Without `services` there are no MCP servers. `interviewer` answers the model's own questions; without one they stay unanswered. `editor` says what an editor
    shows; without one a file that an editor writes is looked at. `run_command` runs the commands of Bash.
    """
    from compositor.adapters.collectors.memory import file_views
    from compositor.runtime.agent import Agent  # with them comes the event loop: compiling needs none
    from compositor.runtime.compacting import Compacting
    from compositor.runtime.line import ModelLine
    from compositor.runtime.parts import Parts

    watch, stop_recording = recorded(opened, watch)
    around, store = opened.around, _store(opened)
    offering = _offering(opened, services)
    history = _file_history(opened, watch)
    line = line_parts(opened, store, transport, watch, interviewer)
    tools = _tools(opened, services, offering, interviewer, run_command=run_command, line=line, history=history)
    tools.box.files.seed(file_views(around.memory))
    guard, skills = _guarded(opened, store, tools, asker=asker, watch=watch, presence=presence)
    heads = _heads(opened, tools, services)
    speaks = ModelLine(line, opened.account)
    keeper = memory_keeper(opened, speaks, guard, services, watch)
    compactor = _compactor(opened, store.path, tools, heads, watch, keeper=keeper)
    parts = Parts(
        line=speaks,
        store=store,
        clock=opened.clock,
        ids=UuidSource(),
        workshop=guard.workshop,
        hooks=guard.hooks,
        compacting=Compacting(compactor, watch, guard.hooks),
        heads=heads,
        keeper=keeper,
        closing=(guard.close, stop_recording),
        watch=watch,
        collection=_collection(opened, tools, services=services, guard=guard, line=speaks, editor=editor),
        skills=skills,
        offering=offering,
        max_requests=opened.contract.max_turns,
        output_limit=opened.contract.output_limit,
        form=None if opened.flags.json_schema is None else parse_form(opened.flags.json_schema),
        modes=tools.mode,
        typed=presence.typed,
    )
    agent = Agent(parts, opened.conversation)
    history.follow(lambda: last_prompt(agent.conversation.prefix.entries))
    return agent, store


def _store(opened: Opened) -> JsonlSession:
    """The session's file, with what opening it brought about."""
    durable = opened.contract.settings.compositor.durable_sessions
    store = JsonlSession.open(Path(opened.home), opened.header, durable=durable)
    store.append((*opened.copied, *opened.events, *opened.news))
    return store


def _offering(opened: Opened, services: Services | None) -> Offering | None:
    """The tools of servers, as the model is told of them; `None` without servers."""
    from compositor.runtime.offering import make_offering

    servers = None if services is None else services.servers
    return make_offering(servers, opened.contract, opened.conversation, opened.around.tool_search)


def _file_history(opened: Opened, watch: Watcher) -> FileHistory:
    """What files hold before they are changed."""
    from compositor.adapters.checkpoints import FileHistory
    from compositor.runtime.events import NotesCollected

    wanted = opened.contract.settings.file_checkpointing_enabled
    history = FileHistory(Path(opened.home), opened.header.session_id, opened.clock, is_kept=wanted)
    history.tell = lambda note: watch(NotesCollected((), (note,)))
    return history


def plan_compaction(opened: Opened, focus: str) -> tuple[Ladder, Kept]:
    """What a compaction that a person asks for would do with an opened session. Sends and stores nothing."""
    from compositor.runtime.compaction import State, by_hand

    folder = Path(opened.home, "sessions", project_key(opened.header.cwd))
    tools = _tools(opened, None, None, None)
    transcript = str(session_file(folder, opened.header.session_id))
    compactor = _compactor(opened, transcript, tools, _heads(opened, tools, None), lambda _event: None)
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
            may_read=lambda path: may_be_shown(_resolved(path), opened.policy),
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
        may_read=lambda path: may_be_shown(_resolved(path), opened.policy),
        settle=None if keeper is None else keeper.settle,
    )
    return make_compactor(standing, watch)


def _tools(
    opened: Opened,
    services: Services | None,
    offering: Offering | None,
    interviewer: Interviewer | None,
    *,
    run_command: CommandRunner = run_child,
    line: LineParts | None = None,
    history: FileHistory | None = None,
) -> SessionTools:
    from compositor.adapters.tools.session_tools import session_tools

    return session_tools(
        home=Path(opened.home),
        session_id=opened.header.session_id,
        mode=opened.policy.mode,
        variables=opened.environment.variables,
        is_visible=lambda path: may_be_shown(_resolved(path), opened.policy),
        deferred=tuple if offering is None else offering.deferred,
        services=services,
        interviewer=interviewer,
        run_command=run_command,
        searcher=None if line is None else web_searcher(opened, line),
        keep=(lambda _paths: None) if history is None else history.keep,
    )


def _guarded(
    opened: Opened, store: JsonlSession, tools: SessionTools, *, asker: Asker, watch: Watcher, presence: Presence
) -> tuple[Guard, Skills | None]:
    """The gate, and the skills that pass it and bring rules of their own into it."""
    from compositor.runtime.skills import Grants
    from compositor.skilled import make_skills

    grants = Grants()

    def granted() -> tuple[PermissionRule, ...]:
        return (*grants.rules, *presence.session_rules())

    guard = _guard(opened, store, tools, asker=asker, watch=watch, granted=granted)
    return guard, make_skills(opened, guard, tools, grants, watch)


def _guard(
    opened: Opened,
    store: JsonlSession,
    tools: SessionTools,
    *,
    asker: Asker,
    watch: Watcher,
    granted: Callable[[], tuple[PermissionRule, ...]],
) -> Guard:
    """What every call passes before it runs, and the borders it runs in."""
    from compositor.guarding import Guarding, build_guard

    contract, around = opened.contract, opened.around

    def plan(settings: Settings) -> Policy:
        inputs = collect_policy(opened.flags, settings, contract.trust, around.cwd)
        renewed = msgspec.structs.replace(contract, settings=settings, policy=inputs)
        policy = plan_policy(renewed, around, interactive=opened.policy.interactive)[0]
        return approved_policy(policy, Path(opened.home), opened.places)

    return build_guard(
        Guarding(
            settings=contract.settings,
            policy=opened.policy,
            env=opened.environment.variables,
            home=opened.home,
            session_id=opened.header.session_id,
            transcript=store.path,
            clock=opened.clock,
            tools=tools,
            asker=asker,
            watch=watch,
            places=opened.places,
            load=lambda: current_settings(opened.flags, opened.places),
            plan=plan,
            granted=granted,
            approvals=(str(approved_file(Path(opened.home), opened.places.root)),),
        )
    )


def _resolved(path: str) -> ResolvedPath:
    return ResolvedPath(path, os.path.realpath(path))
