"""Sources of notes side by side: order, deadline, failures, times (R201 to R207, R387, R401)."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

from compositor.runtime.collect import Collection, Source
from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment
from compositor.types.gathering import FactState

pytestmark = pytest.mark.anyio

NOW = Moment(prompt="go")


class Telling:
    """Tells its name after so many seconds; `stubborn` ones do not hear the signal for a while."""

    def __init__(self, name: str, seconds: float = 0.0, *, stubborn: float = 0.0, fails: bool = False) -> None:
        self.name, self.seconds, self.stubborn, self.fails = name, seconds, stubborn, fails
        self.asked = self.taken = 0
        self.ended = anyio.Event()

    async def collect(self, _moment: Moment) -> Collected:
        self.asked += 1
        await anyio.sleep(self.seconds)
        if self.stubborn:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(self.stubborn)
                self.ended.set()
        if self.fails:
            raise RuntimeError(self.name)
        return Collected(attachments=(TextAttachment(kind="note", text=self.name),), taken=self.take)

    def take(self) -> None:
        self.taken += 1


def sources(*telling: Telling, matters: str = "") -> tuple[Source, ...]:
    return tuple(Source(name=one.name, collector=one, matters=matters) for one in telling)


Spawn = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture
async def spawn() -> AsyncIterator[Spawn]:
    async with anyio.create_task_group() as tasks:

        def start(work: Callable[[], Awaitable[None]]) -> None:
            async def run() -> None:
                await work()

            tasks.start_soon(run)

        yield start
        tasks.cancel_scope.cancel()


@pytest.mark.req("R205")
async def test_a_hundred_schedules_give_the_same_notes(spawn: Spawn) -> None:
    rng = random.Random(7)
    told = set()
    for _ in range(100):
        telling = [Telling(f"s{at}", rng.choice((0.0, 0.001, 0.003))) for at in range(8)]
        found = await Collection(sources(*telling), spawn).collect(NOW)
        told.add(tuple(note.text for note in found.attachments if isinstance(note, TextAttachment)))
    assert told == {tuple(f"s{at}" for at in range(8))}


@pytest.mark.req("R201", "R387")
async def test_a_slow_source_yields_nothing_and_the_others_arrive(spawn: Spawn) -> None:
    slow, quick = Telling("slow", 60), Telling("quick")
    began = anyio.current_time()
    found = await Collection(sources(slow, quick), spawn, deadline=0.05).collect(NOW)
    assert anyio.current_time() - began < 1
    assert [note.text for note in found.attachments if isinstance(note, TextAttachment)] == ["quick"]
    assert [(one.name, one.state) for one in found.gathered] == [("slow", FactState.LATE), ("quick", FactState.FRESH)]
    assert [note.code for note in found.diagnostics] == ["collect.late"]
    assert (slow.taken, quick.taken) == (0, 1)


@pytest.mark.req("R202")
async def test_a_source_that_ignores_the_signal_delays_nobody_and_loses_nothing(spawn: Spawn) -> None:
    stubborn = Telling("stubborn", stubborn=0.4)
    collection = Collection(sources(stubborn, Telling("other")), spawn, deadline=0.05)
    began = anyio.current_time()
    first = await collection.collect(NOW)
    second = await collection.collect(NOW)
    assert anyio.current_time() - began < 0.35
    assert [[one.state.value for one in found.gathered] for found in (first, second)] == [["late", "fresh"]] * 2
    assert (stubborn.asked, stubborn.taken) == (1, 0), "it is not asked again while it works"
    await stubborn.ended.wait()
    await anyio.wait_all_tasks_blocked()
    stubborn.stubborn = 0.0
    third = await collection.collect(NOW)
    assert [one.state.value for one in third.gathered] == ["fresh", "fresh"]
    assert stubborn.taken == 1


@pytest.mark.req("R203", "R387")
@pytest.mark.parametrize("beside", [True, False])
async def test_one_of_twenty_that_raises_costs_its_own_notes(spawn: Spawn, beside: bool) -> None:
    telling = [Telling(f"s{at}", fails=at == 7) for at in range(20)]
    found = await Collection(sources(*telling), spawn if beside else None).collect(NOW)
    assert [note.text for note in found.attachments if isinstance(note, TextAttachment)] == [
        f"s{at}" for at in range(20) if at != 7
    ]
    (remark,) = found.diagnostics
    assert (remark.code, "RuntimeError: s7" in remark.message) == ("collect.failed", True)


@pytest.mark.req("R206", "R207", "R401")
async def test_the_waiting_times_add_up_to_the_whole(spawn: Spawn) -> None:
    telling = [Telling("a", 0.03), Telling("b", 0.01), Telling("c", 9)]
    began = anyio.current_time()
    found = await Collection(sources(*telling), spawn, deadline=0.06).collect(NOW)
    whole = anyio.current_time() - began
    assert 0.06 <= found.seconds <= whole, "the parts are the whole of the wait"
    waited = {one.name: one.waited for one in found.gathered}
    assert found.seconds == sum(waited.values())
    assert waited["b"] >= 0.009
    assert min(waited.values()) >= 0
    assert {one.name: one.size > 0 for one in found.gathered} == {"a": True, "b": True, "c": False}


async def test_what_matters_and_is_missing_is_told_once_until_it_came_back(spawn: Spawn) -> None:
    source = Telling("files", fails=True)
    collection = Collection(sources(source, matters="Changed files are not known"), spawn)

    async def told() -> list[str]:
        found = await collection.collect(NOW)
        return [note.text for note in found.attachments if isinstance(note, TextAttachment)]

    missing = ["Changed files are not known (failed: RuntimeError: files)."]
    assert await told() == missing
    assert await told() == []
    source.fails = False
    assert await told() == ["files"]
    source.fails = True
    assert await told() == missing
