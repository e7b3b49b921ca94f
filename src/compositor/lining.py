"""The line of a session to its model, and those that use it beside the conversation.

Decides what stands before each request, and which line a request aside takes. Decides nothing about context or permission.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compositor.adapters.ids import UuidSource
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.loop.moves import PrefixPolicy
from compositor.opened import Opened
from compositor.ports import Interviewer, ModelTransport, WebSearcher

if TYPE_CHECKING:
    from compositor.adapters.services import Services
    from compositor.guarding import Guard
    from compositor.runtime.events import Watcher
    from compositor.runtime.line import LineParts, ModelLine
    from compositor.runtime.memory_keeper import MemoryKeeper


def line_parts(
    opened: Opened, store: JsonlSession, transport: ModelTransport, watch: Watcher, interviewer: Interviewer | None
) -> LineParts:
    """The line to the model, with what stands before each request: a prefix that was paid for, and the budgets."""
    from compositor.adapters.spending import DaySpending, spent_before
    from compositor.runtime.budget_gate import make_budget
    from compositor.runtime.line import LineParts
    from compositor.runtime.prefix_gate import PrefixGate

    own = opened.contract.settings.compositor
    day = DaySpending(Path(opened.home), opened.clock)
    return LineParts(
        transport=transport,
        store=store,
        clock=opened.clock,
        ids=UuidSource(),
        watch=watch,
        chance=random.random,
        profile=opened.contract.profile.id,
        gate=PrefixGate(PrefixPolicy(own.cache.prefix), interviewer),
        budget=make_budget(
            own,
            day,
            lambda: spent_before(store.path, own.prices),
            interviewer,
            run_dollars=opened.flags.max_budget,
        ),
        keep_results=own.cache.kept_when_expired,
    )


def web_searcher(opened: Opened, line: LineParts) -> WebSearcher:
    """Asks the service outside the conversation: what it costs counts against the budgets, and nothing that was sent moves."""
    from compositor.loop.accounting import open_account
    from compositor.loop.session import Stamp
    from compositor.runtime.line import ModelLine
    from compositor.runtime.web_search import ServiceWebSearcher

    aside = msgspec.structs.replace(line, watch=lambda _event: None, gate=None, keep_results=None, purpose="web search")
    return ServiceWebSearcher(
        ModelLine(aside, open_account(opened.account.tariff, ())),
        opened.conversation.options,
        opened.conversation.prefix.wire,
        stamp=lambda: Stamp(line.ids.new(), line.clock.now()),
    )


def memory_keeper(
    opened: Opened, line: ModelLine, guard: Guard, services: Services | None, watch: Watcher
) -> MemoryKeeper | None:
    """Keeps the session's memory where the settings ask for it and something can run beside the session."""
    if services is None or not opened.contract.settings.compositor.session_memory:
        return None
    from compositor.adapters.session_memory import SessionMemoryFile
    from compositor.loop.session import Stamp
    from compositor.runtime.memory_keeper import Keeping, MemoryKeeper

    ids, clock = UuidSource(), opened.clock
    return MemoryKeeper(
        Keeping(
            line=line,
            file=SessionMemoryFile(Path(opened.home), opened.header.session_id),
            spawn=services.spawn,
            stamp=lambda: Stamp(ids.new(), clock.now()),
            watch=watch,
            note=guard.note,
        )
    )
