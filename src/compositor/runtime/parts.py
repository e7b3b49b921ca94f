"""What an agent is put together from.

Decides which parts there are; `wiring.build_agent` chooses them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from compositor.loop.answer_form import AnswerForm
from compositor.ports import Clock, HeadPlanner, Ids, Modes, SessionStore
from compositor.runtime.collect import Collection
from compositor.runtime.compacting import Compacting
from compositor.runtime.driver import Workshop
from compositor.runtime.events import Watcher
from compositor.runtime.hooks import Hooks
from compositor.runtime.line import ModelLine
from compositor.runtime.memory_keeper import MemoryKeeper
from compositor.runtime.offering import Offering
from compositor.runtime.skills import Skills
from compositor.runtime.workforce import Workforce


class Parts(Struct, frozen=True, kw_only=True):
    """What an agent is put together from; `wiring.build_agent` is the one place that does it.

    `typed` gives what a person typed since the last request and wants to go with the next one.
    """

    line: ModelLine
    store: SessionStore
    clock: Clock
    ids: Ids
    workshop: Workshop
    watch: Watcher
    collection: Collection | None = None
    offering: Offering | None = None
    hooks: Hooks | None = None
    compacting: Compacting | None = None
    heads: HeadPlanner | None = None
    keeper: MemoryKeeper | None = None
    skills: Skills | None = None
    workforce: Workforce | None = None
    closing: tuple[Callable[[], None], ...] = ()
    max_requests: int | None = None
    output_limit: int = 0
    fallbacks: tuple[str, ...] = ()
    form: AnswerForm | None = None
    modes: Modes | None = None
    typed: Callable[[], tuple[str, ...]] = tuple
