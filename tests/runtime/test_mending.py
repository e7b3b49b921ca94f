"""Refusals that name their cause: one request is lost, the conversation is mended, the session goes on (R222 to R225, F06)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.adapters.sessions.heads import HeadStore
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.reading import read_transcript
from compositor.cli.recorded import rebuild
from compositor.config.flags import Flags
from compositor.context.transcript.codec import SessionHeader
from compositor.emulator.core import Emulator
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.loop.effects import EndReason
from compositor.loop.remedies import DropField, DropLane, DropThinking, ReplaceImages, SpareSystemMarkers
from compositor.loop.session import Stamp, prompt_entry
from compositor.opened import Opening, open_session
from compositor.ports import Permission
from compositor.runtime.events import AgentEvent, Mended, TurnResult
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import TextBlock
from compositor.types.entries import AttachmentEntry, UserEntry
from compositor.types.journal import SendOutcome
from compositor.types.json import decode_json
from compositor.types.snapshot import EventName
from compositor.wiring import build_agent
from tests.properties.bulk import picture
from tests.properties.strategies import TIME
from tests.runtime.long_run import LongRun

pytestmark = pytest.mark.anyio

SESSION = "5e551011-0000-4000-8000-000000000000"
ENDPOINT = Endpoint(url="http://emulator.invalid/v1/messages")
ANSWERS = "turns:\n" + "  - {say: fine}\n" * 12


class No:
    async def ask(self, permission: Permission) -> bool:
        return False


class Session:
    """A stored session of one prompt and a note of the client, and a service with abilities of its own."""

    def __init__(self, folder: Path, service: ServiceProfile, script: str = ANSWERS, *entries: Any) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.environ = {"HOME": str(folder), "COMPOSITOR_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
        self.emulator = Emulator(parse_script(script), service)
        self.events: list[AgentEvent] = []
        header = SessionHeader(session_id=SESSION, time=TIME, cwd=str(self.project.resolve()))
        with JsonlSession.open(folder / "state", header) as store:
            store.append(entries or self.opening())
            self.path = Path(store.path)

    def opening(self) -> list[Any]:
        note = TextAttachment(kind="date_change", text="It is 2026-12-01.")
        return [
            prompt_entry("hi", stamp=Stamp("u1", TIME), parent=None),
            AttachmentEntry(uuid="n1", parent="u1", time=TIME, attachment=note),
        ]

    async def submit(self, *prompts: str) -> list[TurnResult]:
        """Resume and ask, in one process."""
        opening = Opening(flags=Flags(), project=str(self.project), environ=self.environ, resume=SESSION)
        async with AnthropicTransport(ENDPOINT, transport=EmulatorTransport(self.emulator)) as transport:
            agent, store = build_agent(open_session(opening), transport=transport, watch=self.events.append, asker=No())
            with store:
                return [await agent.submit(prompt) for prompt in prompts]

    def statuses(self) -> list[int]:
        return [recorded.status for recorded in self.emulator.requests]

    def bodies(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(recorded.request.body) for recorded in self.emulator.requests]

    def mended(self) -> list[Mended]:
        return [event for event in self.events if isinstance(event, Mended)]


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


@pytest.mark.req("R222", "R223", "R390")
async def test_a_service_without_the_lane_costs_one_refusal_in_ten_turns(tmp_path: Path) -> None:
    session = Session(tmp_path, ServiceProfile(max_output=128_000, system_role=False))
    results = await session.submit(*(f"prompt {number}" for number in range(10)))
    assert [result.reason for result in results] == [EndReason.COMPLETED] * 10
    assert session.statuses() == [400, *[200] * 10]
    assert [type(event.remedy) for event in session.mended()] == [DropLane]
    refused, *answered = session.bodies()
    assert "system" in roles(refused)
    assert all("system" not in roles(body) for body in answered)
    assert refused["system"] == answered[0]["system"]
    outcomes = [send.outcome for send in read_transcript(session.path).journal.sends]
    assert outcomes == [SendOutcome.REFUSED, *[SendOutcome.ANSWERED] * 10]


@pytest.mark.req("R222")
async def test_the_refusal_is_remembered_when_the_session_is_resumed(tmp_path: Path) -> None:
    session = Session(tmp_path, ServiceProfile(max_output=128_000, system_role=False))
    await session.submit("one")
    await session.submit("two")
    assert session.statuses() == [400, 200, 200]
    first, second = session.bodies()[1:]
    unmarked = [message["content"][0].get("text") for message in second["messages"]]
    assert unmarked[: len(first["messages"])] == [message["content"][0].get("text") for message in first["messages"]]


@pytest.mark.req("R219", "R222")
async def test_a_lane_that_was_taken_is_taken_again_on_resume(tmp_path: Path) -> None:
    session = Session(tmp_path, ServiceProfile(max_output=128_000, system_role=True))
    await session.submit("one")
    await session.submit("two")
    assert session.statuses() == [200, 200]
    assert [roles(body).count("system") for body in session.bodies()] == [1, 1]
    assert session.mended() == []


MARKER_REFUSED = """
turns:
  - say: fine
    faults:
      - {status: 400, message: "messages.%d.content.0.cache_control: Extra inputs are not permitted"}
  - {say: fine}
"""


@pytest.mark.req("R224", "R225", "R391")
async def test_a_refused_marker_moves_and_the_lane_stays_on(tmp_path: Path) -> None:
    """The note is message 1 behind the prompt, or 2 behind prompt and user context; the fault names the last message."""
    session = Session(tmp_path, ServiceProfile(max_output=128_000, system_role=True), MARKER_REFUSED % 1)
    await session.submit("one")
    assert session.statuses() == [400, 200]
    assert [type(event.remedy) for event in session.mended()] == [SpareSystemMarkers]
    refused, answered = session.bodies()
    assert roles(refused) == roles(answered) == ["user", "system"]
    assert "cache_control" in refused["messages"][1]["content"][0]
    assert "cache_control" not in answered["messages"][1]["content"][0]
    assert "cache_control" in answered["messages"][0]["content"][-1]


UNKNOWN = """
turns:
  - say: fine
    faults:
      - {status: 400, message: "something about a system that nobody has heard of"}
  - {say: fine}
"""


@pytest.mark.req("R225")
async def test_an_unknown_refusal_is_neither(tmp_path: Path) -> None:
    session = Session(tmp_path, ServiceProfile(max_output=128_000, system_role=True), UNKNOWN)
    (result,) = await session.submit("one")
    assert result.reason is EndReason.API_ERROR
    assert session.statuses() == [400]
    assert session.mended() == []


IMAGE_REFUSED = """
turns:
  - {say: fine}
  - say: fine
    faults:
      - status: 400
        message: "messages.0.content.1.image.source.base64.data: Could not process image"
  - {say: fine}
"""


@pytest.mark.req("R222", "R234")
async def test_a_refused_image_becomes_a_note_as_a_named_event_with_one_retry(tmp_path: Path) -> None:
    pasted = UserEntry(uuid="u1", parent=None, time=TIME, content=(TextBlock("look"), picture(90, 90)))
    session = Session(tmp_path, ServiceProfile(max_output=128_000, system_role=True), IMAGE_REFUSED, pasted)
    results = await session.submit("one", "two")
    assert [result.reason for result in results] == [EndReason.COMPLETED] * 2
    assert session.statuses() == [200, 400, 200]
    (mended,) = session.mended()
    assert isinstance(mended.remedy, ReplaceImages)
    assert [event.name for event in mended.events] == [EventName.REFUSED_IMAGE]
    last = session.bodies()[-1]
    assert last["messages"][0]["content"][1]["text"] == "(An image stood here; the service refused it.)"
    recorded = read_transcript(session.path).journal
    assert [event.name for event in recorded.events] == [EventName.REFUSED_IMAGE]
    await session.submit("three")
    assert session.statuses() == [200, 400, 200, 200]
    assert session.bodies()[-1]["messages"][0]["content"][1]["type"] == "text"


@pytest.mark.req("R222", "R424")
async def test_recorded_requests_are_compiled_again_in_the_lanes_they_were_sent_in(tmp_path: Path) -> None:
    session = Session(tmp_path, ServiceProfile(max_output=128_000, system_role=False))
    await session.submit("one", "two")
    transcript = read_transcript(session.path)
    heads = HeadStore(tmp_path / "state")
    again = [rebuild(transcript, send.record, heads).body for send in transcript.journal.sends]
    assert again == [recorded.request.body for recorded in session.emulator.requests]


@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: Invalid `signature` in `thinking` block: block is bound to a different conversation (system)",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
    ],
)
async def test_thinking_that_the_service_does_not_take_back_is_left_out_from_then_on(
    tmp_path: Path, words: str
) -> None:
    """F05, L75, L76, L78: without it the turn goes on; the transcript keeps what was thought."""
    script = (
        "turns:\n  - {think: I look., do: [{find: '*'}]}\n"
        f"  - {{say: found, faults: [{{status: 400, message: {json.dumps(words)}}}]}}\n  - {{say: more}}\n"
    )
    run = LongRun(
        tmp_path, script, profile=ServiceProfile(max_output=128_000), env={"ANTHROPIC_MODEL": "claude-opus-5-5"}
    )
    async with run.opened() as agent:
        assert (await agent.submit("Look.")).text == "found"
        assert (await agent.submit("And?")).text == "more"
    sent = [recorded.request.body.decode() for recorded in run.emulator.requests]
    assert [recorded.status for recorded in run.emulator.requests] == [200, 400, 200, 200]
    assert ["I look." in body for body in sent] == [False, True, False, False]
    assert [type(event.remedy) for event in run.of(Mended)] == [DropThinking]
    assert "I look." in run.path.read_text()


@pytest.mark.parametrize("field", ["output_config"])
async def test_a_field_that_a_gateway_does_not_know_is_left_out(tmp_path: Path, field: str) -> None:
    """L150 and the words of gateways: the same request without the field, and none of it again in this session."""
    script = f"gateway: {{reject_fields: [{field}]}}\nturns: [{{say: one}}, {{say: two}}]\n"
    run = LongRun(
        tmp_path,
        script,
        profile=ServiceProfile(max_output=128_000),
        env={"ANTHROPIC_MODEL": "claude-opus-5-5", "CLAUDE_CODE_EFFORT_LEVEL": "low"},
    )
    async with run.opened() as agent:
        first = await agent.submit("One.")
        assert (first.reason, first.text) == (EndReason.COMPLETED, "one")
        assert (await agent.submit("Two.")).text == "two"
    bodies = [decode_json(recorded.request.body) for recorded in run.emulator.requests]
    assert [field in body for body in bodies] == [True, False, False]
    assert [event.remedy for event in run.of(Mended)] == [DropField(field)]
