"""Long conversations in small windows, by seeds: each goes on or stops with a sentence; never an illegal request, never a loop (laws 1 and 9, F25 to F28).

Ten histories for each example of a law: 10,000 in the full count.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from random import Random

import anyio
import msgspec
import pytest

from compositor.config.price import find_price
from compositor.context.compaction.budget import plan_budget
from compositor.context.compaction.ladder import Trigger
from compositor.context.prefix import Prefix, empty_prefix
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.rules import check_request
from compositor.loop.accounting import Account, Tariff
from compositor.loop.cleaning import Cleaning, plan_cleaning
from compositor.loop.session import Conversation, Stamp, answer_entry, compile_next, prompt_entry, record, results_entry
from compositor.ports import Renewal
from compositor.runtime.compacting import MAX_PASSES, Cleaned, Compacting
from compositor.runtime.compaction import Compactor, Wish
from compositor.runtime.events import AgentEvent, Compacted, CompactionFailed
from compositor.runtime.summaries import Asked
from compositor.types.blocks import ContentBlock, TextBlock, ToolUseBlock
from compositor.types.json import raw_json
from compositor.types.request import Compiled, HeadParts
from compositor.types.snapshot import EventName, Facts, PrefixEvent
from compositor.types.tools import OutcomeKind, ToolOutcome
from compositor.types.usage import Usage
from tests.properties.building import HEAD, OPTIONS, WIRE
from tests.properties.strategies import MODEL, TIME

HISTORIES = 10 * int(os.environ.get("COMPOSITOR_LAW_EXAMPLES") or 20)
PARTS = 10
SERVICE = ServiceProfile(max_output=128_000)


class Owners:
    """Files, plan and tasks that a seed decides; some of them fail."""

    cwd, transcript = "/project", "/state/session.jsonl"

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def forget_files(self) -> None: ...

    def saw(self, path: str) -> None: ...

    def may_read(self, path: str) -> bool:
        return not path.endswith("3")

    async def reread(self, path: str) -> str | None:
        if self._rng.random() < 0.1:
            raise OSError("gone")
        return None if self._rng.random() < 0.1 else f"{path}\n" * self._rng.randint(0, 900)

    def instructions(self) -> tuple[tuple[str, str], ...]:
        return (("/project/CLAUDE.md", "Be brief.\n"),)

    async def plan(self) -> tuple[str, str]:
        return ("/plans/a.md", "1. Do it.\n" * self._rng.randint(0, 40))

    async def tasks(self) -> tuple[str, ...]:
        return tuple(f"[ ] {number}: task" for number in range(self._rng.randint(0, 4)))

    async def settle_memory(self) -> None: ...

    def session_memory(self) -> str:
        return "# Task\nMend it.\n" if self._rng.random() < 0.1 else ""


class Heads:
    """The head stays as it is."""

    async def due(self, conversation_head: HeadParts) -> Renewal | None:
        return None

    async def reset(self, conversation_head: HeadParts, name: EventName) -> Renewal:
        return Renewal(parts=conversation_head, options=OPTIONS, event=PrefixEvent(name=name, cause="a test"))


class Service:
    """What stands for the model: it counts bytes by four, and its summaries are long, empty, refused or lost."""

    def __init__(self, rng: Random, window: int) -> None:
        self._rng = rng
        self.window = window
        self.account = Account(tariff=Tariff(minimum=None, price=None))

    def cached(self) -> int:
        return 0

    def cleaning(self, prefix: Prefix, keep: int) -> Cleaning:
        return plan_cleaning(self.account, prefix, now=0.0, keep=keep)

    async def ask_aside(self, conversation: Conversation) -> Asked:
        compiled = compile_next(conversation)
        judge(compiled)
        if compiled.size // 4 > self.window:
            return Asked(problem="prompt is too long", too_long=True)
        kind = self._rng.random()
        if kind < 0.1:
            return Asked(problem="overloaded")
        if kind < 0.2:
            return Asked(text="")
        return Asked(text="<summary>" + "what was said. " * self._rng.randint(1, 600) + "</summary>")


def judge(compiled: Compiled) -> None:
    refusal = check_request(msgspec.json.decode(compiled.body), dict(compiled.headers), SERVICE)
    assert refusal is None, refusal


class Play:
    """One history under its seed."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = Random(seed)
        window = rng.choice((6_000, 12_000, 30_000))
        self.events: list[AgentEvent] = []
        self.numbers = itertools.count()
        self.cleaned = 0
        # Our own belief about the window may be wrong in both directions.
        believed = int(window * rng.choice((0.7, 1.0, 1.5)))
        budget = plan_budget(believed, rng.choice((500, 8_000)))
        compactor = Compactor(Owners(rng), Heads(), budget, self.events.append, price=find_price(MODEL))
        self.compacting = Compacting(compactor, self.events.append)
        self.service = Service(rng, window)
        facts = Facts(model=MODEL, binds_thinking=rng.random() < 0.3)
        self.conversation = Conversation(prefix=empty_prefix(HEAD, facts, WIRE), options=OPTIONS)

    def stamp(self) -> Stamp:
        return Stamp(f"e{next(self.numbers)}", TIME)

    async def turn(self) -> None:
        self.compacting.begin_turn()
        said = "please " * self.rng.choice((1, 5, 200, 6_000))
        self.take(prompt_entry(said, stamp=self.stamp(), parent=self.conversation.leaf))
        steps = self.rng.randint(1, 5)
        for step in range(steps):
            if not await self.request(last=step == steps - 1):
                return

    async def request(self, *, last: bool) -> bool:
        """Whether the turn goes on."""
        await self.compact(Trigger.AUTO)
        for _ in range(MAX_PASSES + 1):
            compiled = compile_next(self.conversation)
            judge(compiled)
            if compiled.size // 4 <= self.service.window:
                return self.answer(compiled, last=last)
            told = len(self.of(CompactionFailed))
            if not await self.compact(Trigger.OVERFLOW):
                assert len(self.of(CompactionFailed)) > told, "it stopped without a sentence"
                return False
        raise AssertionError("it went on for ever")

    async def compact(self, trigger: Trigger) -> bool:
        before = self.conversation.prefix.leaf
        done = await self.compacting.consider(self.conversation, Wish(trigger=trigger), self.service, self.stamp)
        if done is None:
            assert self.conversation.prefix.leaf == before
            return False
        if isinstance(done, Cleaned):
            assert done.events
            self.conversation = done.conversation
            self.cleaned += 1
            return True
        assert done.records[0].parent == before
        self.conversation = done.conversation
        await self.compacting.end(done.report)
        return True

    def answer(self, compiled: Compiled, *, last: bool) -> bool:
        calls = () if last else tuple(f"toolu_{next(self.numbers)}" for _ in range(self.rng.randint(1, 3)))
        uses = (ToolUseBlock(call, "Read", raw_json({"file_path": f"/f{call[-1]}"})) for call in calls)
        content: tuple[ContentBlock, ...] = (TextBlock("I look."), *uses)
        self.take(
            answer_entry(
                stamp=self.stamp(),
                parent=self.conversation.leaf,
                message_id=f"msg_{next(self.numbers)}",
                model=MODEL,
                content=content,
                stop_reason="tool_use" if calls else "end_turn",
                usage=Usage(input_tokens=compiled.size // 4, output_tokens=20),
                prefix_digest=compiled.view_digest,
            )
        )
        if not calls:
            return False
        outcomes = [
            ToolOutcome(
                call_id=call, kind=OutcomeKind.DONE, content="data " * self.rng.choice((1, 400, 9_000)), display=""
            )
            for call in calls
        ]
        self.take(results_entry(outcomes, stamp=self.stamp(), parent=self.conversation.leaf))
        return True

    def take(self, *entries: object) -> None:
        self.conversation = record(self.conversation, entries)  # type: ignore[arg-type]

    def of(self, kind: type) -> list[AgentEvent]:
        return [event for event in self.events if isinstance(event, kind)]


async def play(seed: int) -> Play:
    given = Play(seed)
    for _ in range(given.rng.randint(1, 6)):
        before = len(given.of(Compacted))
        await given.turn()
        assert len(given.of(Compacted)) - before <= MAX_PASSES, f"seed {seed}"
    return given


def seeds(part: int) -> Iterator[int]:
    return iter(range(part, HISTORIES, PARTS))


@pytest.mark.req("R308", "R309", "R314")
@pytest.mark.parametrize("part", range(PARTS))
def test_each_history_goes_on_or_stops_with_a_sentence(part: int) -> None:
    compacted = 0
    for seed in seeds(part):
        compacted += len(anyio.run(play, seed).of(Compacted))
    assert compacted > len(range(part, HISTORIES, PARTS)) // 4
