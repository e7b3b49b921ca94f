"""A request to run becomes an opened session: contract, surroundings, head and history, ready to compile its next request.

Decides the order in which a session opens. Decides nothing about context or permission, sends nothing and writes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor._version import __version__
from compositor.adapters.approvals_rules import approved_file, read_approved
from compositor.adapters.clock import clock_from
from compositor.adapters.extension_desk import ExtensionDesk, extension_places
from compositor.adapters.home import find_home
from compositor.adapters.ids import UuidSource
from compositor.adapters.mcp.session import find_servers
from compositor.adapters.sessions.begin import begin_session
from compositor.adapters.sessions.past import Past, find_past
from compositor.adapters.sessions.pattern import lifetime_note, session_lifetime
from compositor.adapters.settings_files import SettingsPlaces, find_places, load_settings
from compositor.adapters.skill_shelf import SkillShelf
from compositor.adapters.surroundings import gather
from compositor.adapters.trust import foreign_settings, read_trust
from compositor.config.candidates import session_facts
from compositor.config.contract import Host, RunContract, resolve_contract
from compositor.config.environment import EffectiveEnvironment, join_environment
from compositor.config.flags import SOURCES, Flags
from compositor.config.language_servers import choose_language_servers
from compositor.config.mcp_servers import ServerChoice
from compositor.config.price import priced
from compositor.config.settings import Settings
from compositor.context.extensions.agents import AgentDefinition
from compositor.context.prompt.compute import DEBUG_VARIABLE, SectionMemo
from compositor.context.tools.limits import Limits, plan_limits
from compositor.context.transcript.codec import SessionHeader
from compositor.context.transcript.history import History
from compositor.context.transcript.journal import last_send
from compositor.errors import UsageError
from compositor.loop.accounting import Account, Tariff, open_account
from compositor.loop.branch import led_by, led_policy
from compositor.loop.opening import AgentPart, Surroundings, plan_policy, session_scope
from compositor.loop.session import Conversation
from compositor.policy.policy import Policy
from compositor.policy.rules import with_approvals
from compositor.ports import Clock
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.entries import TranscriptEntry
from compositor.types.languages import LanguageServer
from compositor.types.servers import McpServer
from compositor.types.snapshot import PrefixEvent


class Opening(Struct, frozen=True, kw_only=True):
    """What is asked for. At most one of `resume` (an id or a file), `continues` and `transcript` (a file) is set; `session_id` names a new session."""

    flags: Flags
    project: str
    environ: Mapping[str, str]
    resume: str | None = None
    continues: bool = False
    transcript: str | None = None
    interactive: bool = False
    session_id: str | None = None


Look = Callable[[str, str], tuple[RunContract, Surroundings]]


class Opened(Struct, frozen=True, kw_only=True):
    """A session, ready to compile its next request.

    `events` are prefix events that opening it caused, `look` resolves settings and surroundings of a directory anew, `shelf` holds its skills, `copied` the entries of another file that it begins with, `news` the
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
    look: Look
    memo: SectionMemo
    copied: tuple[TranscriptEntry, ...] = ()
    news: tuple[TranscriptEntry, ...] = ()
    servers: tuple[McpServer, ...] = ()
    shelf: SkillShelf | None = None
    languages: tuple[LanguageServer, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def limits(self) -> Limits:
        """What results may cost in the window of the run."""
        own = self.contract.settings.compositor
        return plan_limits(self.contract.window.tokens, own.turn_result_tokens)


def open_session(opening: Opening) -> Opened:
    """Resolve the contract, gather what surrounds the project, compile or replay the head, load the history. Sends nothing, writes nothing."""
    environ = opening.environ
    cwd = _project(opening.project)
    home = find_home(environ)
    clock = clock_from(environ)
    places = find_places(cwd, environ)
    settings = current_settings(opening.flags, places)
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
    shelf = SkillShelf(_desk(opening, places, settings))
    languages, language_notes = choose_language_servers(settings.compositor.language_servers)
    host = _host(opening, servers, environment, places, shelf, has_languages=bool(languages))
    contract = resolve_contract(flags, settings, environ, cwd=cwd, trust=trust, host=host)
    lifetime = session_lifetime(contract, home, cwd, is_new=past is None)
    contract, lead = _led(msgspec.structs.replace(contract, ttl_wish=lifetime.ttl), opening, places)
    around = _gather(contract, places, opening, clock, environment)
    policy, policy_notes = plan_policy(contract, around, interactive=opening.interactive)
    begun = begin_session(contract, around, history, home, clock)
    return Opened(
        contract=contract,
        around=around,
        policy=led_policy(approved_policy(policy, home, places), lead),
        conversation=begun.conversation,
        account=session_account(contract, history),
        header=_header(past, cwd, clock, opening.session_id),
        clock=clock,
        environment=environment,
        servers=servers.servers,
        shelf=shelf,
        languages=languages,
        home=str(home),
        places=places,
        flags=flags,
        events=begun.events,
        look=_looking(opening, contract, flags, host, clock),
        memo=begun.memo,
        copied=past.copied if past is not None else (),
        news=begun.news,
        diagnostics=(
            *_resolved_notes(contract, around),
            *servers.diagnostics,
            *language_notes,
            *policy_notes,
            *begun.diagnostics,
            *((lifetime_note(lifetime),) if past is None else ()),
        ),
    )


def _resolved_notes(contract: RunContract, around: Surroundings) -> tuple[Diagnostic, ...]:
    """What contract and surroundings say of themselves, which scenario of sharing applies and why (R090), and that every request is a deliberate break (R421)."""
    scope = session_scope(contract, is_debugged=around.is_debugged)
    said = f"sharing scenario {scope.scenario}: {scope.reason}"
    notes = [Diagnostic("cache.scope", said, severity=Severity.INFO, step="cache")]
    if around.is_debugged:
        message = f"{DEBUG_VARIABLE} is set: sections are computed anew for every request, each a deliberate break of the cache (R283)"
        notes.append(Diagnostic("prompt.debug", message, where=DEBUG_VARIABLE, step="prompt"))
    return (*contract.diagnostics, *around.diagnostics, *notes)


def _looking(opening: Opening, contract: RunContract, flags: Flags, host: Host, clock: Clock) -> Look:
    """Resolves settings and surroundings of a directory anew, for the model that the session speaks to by then.

    Trust and the lifetime of markers stay those of the session (R265).
    """
    environ = opening.environ

    def look(cwd: str, model: str) -> tuple[RunContract, Surroundings]:
        kept = msgspec.structs.replace(flags, model=model)
        places = find_places(cwd, environ)
        settings = current_settings(opening.flags, places)
        environment = join_environment(environ, settings, contract.trust)
        renewed = resolve_contract(kept, settings, environ, cwd=cwd, trust=contract.trust, host=host)
        renewed = msgspec.structs.replace(renewed, ttl_wish=contract.ttl_wish)
        return renewed, _gather(renewed, places, opening, clock, environment)

    return look


def approved_policy(policy: Policy, home: Path, places: SettingsPlaces) -> Policy:
    approved = read_approved(home, places.root)
    return with_approvals(policy, approved.rules, file=str(approved_file(home, places.root)))


def current_settings(flags: Flags, places: SettingsPlaces) -> Settings:
    return load_settings(places, given=flags.settings, sources=flags.setting_sources)


def _desk(opening: Opening, places: SettingsPlaces, settings: Settings) -> ExtensionDesk:
    root = places.root if Path(places.root, ".git").exists() else None
    where = extension_places(places, root, opening.flags)
    return ExtensionDesk(places=where, settings=settings, agents_json=opening.flags.agents)


def _host(
    opening: Opening,
    servers: ServerChoice,
    environment: EffectiveEnvironment,
    places: SettingsPlaces,
    shelf: SkillShelf,
    *,
    has_languages: bool,
) -> Host:
    facts = session_facts(
        opening.flags,
        environment.variables,
        has_servers=bool(servers.servers),
        has_person=opening.interactive,
        is_repository=Path(places.root, ".git").exists(),
        has_skills=any(skill.listed for skill in shelf.catalog.active),
        has_languages=has_languages,
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


def _led(contract: RunContract, opening: Opening, places: SettingsPlaces) -> tuple[RunContract, AgentDefinition | None]:
    """The agent that leads the conversation, and the contract with its tools alone."""
    lead = _desk(opening, places, contract.settings).lead(opening.flags.agent, contract.settings.agent)
    return led_by(contract, lead), lead


def _gather(
    contract: RunContract, places: SettingsPlaces, opening: Opening, clock: Clock, environment: EffectiveEnvironment
) -> Surroundings:
    sources = opening.flags.setting_sources
    levels = SOURCES if sources is None else sources
    around = gather(contract, places, opening.environ, clock, sources=tuple(level.value for level in levels))
    desk = _desk(opening, places, contract.settings)
    style, notes = desk.style(contract.settings.output_style)
    lead = desk.lead(opening.flags.agent, contract.settings.agent)
    return msgspec.structs.replace(
        around,
        tool_search=environment.variables.get("ENABLE_TOOL_SEARCH"),
        style=style,
        agent=None if lead is None else AgentPart(lead.name, lead.prompt),
        diagnostics=(*around.diagnostics, *notes),
    )


def session_account(contract: RunContract, history: History | None) -> Account:
    """What was paid for so far, at the prices of the model."""
    price = priced(contract.model, contract.settings.compositor.prices)
    tariff = Tariff(minimum=contract.profile.cache_minimum, price=price, forgets=not contract.profile.thinking.kept)
    return open_account(tariff, () if history is None else history.journal.sends)


def _header(past: Past | None, cwd: str, clock: Clock, wanted: str | None) -> SessionHeader:
    """A resumed session goes on in its own file; any other transcript is only read."""
    if past is not None and past.own is not None:
        return past.own
    imported = past.path if past is not None and past.copied else None
    return SessionHeader(
        session_id=wanted or UuidSource().new(),
        time=clock.now(),
        cwd=cwd,
        program=f"compositor/{__version__}",
        imported_from=imported,
    )
