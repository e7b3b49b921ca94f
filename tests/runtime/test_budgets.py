"""Budgets of a running session: before each request, for a turn, a session and a day; they stop or ask, and are never a repository's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from compositor.adapters.clock import FixedClock
from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.adapters.spending import DaySpending
from compositor.config.budget import SpanBudget
from compositor.config.flags import Flags
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.loop.budget import Span, Spent, find_excess, spent_by
from compositor.loop.effects import EndReason
from compositor.opened import Opening, open_session
from compositor.ports import Permission, Question
from compositor.runtime.events import TurnResult
from compositor.types.usage import Usage
from compositor.wiring import build_agent

pytestmark = pytest.mark.anyio
READS = "turns:\n" + "  - {do: [{read: a.txt}]}\n" * 8 + "  - {say: done}\n"


class Person:
    def __init__(self, *words: str) -> None:
        self.words = list(words)
        self.asked: list[str] = []

    async def ask(self, permission: Permission) -> bool:
        return True

    async def answer(self, question: Question) -> str | None:
        self.asked.append(question.text)
        return self.words.pop(0) if self.words else None


class Machine:
    """One home and one project; `run` is a turn of a new session, or of the one before with `again`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.project.mkdir()
        (self.project / "a.txt").write_text("word " * 200)
        self.session: str | None = None
        self.sent = 0

    async def run(self, budget: Any, person: Person | None = None, *, again: bool = False, **flags: Any) -> TurnResult:
        settings = msgspec.json.encode({"compositor": {"budget": budget}}).decode()
        environ = {"HOME": str(self.root), "COMPOSITOR_HOME": str(self.root / "state"), "PATH": "/usr/bin:/bin"}
        environ["COMPOSITOR_NOW"] = "2026-03-01T00:00:00Z"
        opening = Opening(
            flags=Flags(settings=settings, **flags),
            project=str(self.project),
            environ=environ,
            resume=self.session if again else None,
        )
        opened = open_session(opening)
        self.session = opened.header.session_id
        emulator = Emulator(parse_script(READS))
        endpoint = Endpoint(url="http://emulator.invalid/v1/messages")
        async with AnthropicTransport(endpoint, transport=EmulatorTransport(emulator)) as transport:
            agent, store = build_agent(
                opened,
                transport=transport,
                watch=lambda _event: None,
                asker=person or Person(),
                interviewer=person,
            )
            with store:
                result = await agent.submit("read")
        self.sent = len(emulator.requests)
        return result


async def test_without_a_limit_nothing_stops(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    result = await machine.run({})
    assert (result.reason, machine.sent) == (EndReason.COMPLETED, 9)
    assert not (tmp_path / "state" / "spending").exists()


@pytest.mark.parametrize("unit", [{"tokens": 15_000}, {"dollars": 0.0001}])
@pytest.mark.parametrize("span", ["turn", "session", "day"])
async def test_the_limit_stands_before_the_next_request(tmp_path: Path, span: str, unit: dict[str, Any]) -> None:
    machine = Machine(tmp_path)
    result = await machine.run({span: unit})
    assert result.reason is EndReason.BUDGET
    assert 0 < machine.sent < 9
    assert f"the {span} has " in result.detail
    assert result.detail.endswith("the setting compositor.budget stops there")


async def test_a_session_goes_on_counting_when_it_is_resumed(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.run({"session": {"tokens": 15_000}})
    result = await machine.run({"session": {"tokens": 15_000}}, again=True)
    assert (result.reason, machine.sent) == (EndReason.BUDGET, 0)
    result = await machine.run({"session": {"tokens": 15_000}})
    assert machine.sent > 0


async def test_a_day_counts_all_sessions_and_the_next_day_begins_anew(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.run({"day": {"tokens": 15_000}})
    await machine.run({"day": {"tokens": 15_000}})
    assert machine.sent == 0
    (file,) = (tmp_path / "state" / "spending").iterdir()
    assert file.name == "2026-03-01.jsonl"
    assert file.stat().st_mode & 0o077 == 0


async def test_asking_gives_the_same_amount_once_more(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    person = Person("Go on", "Stop")
    result = await machine.run({"turn": {"tokens": 15_000}, "action": "ask"}, person)
    assert result.reason is EndReason.BUDGET
    assert ["15,000" in person.asked[0], "30,000" in person.asked[1]] == [True, True]
    assert len(person.asked) == 2


async def test_where_nobody_can_be_asked_it_stops(tmp_path: Path) -> None:
    result = await Machine(tmp_path).run({"turn": {"tokens": 15_000}, "action": "ask"})
    assert result.reason is EndReason.BUDGET
    assert "nobody can be asked" in result.detail


async def test_a_repository_cannot_set_or_raise_a_budget(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (machine.project / ".claude").mkdir()
    settings = '{"compositor": {"budget": {"turn": {"tokens": 900000000}}}}'
    (machine.project / ".claude" / "settings.json").write_text(settings)
    result = await machine.run({"turn": {"tokens": 15_000}})
    assert result.reason is EndReason.BUDGET


def test_a_limit_in_dollars_without_a_price_counts_as_reached() -> None:
    limits = {Span.TURN: SpanBudget(dollars=1.0)}
    found = find_excess(limits, {}, has_price=False, allowed={})
    assert found is not None
    assert "no price is known" in found.text
    assert find_excess({Span.TURN: SpanBudget(tokens=1)}, {}, has_price=False, allowed={}) is None


def test_tokens_of_an_answer_without_a_price_still_count() -> None:
    usage = Usage(input_tokens=5, output_tokens=7, cache_read_input_tokens=11, cache_creation_input_tokens=13)
    assert spent_by(usage, None) == Spent(tokens=36, unpriced=1)


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    clock = FixedClock(datetime(2026, 3, 1, tzinfo=UTC))
    one, two = DaySpending(tmp_path, clock), DaySpending(tmp_path, clock)
    one.add(Spent(tokens=5))
    with (tmp_path / "spending" / "2026-03-01.jsonl").open("ab") as file:
        file.write(b'{"tok\n')
    two.add(Spent(tokens=6, dollars=0.5))
    assert one.today() == two.today() == Spent(tokens=11, dollars=0.5)
    two.add(Spent(tokens=1))
    assert one.today().tokens == 12


async def test_a_replay_of_our_own_session_names_the_move_that_broke_its_cache(tmp_path: Path) -> None:
    from compositor.adapters.replay.reading import replay_file
    from compositor.insight.replay.breaks import find_breaks

    machine = Machine(tmp_path)
    await machine.run({}, model="claude-sonnet-4-6")
    await machine.run({}, again=True, model="claude-opus-4-8")
    (path,) = (tmp_path / "state" / "sessions").rglob(f"{machine.session}.jsonl")
    session = replay_file(path)
    assert session is not None
    assert (session.format, session.session_id, len(session.requests)) == ("own", machine.session, 18)
    (found,) = find_breaks(session.requests)
    assert (found.request, found.cause.value) == (9, "model_switch")
    assert found.lost > 4_000
