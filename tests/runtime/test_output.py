"""An answer that is cut at its output limit: one resend with more room behind the same prefix (R381, R383, F37)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compositor.adapters.sessions.reading import read_transcript
from compositor.loop.effects import EndReason
from compositor.runtime.events import CallJudged, OutputWidened
from compositor.types.entries import AssistantEntry, UserEntry
from tests.runtime.test_agent import Run, Yes, project  # noqa: F401  (a fixture)

pytestmark = pytest.mark.anyio

CUT = "  - {do: [{write: {path: made, content: a long long text}}], stop: max_tokens}\n"
WHOLE = "  - {do: [{read: a.txt}]}\n  - {when: {result_contains: beta}, say: done}\n"


def _parts(body: bytes) -> tuple[bytes, dict[str, object]]:
    """Everything in front of the scalars, byte by byte, and the scalars."""
    front, scalars = body.rsplit(b'],"model":', 1)
    return front, json.loads(b'{"model":' + scalars)


@pytest.mark.req("R381", "R383", "R011", "R386")
async def test_a_cut_answer_is_asked_for_once_more_behind_the_same_bytes(project: Path) -> None:  # noqa: F811
    run = Run(project, f"turns:\n{CUT}{WHOLE}")
    result = await run.submit("Go on.", asker=Yes())
    assert (result.reason, result.text, result.requests) == (EndReason.COMPLETED, "done", 3)
    cut, resent, later = [_parts(recorded.request.body) for recorded in run.emulator.requests]
    assert cut[0] == resent[0]
    assert cut[1] == resent[1] | {"max_tokens": 8_000}
    # The common case keeps its small cap: the room was for the one answer that needed it.
    assert [scalars["max_tokens"] for _, scalars in (cut, resent, later)] == [8_000, 64_000, 8_000]
    assert run.of(OutputWidened) == [OutputWidened(before=8_000, limit=64_000)]


@pytest.mark.req("R381", "R014")
async def test_nothing_of_the_cut_answer_runs_or_stays_and_all_of_it_is_paid_for(project: Path) -> None:  # noqa: F811
    run = Run(project, f"turns:\n{CUT}{WHOLE}")
    result = await run.submit("Go on.", asker=Yes())
    assert not (project / "made").exists()
    assert len(run.of(CallJudged)) == 1
    transcript = read_transcript(run.path)
    assert [type(entry) for entry in transcript.entries] == [UserEntry, AssistantEntry, UserEntry, AssistantEntry]
    assert [send.usage for send in transcript.journal.sends] == list(result.usages)
    assert len(result.usages) == 3


@pytest.mark.req("R381")
async def test_a_call_that_is_cut_at_the_top_is_told_by_its_cause_and_never_runs(project: Path) -> None:  # noqa: F811
    run = Run(project, f"turns:\n{CUT}{CUT}{WHOLE}")
    result = await run.submit("Go on.", asker=Yes())
    assert (result.reason, result.text, result.requests) == (EndReason.COMPLETED, "done", 4)
    assert not (project / "made").exists()
    third = json.dumps(run.bodies()[2]["messages"])
    assert "tool_use" not in third
    assert "output limit of 64000 tokens" in third
    assert "'Write' was cut and did not run" in third


@pytest.mark.req("R381", "R014")
async def test_a_complete_call_beside_a_cut_one_runs_and_the_note_stands_behind_its_result(project: Path) -> None:  # noqa: F811
    two = "  - {do: [{read: a.txt}, {write: {path: made, content: a long long text}}], stop: max_tokens}\n"
    run = Run(project, f"turns:\n{two}{two}  - {{when: {{result_contains: beta}}, say: done}}\n")
    result = await run.submit("Go on.", asker=Yes())
    assert (result.reason, result.text) == (EndReason.COMPLETED, "done")
    assert [event.call.name for event in run.of(CallJudged)] == ["Read"]  # type: ignore[union-attr]
    assert not (project / "made").exists()
    *_, asked, told = run.bodies()[2]["messages"]  # type: ignore[misc, attr-defined]
    assert [block["name"] for block in asked["content"] if block["type"] == "tool_use"] == ["Read"]
    assert told["content"][0]["type"] == "tool_result"
    assert "'Write' was cut and did not run" in json.dumps(told["content"])


async def test_a_text_that_is_cut_at_the_top_is_continued(project: Path) -> None:  # noqa: F811
    half = "  - {say: The first half of it, stop: max_tokens}\n"
    run = Run(project, f"turns:\n{half}{half}  - {{say: and the second.}}\n")
    result = await run.submit("Tell me.", asker=Yes())
    assert (result.reason, result.text, result.requests) == (EndReason.COMPLETED, "and the second.", 3)
    messages = run.bodies()[2]["messages"]
    assert isinstance(messages, list)
    assert [message["role"] for message in messages][-2:] == ["assistant", "user"]
    assert "Continue where the text broke off" in json.dumps(messages[-1])


async def test_cut_answers_in_a_row_end_the_turn_with_a_message(project: Path) -> None:  # noqa: F811
    run = Run(project, f"turns:\n{CUT * 20}")
    result = await run.submit("Go on.", asker=Yes())
    assert result.reason is EndReason.MAX_TOKENS
    assert "4 times in a row" in result.detail
    # Each of the four was asked for twice: at the default cap and at the top.
    assert result.requests == 8


@pytest.mark.req("R381")
async def test_a_cap_that_somebody_asked_for_is_kept(project: Path) -> None:  # noqa: F811
    run = Run(project, f"turns:\n{CUT}{WHOLE}", max_output_tokens=2_000)
    result = await run.submit("Go on.", asker=Yes())
    assert (result.reason, result.requests) == (EndReason.COMPLETED, 3)
    assert {body["max_tokens"] for body in run.bodies()} == {2_000}


async def test_a_session_with_a_cut_answer_is_resumed_as_it_was_sent(project: Path) -> None:  # noqa: F811
    first = Run(project, f"turns:\n{CUT}  - {{say: whole}}\n")
    await first.submit("One.")
    second = Run(project, "turns:\n  - {say: still here}\n")
    result = await second.submit("Two.", resume=first.path.stem)
    assert result.text == "still here"
    earlier = first.bodies()[-1]["messages"]
    assert isinstance(earlier, list)
    assert _plain(second.bodies()[0]["messages"])[: len(earlier)] == _plain(earlier)


def _plain(messages: object) -> list[object]:
    marker = ', "cache_control": {"type": "ephemeral"}'
    plain: list[object] = json.loads(json.dumps(messages).replace(marker, ""))
    return plain


async def test_no_call_of_a_refused_answer_runs_and_the_session_goes_on(project: Path) -> None:  # noqa: F811
    """Wire page 7, `refusal`: what had arrived is no answer. Its call has a result all the same, so that the next request is legal."""
    refused = "  - {say: Half of a, do: [{write: {path: made, content: x}}], stop: refusal, category: cyber}\n"
    first = Run(project, f"turns:\n{refused}")
    result = await first.submit("One.", asker=Yes())
    assert result.reason is EndReason.REFUSAL
    assert not (project / "made").exists()
    assert first.of(CallJudged) == []
    second = Run(project, "turns:\n  - {say: fine}\n")
    assert (await second.submit("Two.", resume=first.path.stem)).text == "fine"
