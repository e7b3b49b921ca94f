"""What an agent stands on: store, line, file history, opened parts, and the agents that work for it; called by `wiring`.

Decides which of them a session has of its own and which an agent borrows from the session that it works for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from compositor.adapters.checkpoints import FileHistory
from compositor.adapters.enforcement import Enforcement
from compositor.adapters.services import Services
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.tools.session_tools import SessionTools
from compositor.branching import Branch, Hiring, make_workforce
from compositor.context.messages.human import last_prompt
from compositor.guarding import Guard
from compositor.lining import line_parts
from compositor.opened import Opened
from compositor.ports import Interviewer, ModelTransport
from compositor.runtime.agent import Agent
from compositor.runtime.events import NotesCollected, Watcher
from compositor.runtime.line import LineParts
from compositor.runtime.skills import Skills
from compositor.runtime.workforce import Workforce


class Footing(Struct, frozen=True, kw_only=True):
    """What an agent stands on: that of a session of its own, or for a branch what the session lends that it works for.

    `edges` are opened already for a branch, and `agent` is its type; `level` counts the agents above.
    """

    store: JsonlSession
    line: LineParts
    history: FileHistory
    edges: Enforcement | None = None
    level: int = 0
    agent: str = ""

    def serve(self, agent: Agent, workforce: Workforce) -> None:
        """Let agents report to this one. Files are kept for the prompt of the session; what an agent changes belongs to the turn it works in."""
        workforce.serve(agent)
        if self.edges is None:
            self.history.follow(lambda: last_prompt(agent.conversation.prefix.entries))


def stand(
    opened: Opened,
    transport: ModelTransport,
    watch: Watcher,
    interviewer: Interviewer | None,
    branch: Branch | None,
) -> Footing:
    """What an agent stands on; with `branch` what that lends."""
    store = _store(opened, branch)
    if branch is None:
        line = line_parts(opened, store, transport, watch, interviewer)
        return Footing(store=store, line=line, history=_file_history(opened, watch))
    line = branch.line_to(store)
    return Footing(
        store=store, line=line, history=branch.history, edges=branch.edges, level=branch.level, agent=branch.kind
    )


def employ(
    opened: Opened,
    tools: SessionTools,
    guard: Guard,
    footing: Footing,
    *,
    skills: Skills | None,
    services: Services | None,
    watch: Watcher,
    hire: Callable[[Branch], tuple[Agent, JsonlSession]],
) -> Workforce:
    """The agents of a session; skills that fork are done by them."""
    hiring = Hiring(
        opened=opened,
        hire=hire,
        scope=guard.workshop.scope,
        modes=tools.mode,
        line=footing.line,
        edges=guard.edges,
        history=footing.history,
        watch=watch,
        level=footing.level,
        spawn=None if services is None else services.spawn,
    )
    workforce = make_workforce(hiring, tools)
    if skills is not None:
        skills.delegate(workforce)
    return workforce


def record_nothing() -> None:
    """An agent records nothing by itself: its session does."""


def _store(opened: Opened, branch: Branch | None) -> JsonlSession:
    """The session's file, with what opening it brought about."""
    durable = opened.contract.settings.compositor.durable_sessions
    folder = None if branch is None else Path(branch.folder)
    store = JsonlSession.open(Path(opened.home), opened.header, durable=durable, folder=folder)
    store.append((*opened.copied, *opened.events, *opened.news))
    return store


def _file_history(opened: Opened, watch: Watcher) -> FileHistory:
    """What files hold before they are changed."""
    wanted = opened.contract.settings.file_checkpointing_enabled
    history = FileHistory(Path(opened.home), opened.header.session_id, opened.clock, is_kept=wanted)
    history.tell = lambda note: watch(NotesCollected((), (note,)))
    return history
