"""A running session and the prefix it paid for: what is shown, asked and refused, what is mended, cleaned, and what the service says."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.adapters.sessions.reading import read_transcript
from compositor.config.flags import Flags
from compositor.context.messages.cleared import STAND_IN
from compositor.context.prefix import empty_prefix, extend
from compositor.context.view import view_bytes
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.loop.effects import EndReason
from compositor.opened import Opening, open_session
from compositor.ports import Permission, Question
from compositor.runtime.agent import Agent
from compositor.runtime.events import (
    AgentEvent,
    AnswerEnded,
    CacheExpired,
    PrefixKept,
    PrefixMoves,
    RequestStarted,
    TurnResult,
)
from compositor.types.request import Ttl
from compositor.types.snapshot import EventName
from compositor.wiring import build_agent

pytestmark = pytest.mark.anyio

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
SAYS = "turns:\n" + "".join(f"  - {{say: answer {number}}}\n" for number in range(9))
READS = (
    "turns:\n"
    + "".join(f"  - {{do: [{{read: b{number}.txt}}]}}\n" for number in range(8))
    + "  - {say: done}\n  - {say: more}\n"
)


class Person:
    """Says yes to tools, and one word to every question."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[str] = []

    async def ask(self, permission: Permission) -> bool:
        return True

    async def answer(self, question: Question) -> str | None:
        self.asked.append(question.text)
        return self.word


class Session:
    """Turns of one session; every turn opens it anew at a time of its own."""

    def __init__(self, root: Path, script: str = SAYS) -> None:
        self.project = root / "project"
        self.project.mkdir()
        for number in range(8):
            (self.project / f"b{number}.txt").write_text("word " * 1_000)
        self.root = root
        self.emulator = Emulator(parse_script(script))
        self.events: list[AgentEvent] = []
        self.session: str | None = None
        self.now = BEGIN
        self.settings: dict[str, Any] = {}

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.emulator.advance(seconds)

    async def turn(
        self, person: Person | None = None, spoil: Callable[[Agent], None] | None = None, prompts: int = 1, **flags: Any
    ) -> TurnResult:
        environ = {
            "HOME": str(self.root),
            "COMPOSITOR_HOME": str(self.root / "state"),
            "PATH": "/usr/bin:/bin",
            "COMPOSITOR_NOW": self.now.isoformat(),
        }
        settings = msgspec.json.encode({"compositor": {"cache": self.settings}}).decode()
        opened = open_session(
            Opening(
                flags=Flags(settings=settings, **flags), project=str(self.project), environ=environ, resume=self.session
            )
        )
        self.session = opened.header.session_id
        line = AnthropicTransport(
            Endpoint(url="http://emulator.invalid/v1/messages"), transport=EmulatorTransport(self.emulator)
        )
        async with line as transport:
            agent, store = build_agent(
                opened, transport=transport, watch=self.events.append, asker=person or Person(""), interviewer=person
            )
            with store:
                self.path = Path(store.path)
                for number in range(prompts):
                    result = await agent.submit(f"go {number}")
                    if spoil is not None:
                        spoil(agent)
                return result

    def seen(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def move_prefix(agent: Agent) -> None:
    """What no part of the program may do: the conversation is folded anew without its first entry, and nobody says so."""
    conversation = agent.conversation
    prefix = conversation.prefix
    first, *rest = prefix.entries
    changed = msgspec.structs.replace(first, content=(msgspec.structs.replace(first.content[0], text="spoiled"),))  # type: ignore[union-attr]
    spoiled = extend(empty_prefix(prefix.head, prefix.facts, prefix.wire), [changed, *rest])
    agent._desk.conversation = msgspec.structs.replace(conversation, prefix=spoiled)


def change_options(agent: Agent) -> None:
    """What no part of the program may do: other markers and headers in the middle of a session."""
    conversation = agent.conversation
    options = msgspec.structs.replace(conversation.options, ttl=Ttl.LONG, betas=("new",))
    agent._desk.conversation = msgspec.structs.replace(conversation, options=options)


@pytest.mark.req("R260", "R283")
async def test_another_model_is_priced_and_sent_when_the_settings_only_warn(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.turn()
    result = await session.turn(model="claude-opus-5")
    assert result.reason is EndReason.COMPLETED
    (moved,) = session.seen(PrefixMoves)
    assert moved.move.events[0].name is EventName.MODEL_SWITCH
    assert moved.move.lost > 4_000
    assert moved.move.dollars > 0
    assert not moved.refused
    kinds = [type(event) for event in session.events if isinstance(event, PrefixMoves | RequestStarted)]
    assert kinds == [RequestStarted, PrefixMoves, RequestStarted]


@pytest.mark.parametrize(
    ("policy", "word", "sent", "asks"),
    [("refuse", "Send", False, 0), ("ask", "Send", True, 1), ("ask", "Stop", False, 1), ("ask", None, False, 0)],
)
async def test_the_setting_decides_whether_a_paid_prefix_is_given_up(
    tmp_path: Path, policy: str, word: str | None, sent: bool, asks: int
) -> None:
    session = Session(tmp_path)
    await session.turn()
    session.settings = {"prefix": policy}
    person = Person(word) if word is not None else None
    result = await session.turn(person, model="claude-opus-5")
    assert len(session.emulator.requests) == 1 + sent
    assert (result.reason is EndReason.COMPLETED) is sent
    assert len(person.asked if person is not None else []) == asks
    if not sent:
        assert result.reason is EndReason.CACHE_REFUSED
        assert "tokens are not read from the cache any more ($0." in result.detail


async def test_what_has_expired_is_nobodys_loss(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.turn()
    session.settings = {"prefix": "refuse"}
    session.pass_time(301)
    assert (await session.turn(model="claude-opus-5")).reason is EndReason.COMPLETED
    assert session.seen(PrefixMoves) == []


@pytest.mark.req("R259", "R270")
async def test_a_prefix_that_moved_without_an_event_is_sent_as_it_was(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.turn(spoil=move_prefix, prompts=2)
    (kept,) = session.seen(PrefixKept)
    assert "no event says why" in kept.fault
    first, second = (view_bytes(event.compiled) for event in session.seen(RequestStarted))
    assert second.startswith(first)
    assert b"spoiled" not in second
    assert b"go 1" in second
    assert session.seen(AnswerEnded)[-1].message.usage.read > 4_000


@pytest.mark.req("R263", "R265")
async def test_a_lifetime_and_betas_that_change_while_the_session_runs_are_sent_as_before(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.turn(spoil=change_options, prompts=2)
    (kept,) = session.seen(PrefixKept)
    assert kept.fault.startswith("ttl, betas changed while the session runs")
    first, second = (event.compiled.options for event in session.seen(RequestStarted))
    assert (second.ttl, second.betas) == (first.ttl, first.betas)


@pytest.mark.req("R094", "R284")
async def test_after_a_pause_the_cost_is_told_before_the_request(tmp_path: Path) -> None:
    session = Session(tmp_path)
    for _ in range(3):
        await session.turn()
        session.pass_time(600)
    first, second = session.seen(CacheExpired)
    assert "600 s passed and entries live 300 s" in first.text
    assert "with pauses like these markers of 1h would cost" in second.text
    records = [send.ended for send in read_transcript(session.path).journal.sends]
    assert [record.verdict for record in records if record is not None] == ["as_forecast"] * 3


@pytest.mark.req("R284")
async def test_the_services_own_verdict_stands_beside_ours(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.turn()
    await session.turn()
    await session.turn(model="claude-opus-5")
    asked = [msgspec.json.decode(one.request.body)["diagnostics"] for one in session.emulator.requests]
    ids = [event.message.id for event in session.seen(AnswerEnded)]
    assert asked == [{"previous_message_id": before} for before in (None, *ids[:2])]
    said = [event.cache.said for event in session.seen(AnswerEnded)]
    assert said[:2] == ["", ""]
    assert said[2].startswith("model changed, ")
    last = read_transcript(session.path).journal.sends[-1].ended
    assert last is not None
    assert last.said == said[2]


@pytest.mark.req("R276", "R278", "R281")
async def test_old_results_are_cleaned_once_the_cache_has_expired_and_stay_cleaned(tmp_path: Path) -> None:
    session = Session(tmp_path, READS)
    session.settings = {"expired": "clean", "keepResults": 2}
    await session.turn()
    warm = session.emulator.requests[-1].request.body
    assert STAND_IN.encode() not in warm
    session.pass_time(301)
    await session.turn()
    cold = session.emulator.requests[-1].request.body
    assert cold.count(STAND_IN.encode()) == 6
    assert len(cold) < len(warm) - 5_000
    events = [event.name for event in read_transcript(session.path).journal.events]
    assert events == [EventName.COLD_CLEAN]
    session.emulator = Emulator(parse_script(SAYS))
    await session.turn()
    again = session.emulator.requests[-1].request.body
    assert again.count(STAND_IN.encode()) == 6


@pytest.mark.req("R272", "R273", "R274", "R275", "R277")
async def test_edits_by_the_service_change_nothing_that_we_send_and_stay_as_first_sent(tmp_path: Path) -> None:
    session = Session(tmp_path, READS)
    session.settings = {"edits": {"trigger": 9_000, "keep": 2}}
    await session.turn()
    session.settings = {"edits": {"trigger": 50_000}}
    await session.turn()
    bodies = [msgspec.json.decode(one.request.body) for one in session.emulator.requests]
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 9_000},
        "keep": {"type": "tool_uses", "value": 2},
    }
    assert [body["context_management"] for body in bodies] == [{"edits": [edit]}] * len(bodies)
    assert all(
        "context-management-2025-06-27" in dict(one.request.headers)["anthropic-beta"]
        for one in session.emulator.requests
    )
    views = [view_bytes(event.compiled) for event in session.seen(RequestStarted)]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(views))
