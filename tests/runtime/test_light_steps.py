"""The steps of the ladder that need no summary: the service's own edits, and cleaning once the cache is cold (R276 to R278, R282)."""

from __future__ import annotations

import itertools

import msgspec.structs
import pytest

from compositor.context.compaction.budget import next_size, plan_budget
from compositor.context.compaction.ladder import Step, Trigger
from compositor.context.prefix import empty_prefix
from compositor.loop.accounting import Account, Paid, Tariff
from compositor.loop.cleaning import Cleaning, plan_cleaning
from compositor.loop.session import Conversation, Stamp, compile_next, record
from compositor.runtime.compacting import Cleaned, Compacting
from compositor.runtime.compaction import Compaction, Compactor, Wish
from compositor.runtime.events import AgentEvent, CompactionStep
from compositor.runtime.summaries import Asked
from compositor.types.json import raw_json
from compositor.types.request import Ttl
from compositor.types.snapshot import EventName, Facts
from tests.context.compaction.test_cut import asks, gives, prompt
from tests.properties.building import HEAD, OPTIONS, WIRE
from tests.properties.strategies import MODEL
from tests.properties.test_law_compaction import Heads, Owners, Random

pytestmark = pytest.mark.anyio

NOW = 10_000.0
EDITS = raw_json({"edits": [{"type": "clear_tool_uses_20250919"}]})


class Line:
    """What was paid `age` seconds ago."""

    def __init__(self, age: float) -> None:
        paid = Paid(tokens=20_000, at=NOW - age, ttl=Ttl.SHORT)
        self.account = Account(tariff=Tariff(minimum=None, price=None), paid=paid)

    def cached(self) -> int:
        return 0

    def cleaning(self, prefix: object, keep: int) -> Cleaning:
        return plan_cleaning(self.account, prefix, now=NOW, keep=keep)  # type: ignore[arg-type]

    async def ask_aside(self, _conversation: Conversation) -> Asked:
        return Asked(text="<summary>short</summary>")


def long_conversation(**options: object) -> Conversation:
    entries = [prompt("u")]
    for number in range(8):
        entries += [asks(f"a{number}", f"t{number}"), gives(f"r{number}", f"t{number}", text="data " * 4_000)]  # type: ignore[list-item]
    prefix = empty_prefix(HEAD, Facts(model=MODEL), WIRE)
    given = Conversation(prefix=prefix, options=msgspec.structs.replace(OPTIONS, **options))
    return record(given, entries)


async def considered(conversation: Conversation, line: Line) -> tuple[Compaction | Cleaned | None, list[AgentEvent]]:
    events: list[AgentEvent] = []
    numbers = itertools.count()
    compactor = Compactor(Owners(Random(1)), Heads(), plan_budget(30_000, 8_000), events.append)
    compacting = Compacting(compactor, events.append)
    stamp = lambda: Stamp(f"n{next(numbers)}", "2026-01-01T00:00:00.000Z")  # noqa: E731
    return await compacting.consider(conversation, Wish(trigger=Trigger.AUTO), line, stamp), events  # type: ignore[arg-type]


@pytest.mark.req("R278", "R282")
async def test_old_results_go_first_once_the_cache_is_cold() -> None:
    conversation = long_conversation()
    done, events = await considered(conversation, Line(age=400))
    assert isinstance(done, Cleaned)
    assert next_size(done.conversation.prefix) < next_size(conversation.prefix) * 6 // 10
    assert [event.name for event in done.events] == [EventName.COLD_CLEAN]
    (step,) = [event for event in events if isinstance(event, CompactionStep)]
    assert step.step is Step.COLD_CLEAN
    compile_next(done.conversation)


@pytest.mark.req("R276")
async def test_a_warm_cache_is_not_given_up_for_a_cleaning() -> None:
    done, _ = await considered(long_conversation(), Line(age=10))
    assert isinstance(done, Compaction)
    assert done.ladder.chosen is Step.SUMMARY


@pytest.mark.req("R272", "R282")
async def test_where_the_service_clears_itself_nothing_is_done_here() -> None:
    done, events = await considered(long_conversation(context_management=EDITS), Line(age=10))
    assert (done, events) == (None, [])
