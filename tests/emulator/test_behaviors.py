"""What the stand-in does beside judging: counting, models, prices, answers and records."""

import base64
import json

import pytest

from compositor.cli.check import find_bodies
from compositor.emulator.core import Emulator, Request
from compositor.emulator.profile import ServiceProfile, catalog
from compositor.emulator.recording import record_bytes
from compositor.emulator.script import parse_script
from compositor.errors import ConfigError
from tests.emulator.playing import BASE, HI, READ, ask, data_of, events, play, send

# ---------------------------------------------------------------------------------------------------- models and counting


def test_each_model_is_judged_by_its_own_abilities():
    emulator = play()
    assert ask(emulator, model="claude-opus-4-5", thinking={"type": "adaptive"})[1]["error"]["message"].startswith(
        "adaptive thinking"
    )
    assert ask(emulator, model="claude-opus-5-5", thinking={"type": "adaptive"})[0] == 200
    status, answer = ask(emulator, model="claude-nonesuch")
    assert (status, answer["error"]["type"], answer["error"]["message"]) == (
        404,
        "not_found_error",
        "model: claude-nonesuch",
    )
    assert (
        ask(Emulator(parse_script("turns: [{say: ok}]"), catalog(conservative=True)), model="claude-nonesuch")[0] == 200
    )
    with pytest.raises(ConfigError, match="no platform 'moon'"):
        catalog("moon")


def test_counting_takes_no_limit_uses_no_turn_and_writes_no_cache():
    emulator = play("turns: [{say: ok}]", ServiceProfile(cache_minimum=1))
    marked = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
    reply = send(emulator, "/v1/messages/count_tokens", model="m-1", messages=[{"role": "user", "content": marked}])
    assert json.loads(data_of(reply)) == {"input_tokens": 7}
    refused = send(emulator, "/v1/messages/count_tokens", model="m-1", max_tokens=1, messages=[HI])
    assert "max_tokens: Extra inputs" in json.loads(data_of(refused))["error"]["message"]
    assert ask(emulator, messages=[{"role": "user", "content": marked}])[1]["usage"]["cache_creation_input_tokens"] == 7


def test_counting_shows_what_edits_would_leave():
    edits = {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "tool_uses", "value": 1},
                "keep": {"type": "tool_uses", "value": 0},
            }
        ]
    }
    history = [HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
               {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x" * 4000}]}]  # fmt: skip
    reply = send(play(), "/v1/messages/count_tokens", betas="context-management-2025-06-27", model="claude-opus-4-6",
                 messages=history, tools=[READ], context_management=edits)  # fmt: skip
    counted = json.loads(data_of(reply))
    assert counted["context_management"]["original_input_tokens"] - counted["input_tokens"] > 900


def test_the_tokens_that_tools_cost_are_those_of_the_price_page():
    """Opus 4.8: 290 tokens for any tool with free choice, 410 with a forced one (wire page 9.2)."""
    for choice, preamble in (({"type": "auto"}, 290), ({"type": "any"}, 410)):
        counted = [
            json.loads(data_of(send(play(profile=profile), "/v1/messages/count_tokens", model="claude-opus-4-8",
                                    messages=[HI], tools=[READ], tool_choice=choice)))["input_tokens"]
            for profile in (catalog(), ServiceProfile())
        ]  # fmt: skip
        assert counted[0] - counted[1] == preamble


# ------------------------------------------------------------------------------------------------------- answers and records


def test_thinking_that_is_off_or_omitted():
    script = "turns: [{think: hm, say: a}]"
    off = ask(play(script), model="claude-opus-4-8")[1]
    assert [block["type"] for block in off["content"]] == ["text"]
    omitted = ask(play(script), thinking={"type": "adaptive", "display": "omitted"})[1]["content"][0]
    assert (omitted["thinking"], bool(omitted["signature"])) == ("", True)


def test_refusals_and_stop_sequences_of_the_model():
    answer = ask(play("turns: [{say: never, stop: refusal, category: cyber}]"))[1]
    assert (answer["stop_reason"], answer["stop_details"]["category"]) == ("refusal", "cyber")
    answer = ask(play("turns: [{say: a, stop: stop_sequence}]"), stop_sequences=["END"])[1]
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "END")


def test_citations_stream_behind_their_text():
    citation = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    script = f"turns: [{{parts: [{{say: a, citations: [{json.dumps(citation)}]}}]}}, {{parts: [{{say: a, citations: [{json.dumps(citation)}]}}]}}]"
    emulator = play(script)
    streamed = events(send(emulator, **BASE, stream=True))
    assert [event["delta"]["type"] for event in streamed if event["type"] == "content_block_delta"] == [
        "text_delta",
        "citations_delta",
    ]
    assert (
        next(event for event in streamed if event["type"] == "content_block_start")["content_block"]["citations"] == []
    )
    assert ask(emulator)[1]["content"][0]["citations"] == [citation]


def test_conditions_choose_the_turn_by_the_request():
    script = "turns: [{when: {model: claude-opus-5-5}, say: opus}, {when: {text_contains: tests}, say: testing}, {say: else}]"
    assert ask(play(script), model="claude-opus-5-5")[1]["content"][0]["text"] == "opus"
    assert (
        ask(play(script), messages=[{"role": "user", "content": "run the tests"}])[1]["content"][0]["text"] == "testing"
    )
    assert ask(play(script))[1]["content"][0]["text"] == "else"


def test_a_record_is_what_the_check_command_reads():
    emulator = play()
    send(emulator, headers={"x-api-key": "k-secret"}, **BASE)
    send(emulator, **{**BASE, "messages": []})
    emulator.answer(Request(method="POST", path="/v1/messages", headers={}, body=b"{"))
    first, second, third = (
        record_bytes(recorded, number) for number, recorded in enumerate(emulator.requests, start=1)
    )
    assert b"k-secret" not in first
    assert json.loads(first)["use"] == {"read": 0, "written_5m": 0, "written_1h": 0, "fresh": 7}
    assert json.loads(second)["refusal"]["rule"] == "L02"
    assert base64.b64decode(json.loads(third)["body_base64"]) == b"{"
    (found,) = find_bodies("0001.json", first)
    assert found.data == json.dumps(BASE).encode()
    assert found.headers["anthropic-version"] == "2026-10-21"
