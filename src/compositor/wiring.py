"""The only place where adapters meet the runtime: a request to run becomes an opened session, and that becomes an agent.

Decides which implementation stands behind each port, and in which order a session opens. Decides nothing about context or permission.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor._version import __version__
from compositor.adapters.clock import clock_from
from compositor.adapters.home import find_home, private_folder
from compositor.adapters.ids import UuidSource
from compositor.adapters.sessions.heads import HeadStore
from compositor.adapters.sessions.index import latest_session
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.reading import find_session, read_transcript
from compositor.adapters.settings_files import SettingsPlaces, find_places, load_settings
from compositor.adapters.surroundings import gather
from compositor.config.contract import RunContract, resolve_contract
from compositor.config.environment import EffectiveEnvironment, join_environment
from compositor.config.flags import SOURCES, Flags
from compositor.config.options import request_facts, request_options
from compositor.context.head import compile_head
from compositor.context.prefix import empty_prefix, extend
from compositor.context.transcript.codec import SessionHeader
from compositor.context.transcript.graph import active_path
from compositor.context.transcript.journal import last_send, replay_facts
from compositor.context.transcript.load import Transcript
from compositor.errors import TranscriptError, UsageError
from compositor.loop.opening import Surroundings, plan_head, plan_policy, wire_context
from compositor.loop.session import Conversation
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy
from compositor.policy.visibility import may_be_shown
from compositor.ports import Asker, Clock, ModelTransport, ToolScope
from compositor.runtime.agent import Agent, Parts
from compositor.runtime.driver import Workshop
from compositor.runtime.events import Watcher
from compositor.runtime.gatekeeper import Gatekeeper
from compositor.types.diagnostics import Diagnostic
from compositor.types.request import Head
from compositor.types.snapshot import EventName, PrefixEvent


class Opening(Struct, frozen=True, kw_only=True):
    """What is asked for. At most one of `resume` (an id), `continues` and `transcript` (a file) is set."""

    flags: Flags
    project: str
    environ: Mapping[str, str]
    resume: str | None = None
    continues: bool = False
    transcript: str | None = None
    interactive: bool = False


class Opened(Struct, frozen=True, kw_only=True):
    """A session, ready to compile its next request. `events` are prefix events that opening it caused."""

    contract: RunContract
    around: Surroundings
    policy: Policy
    conversation: Conversation
    header: SessionHeader
    clock: Clock
    environment: EffectiveEnvironment
    home: str
    events: tuple[PrefixEvent, ...]
    diagnostics: tuple[Diagnostic, ...]


def open_session(opening: Opening) -> Opened:
    """Resolve the contract, gather what surrounds the project, compile or replay the head, load the history. Sends nothing, writes nothing."""
    environ = opening.environ
    cwd = _project(opening.project)
    home = find_home(environ)
    clock = clock_from(environ)
    places = find_places(cwd, environ)
    settings = load_settings(places, given=opening.flags.settings, sources=opening.flags.setting_sources)
    history = _history(opening, home, cwd)
    flags = _flags(opening.flags, history)
    contract = resolve_contract(flags, settings, environ, cwd=cwd)
    around = _gather(contract, places, opening, clock)
    policy, policy_notes = plan_policy(contract, around, interactive=opening.interactive)
    head, rebuilt, head_notes = _head(contract, around, history, home)
    events = (*rebuilt, *_model_switch(contract, history))
    conversation, notes = _conversation(contract, head, history, events)
    return Opened(
        contract=contract,
        around=around,
        policy=policy,
        conversation=conversation,
        header=_header(history, opening, cwd, clock),
        clock=clock,
        environment=join_environment(environ, settings, contract.trust),
        home=str(home),
        events=events,
        diagnostics=(*contract.diagnostics, *around.diagnostics, *policy_notes, *head_notes, *notes),
    )


def build_agent(
    opened: Opened, *, transport: ModelTransport, watch: Watcher, asker: Asker
) -> tuple[Agent, JsonlSession]:
    """An agent on an opened session, and the store it writes to (close it)."""
    from compositor.adapters.tools.toolbox import ToolBox

    home = Path(opened.home)
    store = JsonlSession.open(home, opened.header)
    if opened.events:
        store.append(opened.events)
    box = ToolBox(is_visible=lambda path: may_be_shown(_resolved(path), opened.policy))
    outputs = private_folder(home, "outputs", opened.header.session_id)
    around = opened.around
    scope = ToolScope(
        cwd=around.cwd,
        roots=(around.cwd, *around.directories),
        output_dir=str(outputs),
        env=opened.environment.variables,
    )

    def current() -> ToolScope:
        return msgspec.structs.replace(scope, cwd=box.directory.at(scope))

    gatekeeper = Gatekeeper(
        tools=box,
        policy=msgspec.structs.replace(opened.policy, search_hides_denied=True),
        scope=current,
        resolve=os.path.realpath,
        asker=asker,
        watch=watch,
    )
    parts = Parts(
        transport=transport,
        store=store,
        clock=opened.clock,
        ids=UuidSource(),
        workshop=Workshop(tools=box, scope=lambda: scope, judge=gatekeeper.judge, watch=watch),
        watch=watch,
        chance=random.random,
        profile=opened.contract.profile.id,
        max_requests=opened.contract.max_turns,
    )
    return Agent(parts, opened.conversation), store


def _project(project: str) -> str:
    cwd = os.path.realpath(project)
    if not Path(cwd).is_dir():
        raise UsageError(f"the project directory {project!r} does not exist", hint="Give a directory with --project")
    return cwd


def _history(opening: Opening, home: Path, cwd: str) -> Transcript | None:
    if opening.transcript is not None:
        return read_transcript(Path(opening.transcript))
    if opening.resume is not None:
        return read_transcript(find_session(home, opening.resume, cwd=cwd))
    if not opening.continues:
        return None
    newest = latest_session(home, cwd=cwd)
    if newest is None:
        raise TranscriptError("there is no session here to go on with", where=cwd, hint="Start one without --continue")
    return read_transcript(find_session(home, newest.session_id, cwd=cwd))


def _flags(flags: Flags, history: Transcript | None) -> Flags:
    """A resumed session keeps its model unless another one is asked for."""
    sent = last_send(history.journal) if history is not None else None
    if sent is None or flags.model is not None:
        return flags
    return msgspec.structs.replace(flags, model=sent.record.options.model)


def _gather(contract: RunContract, places: SettingsPlaces, opening: Opening, clock: Clock) -> Surroundings:
    sources = opening.flags.setting_sources
    levels = SOURCES if sources is None else sources
    return gather(contract, places, opening.environ, clock, sources=tuple(level.value for level in levels))


def _head(
    contract: RunContract, around: Surroundings, history: Transcript | None, home: Path
) -> tuple[Head, tuple[PrefixEvent, ...], tuple[Diagnostic, ...]]:
    """The recorded head of a resumed session, or a new one. A head that is rebuilt although one was sent is a prefix event."""
    sent = replay_facts(history.journal).head_digest if history is not None else None
    if sent is None:
        return compile_head(plan_head(contract, around)), (), ()
    if contract.settings.compositor.resume_head == "replay":
        parts = HeadStore(home).get(sent)
        if parts is not None:
            return compile_head(parts), (), ()
        cause = f"the recorded head {sent[:12]} is not stored any more"
    else:
        cause = "the setting compositor.resumeHead asks for it"
    head = compile_head(plan_head(contract, around))
    if head.digest == sent:
        return head, (), ()
    note = Diagnostic("resume.head", f"The head was compiled anew: {cause}", step="resume")
    return head, (PrefixEvent(name=EventName.HEAD_REBUILD, cause=cause),), (note,)


def _model_switch(contract: RunContract, history: Transcript | None) -> tuple[PrefixEvent, ...]:
    sent = last_send(history.journal) if history is not None else None
    if sent is None or sent.record.options.model == contract.model:
        return ()
    cause = f"{sent.record.options.model} before, {contract.model} now"
    return (PrefixEvent(name=EventName.MODEL_SWITCH, cause=cause),)


def _conversation(
    contract: RunContract, head: Head, history: Transcript | None, events: tuple[PrefixEvent, ...]
) -> tuple[Conversation, tuple[Diagnostic, ...]]:
    wire = wire_context(contract.profile, contract.platform, api_version=contract.api_version, betas=contract.betas)
    options = request_options(contract)
    prefix = empty_prefix(head, request_facts(contract), wire, events)
    if history is None:
        return Conversation(prefix=prefix, options=options), ()
    sent = last_send(history.journal)
    if sent is not None and sent.record.options.model == options.model:
        # Latched at first send (R265): a lifetime or a beta that changed since then would cost the whole prefix.
        recorded = sent.record.options
        options = msgspec.structs.replace(options, ttl=recorded.ttl, betas=recorded.betas)
    path = active_path(history.entries)
    prefix = msgspec.structs.replace(extend(prefix, path.entries), leaf=path.tip)
    return Conversation(prefix=prefix, options=options), (*history.diagnostics, *path.diagnostics)


def _header(history: Transcript | None, opening: Opening, cwd: str, clock: Clock) -> SessionHeader:
    """A resumed session goes on in its own file; a foreign transcript is only read."""
    if history is not None and history.header is not None and opening.transcript is None:
        return history.header
    return SessionHeader(session_id=UuidSource().new(), time=clock.now(), cwd=cwd, program=f"compositor/{__version__}")


def _resolved(path: str) -> ResolvedPath:
    return ResolvedPath(path, os.path.realpath(path))
