"""The agent over real tools, a real store and the in-process stand-in: whole turns, refusals, interrupts, retries."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import pytest

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.adapters.sessions.reading import read_transcript
from compositor.config.flags import Flags
from compositor.context.cache.attribution import Verdict
from compositor.context.compile import compile_request
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.loop.effects import EndReason
from compositor.opened import Opened, Opening, open_session
from compositor.ports import Permission
from compositor.runtime.agent import Agent
from compositor.runtime.events import (
    AgentEvent,
    AnswerEnded,
    CallEnded,
    CallJudged,
    RequestStarted,
    Retrying,
    TurnResult,
)
from compositor.types.attachments import MediaAttachment
from compositor.types.blocks import ToolResultBlock
from compositor.types.entries import AssistantEntry, UserEntry
from compositor.types.journal import SendOutcome
from compositor.types.snapshot import Snapshot
from compositor.types.tools import OutcomeKind
from compositor.wiring import build_agent

pytestmark = pytest.mark.anyio

ENDPOINT = Endpoint(url="http://emulator.invalid/v1/messages")


class Yes:
    async def ask(self, permission: Permission) -> bool:
        return True


class No:
    async def ask(self, permission: Permission) -> bool:
        return False


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\nbeta\n")
    (folder / "CLAUDE.md").write_text("# rules\n\nBe brief.\n")
    return folder


class Run:
    """One agent on one project, with everything it said."""

    def __init__(self, project: Path, script: str, **flags: object) -> None:
        self.events: list[AgentEvent] = []
        self.environ = {
            "HOME": str(project.parent / "home"),
            "COMPOSITOR_HOME": str(project.parent / "state"),
            "PATH": "/usr/bin:/bin",
        }
        self.project = project
        self.emulator = Emulator(parse_script(script))
        self.flags = Flags(**flags)  # type: ignore[arg-type]
        self.opened: Opened | None = None
        self.agent: Agent | None = None

    async def submit(
        self,
        prompt: str,
        *,
        asker: Yes | No | None = None,
        resume: str | None = None,
        stop_at: Callable[[AgentEvent], bool] | None = None,
        pictures: tuple[MediaAttachment, ...] = (),
    ) -> TurnResult:
        opening = Opening(
            flags=self.flags,
            project=str(self.project),
            environ=self.environ,
            resume=resume,
            interactive=asker is not None,
        )
        self.opened = open_session(opening)

        def watch(event: AgentEvent) -> None:
            self.events.append(event)
            if stop_at is not None and stop_at(event):
                agent.stop()

        async with AnthropicTransport(ENDPOINT, transport=EmulatorTransport(self.emulator)) as transport:
            agent, store = build_agent(self.opened, transport=transport, watch=watch, asker=asker or No())
            with store:
                self.path, self.agent = Path(store.path), agent
                return await agent.submit(prompt, pictures=pictures)

    def bodies(self) -> list[dict[str, object]]:
        return [msgspec.json.decode(recorded.request.body) for recorded in self.emulator.requests]

    def of(self, kind: type) -> list[AgentEvent]:
        return [event for event in self.events if isinstance(event, kind)]


READ_AND_ANSWER = """
turns:
  - {say: I look., do: [{read: a.txt}]}
  - {when: {result_contains: beta}, say: It says alpha and beta.}
"""


@pytest.mark.req("R013", "R011", "R424")
async def test_a_whole_turn_from_prompt_to_answer(project: Path) -> None:
    run = Run(project, READ_AND_ANSWER)
    result = await run.submit("What is in a.txt?")
    assert result.reason is EndReason.COMPLETED
    assert result.text == "It says alpha and beta."
    assert result.requests == 2
    first, second = run.bodies()
    assert (
        first["messages"] == second["messages"][: len(first["messages"])]
        or _unmarked(first) == _unmarked(second)[: len(_unmarked(first))]
    )
    transcript = read_transcript(run.path)
    assert [type(entry) for entry in transcript.entries] == [UserEntry, AssistantEntry, UserEntry, AssistantEntry]
    assert [send.outcome for send in transcript.journal.sends] == [SendOutcome.ANSWERED, SendOutcome.ANSWERED]


def _unmarked(body: dict[str, object]) -> list[object]:
    text = msgspec.json.encode(body["messages"]).replace(b',"cache_control":{"type":"ephemeral"}', b"")
    messages: list[object] = msgspec.json.decode(text)
    return messages


@pytest.mark.req("R259", "R009")
async def test_each_request_begins_with_the_one_before_while_files_change(project: Path) -> None:
    run = Run(project, "turns:\n" + "  - {do: [{read: a.txt}]}\n" * 4 + "  - {say: done}\n")

    def change(event: AgentEvent) -> bool:
        if isinstance(event, CallEnded):
            (project / "CLAUDE.md").write_text(f"# rules {len(run.events)}\n")
        return False

    await run.submit("Read it again and again.", stop_at=change)
    started = [event.compiled for event in run.of(RequestStarted) if isinstance(event, RequestStarted)]
    assert len(started) == 5
    for earlier, later in itertools.pairwise(started):
        assert later.head.digest == earlier.head.digest
        chunks = [chunk.data for chunk in earlier.message_chunks()]
        assert [chunk.data for chunk in later.message_chunks()][: len(chunks)] == chunks


@pytest.mark.req("R424", "R262")
async def test_the_cold_path_gives_the_bytes_that_were_sent(project: Path) -> None:
    run = Run(project, READ_AND_ANSWER)
    await run.submit("What is in a.txt?")
    assert run.opened is not None
    prefix = run.opened.conversation.prefix
    transcript = read_transcript(run.path)
    for number, recorded in enumerate(run.emulator.requests):
        entries = transcript.entries[: 1 + 2 * number]
        sent = transcript.journal.sends[number].record
        cold = compile_request(
            Snapshot(head=prefix.head, entries=entries, facts=prefix.facts, options=sent.options),
            prefix.wire,
        )
        assert cold.body == recorded.request.body
        assert cold.view_digest == transcript.journal.sends[number].record.view_digest


@pytest.mark.req("R363", "R365")
async def test_a_refused_call_is_answered_and_nothing_happens(project: Path) -> None:
    script = """
turns:
  - {do: [{run: touch made}]}
  - {when: {result_is_error: true}, say: I may not.}
"""
    run = Run(project, script)
    result = await run.submit("Make a file.")
    assert result.text == "I may not."
    assert [call.name for call in result.denied] == ["Bash"]
    assert not (project / "made").exists()


@pytest.mark.req("R363")
async def test_a_person_can_say_yes(project: Path) -> None:
    script = "turns:\n  - {do: [{run: touch made}]}\n  - {say: done}\n"
    run = Run(project, script)
    result = await run.submit("Make a file.", asker=Yes())
    assert result.denied == ()
    assert (project / "made").exists()


async def test_a_deny_rule_beats_a_yes(project: Path) -> None:
    script = "turns:\n  - {do: [{run: touch made}]}\n  - {say: done}\n"
    run = Run(project, script, disallowed_tools=("Bash(touch *)",))
    result = await run.submit("Make a file.", asker=Yes())
    assert len(result.denied) == 1
    assert not (project / "made").exists()


async def test_a_search_leaves_out_what_may_not_be_read(project: Path) -> None:
    (project / "secret.env").write_text("beta token\n")
    script = "turns:\n  - {do: [{search: beta}, {find: '*'}]}\n  - {say: done}\n"
    run = Run(project, script, disallowed_tools=("Read(secret.env)",))
    await run.submit("Where is beta?")
    results = [event.outcome for event in run.of(CallEnded) if isinstance(event, CallEnded)]
    assert [outcome.kind for outcome in results] == [OutcomeKind.DONE, OutcomeKind.DONE]
    assert all("secret.env" not in str(outcome.content) for outcome in results)
    assert any("a.txt" in str(outcome.content) for outcome in results)


@pytest.mark.req("R011", "R007")
async def test_a_retry_sends_the_same_bytes(project: Path) -> None:
    script = """
turns:
  - say: at last
    faults: [{status: 529, retry_after: 0}, {reset: 3}, {torn: 4}]
"""
    run = Run(project, script)
    result = await run.submit("Hello?")
    assert result.text == "at last"
    bodies = {recorded.request.body for recorded in run.emulator.requests}
    assert len(run.emulator.requests) == 4
    assert len(bodies) == 1
    assert len(run.of(Retrying)) == 3
    assert len(read_transcript(run.path).journal.sends) == 1


async def test_a_lasting_refusal_ends_the_turn_with_its_reason(project: Path) -> None:
    run = Run(project, "turns:\n  - {say: never, faults: [{status: 401}]}\n")
    result = await run.submit("Hello?")
    assert result.reason is EndReason.API_ERROR
    assert "401" in result.detail
    journal = read_transcript(run.path).journal
    assert journal.sends[0].outcome is SendOutcome.REFUSED


@pytest.mark.req("R154")
async def test_an_interrupt_while_a_tool_runs_leaves_a_legal_history(project: Path) -> None:
    script = "turns:\n  - {do: [{run: sleep 30}]}\n  - {say: never}\n"
    run = Run(project, script)
    with anyio.fail_after(15):
        result = await run.submit("Wait.", asker=Yes(), stop_at=lambda event: isinstance(event, CallJudged))
    assert result.reason is EndReason.ABORTED_TOOLS
    results = read_transcript(run.path).entries[-1]
    assert isinstance(results, UserEntry)
    assert isinstance(results.content[0], ToolResultBlock)
    assert results.content[0].is_error
    after = Run(project, "turns:\n  - {say: here again}\n")
    assert run.opened is not None
    resumed = await after.submit("Go on.", resume=run.opened.header.session_id)
    assert resumed.text == "here again"


async def test_an_interrupt_while_the_model_answers_records_no_answer(project: Path) -> None:
    run = Run(project, "turns:\n  - {say: a long answer, faults: [{stall: 3}]}\n")
    with anyio.fail_after(15):
        result = await run.submit("Hello?", stop_at=lambda event: type(event).__name__ == "Streamed")
    assert result.reason is EndReason.ABORTED_STREAMING
    transcript = read_transcript(run.path)
    assert [type(entry) for entry in transcript.entries] == [UserEntry]
    assert transcript.journal.sends[0].outcome is SendOutcome.INTERRUPTED


@pytest.mark.req("R014")
async def test_a_call_cut_by_the_output_limit_never_runs(project: Path) -> None:
    cut = "  - {do: [{write: {path: made, content: a long long text}}], stop: max_tokens}\n"
    run = Run(project, f"turns:\n{cut}{cut}  - {{say: In parts then.}}\n")
    result = await run.submit("Write.", asker=Yes())
    assert result.reason is EndReason.COMPLETED
    assert not (project / "made").exists()
    assert run.of(CallJudged) == []


async def test_the_limit_of_turns_ends_the_run(project: Path) -> None:
    run = Run(project, "turns:\n" + "  - {do: [{read: a.txt}]}\n" * 5, max_turns=2)
    result = await run.submit("Read.")
    assert result.reason is EndReason.MAX_TURNS
    assert result.requests == 2


async def test_an_unknown_tool_is_an_error_result_and_the_turn_goes_on(project: Path) -> None:
    run = Run(project, "turns:\n  - {do: [{read: nowhere.txt}]}\n  - {when: {result_is_error: true}, say: gone}\n")
    result = await run.submit("Read.")
    assert result.text == "gone"


@pytest.mark.req("R008")
async def test_a_resumed_session_sends_the_recorded_head_and_reads_the_cache(project: Path) -> None:
    run = Run(project, READ_AND_ANSWER + "  - {say: still here}\n")
    await run.submit("What is in a.txt?")
    assert run.opened is not None
    (project / "CLAUDE.md").write_text("# quite different rules\n")
    again = Run(project, "turns:\n  - {say: still here}\n")
    again.emulator = run.emulator
    result = await again.submit("And now?", resume=run.opened.header.session_id)
    assert result.text == "still here"
    first, last = run.bodies()[0], run.bodies()[-1]
    assert last["system"] == first["system"]
    assert last["tools"] == first["tools"]
    assert result.usage.read >= 5_000 // 4
    # What the journal says that was written is what the resumed session expects to read.
    (started,) = [event for event in again.of(RequestStarted) if isinstance(event, RequestStarted)]
    (ended,) = [event for event in again.of(AnswerEnded) if isinstance(event, AnswerEnded)]
    assert started.forecast.read > 0
    assert ended.cache.verdict is Verdict.AS_FORECAST


async def test_a_changed_model_on_resume_is_a_named_event(project: Path) -> None:
    run = Run(project, READ_AND_ANSWER)
    await run.submit("What is in a.txt?")
    assert run.opened is not None
    again = Run(project, "turns:\n  - {say: hello}\n", model="claude-opus-4-8")
    await again.submit("And now?", resume=run.opened.header.session_id)
    events = [event.name.value for event in read_transcript(again.path).journal.events]
    assert events == ["model_switch"]
