"""The only place where adapters meet the runtime: a request to run becomes an opened session, and that becomes an agent.

Decides which implementation stands behind each port, and in which order a session opens. Decides nothing about context or permission.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from compositor._version import __version__
from compositor.adapters.approvals_rules import approved_file, read_approved
from compositor.adapters.clock import clock_from
from compositor.adapters.home import find_home, project_key, session_file
from compositor.adapters.ids import UuidSource
from compositor.adapters.mcp.session import find_servers
from compositor.adapters.sessions.begin import begin_session
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.past import Past, find_past
from compositor.adapters.sessions.pattern import lifetime_note, session_lifetime
from compositor.adapters.settings_files import SettingsPlaces, find_places, load_settings
from compositor.adapters.surroundings import gather
from compositor.adapters.trust import foreign_settings, read_trust
from compositor.config.candidates import session_facts
from compositor.config.contract import Host, RunContract, resolve_contract
from compositor.config.environment import EffectiveEnvironment, join_environment
from compositor.config.flags import SOURCES, Flags
from compositor.config.mcp_servers import ServerChoice
from compositor.config.policy_inputs import collect_policy
from compositor.config.price import priced
from compositor.config.settings import Settings
from compositor.context.transcript.codec import SessionHeader
from compositor.context.transcript.history import History
from compositor.context.transcript.journal import last_send
from compositor.errors import UsageError
from compositor.loop.accounting import Account, Tariff, open_account
from compositor.loop.moves import PrefixPolicy
from compositor.loop.opening import Surroundings, plan_policy
from compositor.loop.session import Conversation
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy
from compositor.policy.rules import with_approvals
from compositor.policy.visibility import may_be_shown
from compositor.ports import Asker, Clock, Interviewer, ModelTransport
from compositor.types.diagnostics import Diagnostic
from compositor.types.entries import TranscriptEntry
from compositor.types.servers import McpServer
from compositor.types.snapshot import PrefixEvent

if TYPE_CHECKING:
    from compositor.adapters.services import Services
    from compositor.adapters.tools.session_tools import SessionTools
    from compositor.context.compaction.kept import Kept
    from compositor.context.compaction.ladder import Ladder
    from compositor.guarding import Guard
    from compositor.runtime.agent import Agent
    from compositor.runtime.compaction import Compactor
    from compositor.runtime.events import Watcher
    from compositor.runtime.offering import Offering


class Opening(Struct, frozen=True, kw_only=True):
    """What is asked for. At most one of `resume` (an id or a file), `continues` and `transcript` (a file) is set."""

    flags: Flags
    project: str
    environ: Mapping[str, str]
    resume: str | None = None
    continues: bool = False
    transcript: str | None = None
    interactive: bool = False


class Opened(Struct, frozen=True, kw_only=True):
    """A session, ready to compile its next request.

    `events` are prefix events that opening it caused, `regather` looks at the surroundings again, `copied` the entries of another file that it begins with, `news` the
    notes about what changed since its head was recorded; the conversation holds both already, the store does not yet.
    """

    contract: RunContract
    around: Surroundings
    policy: Policy
    conversation: Conversation
    account: Account
    header: SessionHeader
    clock: Clock
    environment: EffectiveEnvironment
    home: str
    places: SettingsPlaces
    flags: Flags
    events: tuple[PrefixEvent, ...]
    regather: Callable[[], Surroundings]
    copied: tuple[TranscriptEntry, ...] = ()
    news: tuple[TranscriptEntry, ...] = ()
    servers: tuple[McpServer, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def open_session(opening: Opening) -> Opened:
    """Resolve the contract, gather what surrounds the project, compile or replay the head, load the history. Sends nothing, writes nothing."""
    environ = opening.environ
    cwd = _project(opening.project)
    home = find_home(environ)
    clock = clock_from(environ)
    places = find_places(cwd, environ)
    settings = _settings(opening.flags, places)
    trust = read_trust(home, places.root, foreign=foreign_settings(environ))
    past = find_past(home, cwd, resume=opening.resume, continues=opening.continues, transcript=opening.transcript)
    history = past.history if past is not None else None
    flags = _flags(opening.flags, history)
    environment = join_environment(environ, settings, trust)
    servers = find_servers(
        places,
        home,
        environment.variables,
        flags=flags,
        settings=settings,
        trust=trust,
        interactive=opening.interactive,
    )
    host = _host(opening, servers, environment, places)
    contract = resolve_contract(flags, settings, environ, cwd=cwd, trust=trust, host=host)
    lifetime = session_lifetime(contract, home, cwd, is_new=past is None)
    contract = msgspec.structs.replace(contract, ttl_wish=lifetime.ttl)
    around = _gather(contract, places, opening, clock, environment)
    policy, policy_notes = plan_policy(contract, around, interactive=opening.interactive)
    policy = _with_approvals(policy, home, places)
    begun = begin_session(contract, around, history, home, clock)
    return Opened(
        contract=contract,
        around=around,
        policy=policy,
        conversation=begun.conversation,
        account=_account(contract, history),
        header=_header(past, cwd, clock),
        clock=clock,
        environment=environment,
        servers=servers.servers,
        home=str(home),
        places=places,
        flags=flags,
        events=begun.events,
        regather=lambda: _gather(contract, places, opening, clock, environment),
        copied=past.copied if past is not None else (),
        news=begun.news,
        diagnostics=(
            *contract.diagnostics,
            *servers.diagnostics,
            *around.diagnostics,
            *policy_notes,
            *begun.diagnostics,
            lifetime_note(lifetime),
        ),
    )


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
    )


def build_agent(
    opened: Opened,
    *,
    transport: ModelTransport,
    watch: Watcher,
    asker: Asker,
    services: Services | None = None,
    interviewer: Interviewer | None = None,
) -> tuple[Agent, JsonlSession]:
    """An agent on an opened session, and the store it writes to (close it).

    Without `services` there are no MCP servers. `interviewer` answers the model's own questions; without one they stay unanswered.
    """
    from compositor.adapters.collectors.memory import MemoryCollector, file_views
    from compositor.runtime.agent import Agent, Parts  # with them comes the event loop: compiling needs none
    from compositor.runtime.compacting import Compacting
    from compositor.runtime.line import LineParts, ModelLine
    from compositor.runtime.offering import make_offering
    from compositor.runtime.prefix_gate import PrefixGate

    home, around = Path(opened.home), opened.around
    durable = opened.contract.settings.compositor.durable_sessions
    store = JsonlSession.open(home, opened.header, durable=durable)
    store.append((*opened.copied, *opened.events, *opened.news))
    offering = make_offering(
        None if services is None else services.servers, opened.contract, opened.conversation, around.tool_search
    )
    tools = _tools(opened, services, offering, interviewer)
    tools.box.files.seed(file_views(around.memory))
    guard = _guard(opened, store, tools, asker=asker, watch=watch)
    ids, cache = UuidSource(), opened.contract.settings.compositor.cache
    line = LineParts(
        transport=transport,
        store=store,
        clock=opened.clock,
        ids=ids,
        watch=watch,
        chance=random.random,
        profile=opened.contract.profile.id,
        gate=PrefixGate(PrefixPolicy(cache.prefix), interviewer),
        keep_results=cache.kept_when_expired,
    )
    parts = Parts(
        line=ModelLine(line, opened.account),
        store=store,
        clock=opened.clock,
        ids=ids,
        workshop=guard.workshop,
        hooks=guard.hooks,
        compacting=Compacting(_compactor(opened, store.path, tools, watch), watch, guard.hooks),
        closing=(guard.close,),
        watch=watch,
        collector=MemoryCollector(around.memory_place, around.memory, tools.box.files.seed),
        offering=offering,
        max_requests=opened.contract.max_turns,
    )
    return Agent(parts, opened.conversation), store


def plan_compaction(opened: Opened, focus: str) -> tuple[Ladder, Kept]:
    """What a compaction that a person asks for would do with an opened session. Sends and stores nothing."""
    from compositor.context.compaction.ladder import Trigger
    from compositor.runtime.compaction import State, Wish

    folder = Path(opened.home, "sessions", project_key(opened.header.cwd))
    transcript = str(session_file(folder, opened.header.session_id))
    compactor = _compactor(opened, transcript, _tools(opened, None, None, None), lambda _event: None)
    return compactor.preview(opened.conversation, Wish(trigger=Trigger.MANUAL, focus=focus), State())


def _compactor(opened: Opened, transcript: str, tools: SessionTools, watch: Watcher) -> Compactor:
    from compositor.standing import Standing, make_compactor

    standing = Standing(
        contract=opened.contract,
        around=opened.around,
        regather=opened.regather,
        home=opened.home,
        session_id=opened.header.session_id,
        transcript=transcript,
        tools=tools,
        price=opened.account.tariff.price,
        may_read=lambda path: may_be_shown(_resolved(path), opened.policy),
    )
    return make_compactor(standing, watch)


def _tools(
    opened: Opened, services: Services | None, offering: Offering | None, interviewer: Interviewer | None
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
    )


def _guard(opened: Opened, store: JsonlSession, tools: SessionTools, *, asker: Asker, watch: Watcher) -> Guard:
    """What every call passes before it runs, and the borders it runs in."""
    from compositor.guarding import Guarding, build_guard

    contract, around = opened.contract, opened.around

    def plan(settings: Settings) -> Policy:
        inputs = collect_policy(opened.flags, settings, contract.trust, around.cwd)
        renewed = msgspec.structs.replace(contract, settings=settings, policy=inputs)
        policy = plan_policy(renewed, around, interactive=opened.policy.interactive)[0]
        return _with_approvals(policy, Path(opened.home), opened.places)

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
            load=lambda: _settings(opened.flags, opened.places),
            plan=plan,
        )
    )


def _with_approvals(policy: Policy, home: Path, places: SettingsPlaces) -> Policy:
    approved = read_approved(home, places.root)
    return with_approvals(policy, approved.rules, file=str(approved_file(home, places.root)))


def _settings(flags: Flags, places: SettingsPlaces) -> Settings:
    return load_settings(places, given=flags.settings, sources=flags.setting_sources)


def _host(opening: Opening, servers: ServerChoice, environment: EffectiveEnvironment, places: SettingsPlaces) -> Host:
    facts = session_facts(
        opening.flags,
        environment.variables,
        has_servers=bool(servers.servers),
        has_person=opening.interactive,
        is_repository=Path(places.root, ".git").exists(),
    )
    return Host(session=facts)


def _project(project: str) -> str:
    cwd = os.path.realpath(project)
    if not Path(cwd).is_dir():
        raise UsageError(f"the project directory {project!r} does not exist", hint="Give a directory with --project")
    return cwd


def _flags(flags: Flags, history: History | None) -> Flags:
    """A resumed session keeps its model unless another one is asked for."""
    sent = last_send(history.journal) if history is not None else None
    if sent is None or flags.model is not None:
        return flags
    return msgspec.structs.replace(flags, model=sent.record.options.model)


def _gather(
    contract: RunContract, places: SettingsPlaces, opening: Opening, clock: Clock, environment: EffectiveEnvironment
) -> Surroundings:
    sources = opening.flags.setting_sources
    levels = SOURCES if sources is None else sources
    around = gather(contract, places, opening.environ, clock, sources=tuple(level.value for level in levels))
    return msgspec.structs.replace(around, tool_search=environment.variables.get("ENABLE_TOOL_SEARCH"))


def _account(contract: RunContract, history: History | None) -> Account:
    price = priced(contract.model, contract.settings.compositor.prices)
    tariff = Tariff(minimum=contract.profile.cache_minimum, price=price)
    return open_account(tariff, () if history is None else history.journal.sends)


def _header(past: Past | None, cwd: str, clock: Clock) -> SessionHeader:
    """A resumed session goes on in its own file; any other transcript is only read."""
    if past is not None and past.own is not None:
        return past.own
    imported = past.path if past is not None and past.copied else None
    return SessionHeader(
        session_id=UuidSource().new(),
        time=clock.now(),
        cwd=cwd,
        program=f"compositor/{__version__}",
        imported_from=imported,
    )


def _resolved(path: str) -> ResolvedPath:
    return ResolvedPath(path, os.path.realpath(path))
