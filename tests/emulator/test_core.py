"""The stand-in as a whole: which turn answers, what goes wrong, what is recorded. Streams are checked with the decoder."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.wire.assemble import assemble, parse_message
from compositor.context.wire.decode import Decoder
from compositor.emulator.core import Data, Emulator, Pause, Request, Reset, Stall
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.script import parse_script
from compositor.types.blocks import TextBlock, ThinkingBlock, ToolUseBlock

READ = {"name": "Read", "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}}
HI = {"role": "user", "content": "hi"}


def request(*messages, **fields):
    body = {"model": "m-1", "max_tokens": 1000, "stream": True, "tools": [READ], "messages": list(messages or [HI])}
    return Request(
        method="POST",
        path="/v1/messages",
        headers={"anthropic-version": "2026-10-21", "x-api-key": "k-secret", "authorization": "Bearer k-secret"},
        body=json.dumps({**body, **fields}).encode(),
    )


def emulator(text, **profile):
    return Emulator(parse_script(text), ServiceProfile(**profile) if profile else None)


def data(reply):
    return b"".join(step.data for step in reply.steps if isinstance(step, Data))


def message(reply):
    assert reply.status == 200
    decoder = Decoder()
    return assemble([*decoder.feed(data(reply)), *decoder.flush()])


def error(reply):
    return json.loads(data(reply))["error"]


LONG = "Grüße aus dem Zug 👋 " * 8


def test_a_turn_thinks_speaks_and_calls_in_this_order():
    play = emulator(f"turns: [{{think: hm hm, say: '{LONG}', do: [{{read: 'ä.py'}}, {{read: b.py}}]}}]")
    found = message(play.answer(request()))
    thinking, text, first, second = found.content
    assert isinstance(thinking, ThinkingBlock)
    assert (thinking.thinking, len(thinking.signature) > 20) == ("hm hm", True)
    assert text == TextBlock(LONG)
    assert isinstance(first, ToolUseBlock)
    assert isinstance(second, ToolUseBlock)
    assert json.loads(bytes(first.input)) == {"file_path": "ä.py"}
    assert first.id != second.id
    assert (found.stop_reason, found.model) == ("tool_use", "m-1")


def test_a_stream_has_every_kind_of_event_and_pings():
    reply = emulator("turns: [{think: a, say: b, do: [{read: c}]}]").answer(request())
    names = [line.removeprefix("event: ") for line in data(reply).decode().splitlines() if line.startswith("event: ")]
    assert set(names) == {
        "message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop", "message_delta",
        "message_stop",
    }  # fmt: skip
    assert (names[0], names[-1], names.count("ping")) == ("message_start", "message_stop", 2)
    for kind in ("thinking_delta", "signature_delta", "text_delta", "input_json_delta"):
        assert f'"type": "{kind}"'.encode() in data(reply)


def test_an_answer_without_streaming_is_one_document_with_the_same_content():
    script = "turns: [{think: a, say: b, do: [{read: c}]}]"
    streamed = message(emulator(script).answer(request()))
    reply = emulator(script).answer(request(stream=False))
    assert dict(reply.headers)["content-type"] == "application/json"
    whole = parse_message(data(reply))
    assert (whole.stop_reason, whole.content[0].thinking, whole.content[1], whole.usage.input_tokens) == (
        streamed.stop_reason,
        streamed.content[0].thinking,
        streamed.content[1],
        streamed.usage.input_tokens,
    )


def test_the_same_script_and_requests_give_the_same_bytes():
    replies = [emulator("turns: [{say: a, do: [{read: c}]}]").answer(request()) for _ in range(2)]
    assert replies[0] == replies[1]


def test_call_ids_stay_unique_when_a_new_stand_in_goes_on_with_the_conversation():
    script = "turns: [{do: [{read: c}]}]"
    first = message(emulator(script).answer(request())).calls[0]
    history = (
        HI,
        {"role": "assistant", "content": [{"type": "tool_use", "id": first.id, "name": "Read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": first.id, "content": "x"}]},
    )
    assert message(emulator(script).answer(request(*history))).calls[0].id != first.id


def test_usage_follows_the_cache():
    play = emulator("turns: [{say: a}, {say: b}]", cache_minimum=10)
    system = [{"type": "text", "text": "s" * 375, "cache_control": {"type": "ephemeral"}}]
    first = message(play.answer(request(system=system, tools=[]))).usage
    second = message(play.answer(request(system=system, tools=[]))).usage
    # The system block is 400 bytes, so 100 tokens; the message 27 bytes, so 7; the answer [{"type":..}] 29 bytes and spaces.
    assert (first.written, first.read, first.input_tokens) == (100, 0, 7)
    assert (second.written, second.read, second.input_tokens) == (0, 100, 7)
    assert first.cache_creation.ephemeral_5m_input_tokens == 100
    assert first.output_tokens == second.output_tokens > 0


def test_turns_follow_each_other_and_the_end_of_the_script_is_no_status_of_the_service():
    play = emulator("turns: [{say: a}, {say: b}]")
    assert [message(play.answer(request())).content for _ in range(2)] == [(TextBlock("a"),), (TextBlock("b"),)]
    reply = play.answer(request())
    assert (reply.status, error(reply)["type"], dict(reply.headers)["x-should-retry"]) == (
        501,
        "emulator_script_error",
        "false",
    )
    assert "no turn left" in error(reply)["message"]


def test_a_turn_whose_condition_does_not_hold_is_passed_over():
    script = "turns: [{do: [{read: c}]}, {when: {result_contains: green}, say: good}, {say: not good}]"
    for content, said in (("all green", "good"), ("all red", "not good")):
        play = emulator(script)
        call = message(play.answer(request())).calls[0]
        history = (
            HI,
            {"role": "assistant", "content": [{"type": "tool_use", "id": call.id, "name": "Read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": content}]},
        )
        assert message(play.answer(request(*history))).content == (TextBlock(said),)


def test_a_tool_that_the_request_does_not_offer_is_said_clearly():
    reply = emulator("turns: [{do: [{run: ls}]}]").answer(request())
    assert reply.status == 501
    assert "turn 1: the request offers no tool that can 'run'" in error(reply)["message"]


def test_an_illegal_request_uses_no_turn():
    play = emulator("turns: [{say: a}]")
    reply = play.answer(request({"role": "user", "content": ""}))
    assert (reply.status, error(reply)["type"]) == (400, "invalid_request_error")
    assert play.requests[0].refusal.rule == "L06"
    assert message(play.answer(request())).content == (TextBlock("a"),)


@pytest.mark.parametrize(
    ("change", "status", "kind"),
    [
        ({"path": "/v1/other"}, 404, "not_found_error"),
        ({"method": "GET"}, 404, "not_found_error"),
        ({"body": b"{"}, 400, "invalid_request_error"),
        ({"body": b"[]"}, 400, "invalid_request_error"),
        ({"body": b"[" * 100_000}, 400, "invalid_request_error"),
        ({"body": b" " * (32 * 1024 * 1024 + 1)}, 413, "request_too_large"),
    ],
)
def test_what_is_no_request_at_all(change, status, kind):
    given = request()
    fields = {"method": given.method, "path": given.path, "headers": given.headers, "body": given.body, **change}
    reply = emulator("turns: [{say: a}]").answer(Request(**fields))
    assert (reply.status, error(reply)["type"]) == (status, kind)


def test_a_prompt_above_the_window_is_refused():
    reply = emulator("turns: [{say: a}]", window=10).answer(request())
    assert error(reply)["message"].startswith("prompt is too long: ")


def test_pre_warming_writes_the_cache_and_uses_no_turn():
    play = emulator("turns: [{say: a}]", cache_minimum=1)
    system = [{"type": "text", "text": "s" * 375, "cache_control": {"type": "ephemeral"}}]
    warm = parse_message(data(play.answer(request(system=system, max_tokens=0, stream=False, tools=[]))))
    assert (warm.content, warm.stop_reason, warm.usage.written, warm.usage.output_tokens) == ((), "max_tokens", 100, 0)
    assert message(play.answer(request(system=system, tools=[]))).usage.read == 100


def test_an_output_limit_cuts_the_last_block():
    play = emulator(f"turns: [{{say: '{LONG}', stop: max_tokens}}, {{do: [{{read: {'x' * 80}}}], stop: max_tokens}}]")
    text = message(play.answer(request()))
    assert text.stop_reason == "max_tokens"
    assert 0 < len(text.content[0].text) < len(LONG)
    call = message(play.answer(request()))
    assert (call.calls, len(call.cut)) == ((), 1)


def test_an_output_limit_without_streaming():
    play = emulator("turns: [{say: abcdef, stop: max_tokens}, {do: [{read: a.py}], stop: max_tokens}]")
    text, call = (parse_message(data(play.answer(request(stream=False)))) for _ in range(2))
    assert text.content == (TextBlock("abc"),)
    assert (call.calls, len(call.cut)) == ((), 1)


def test_time_passes_before_a_turn_and_ends_the_cache():
    play = emulator("turns: [{say: a}, {say: b, wait: 299}, {say: c, wait: 300}]", cache_minimum=1)
    system = [{"type": "text", "text": "s" * 375, "cache_control": {"type": "ephemeral"}}]
    reads = [message(play.answer(request(system=system))).usage.read > 0 for _ in range(3)]
    assert (reads, play.now) == ([False, True, False], 599.0)


def test_a_refusing_fault_comes_as_often_as_it_says_and_then_the_turn():
    play = emulator(
        "turns: [{say: a, faults: [{status: 429, retry_after: 7, times: 2}, {status: 529, message: full}]}]"
    )
    replies = [play.answer(request()) for _ in range(4)]
    assert [reply.status for reply in replies] == [429, 429, 529, 200]
    assert dict(replies[0].headers)["retry-after"] == "7"
    assert error(replies[2]) == {"type": "overloaded_error", "message": "full"}
    assert [recorded.use is None for recorded in play.requests] == [True, True, True, False]


def test_a_fault_can_carry_an_error_code():
    play = emulator("turns: [{say: a, faults: [{status: 429, code: contract_spend_limit_reached}]}]")
    assert error(play.answer(request()))["details"] == {"error_code": "contract_spend_limit_reached"}


@pytest.mark.parametrize(("fault", "last"), [("reset: 3", Reset()), ("stall: 2", Stall()), ("reset: 0", Reset())])
def test_a_breaking_fault_comes_after_so_many_events_and_the_turn_is_kept(fault, last):
    play = emulator(f"turns: [{{say: a, faults: [{{{fault}}}]}}]")
    broken = play.answer(request())
    assert broken.steps[-1] == last
    assert len(broken.steps) == int(fault[-1]) + 1
    whole = play.answer(request())
    assert whole.steps[: len(broken.steps) - 1] == broken.steps[:-1]
    assert message(whole).content == (TextBlock("a"),)


def test_a_torn_event_and_an_error_event():
    play = emulator("turns: [{say: a, faults: [{torn: 3}, {error: overloaded_error, after: 3}]}]")
    torn, failed, whole = (play.answer(request()) for _ in range(3))
    assert data(whole).startswith(data(torn))
    assert not data(torn).endswith(b"\n\n")
    assert data(torn).count(b"\n\n") == 3
    assert data(failed).endswith(
        b'{"type": "error", "error": {"type": "overloaded_error", "message": "a scripted fault"}}\n\n'
    )
    assert message(torn).stop_reason is None


def test_a_slow_answer_is_whole_and_uses_the_turn():
    play = emulator("turns: [{say: a, faults: [{slow: 0.5}]}, {say: b}]")
    slow = play.answer(request())
    assert {step for step in slow.steps if isinstance(step, Pause)} == {Pause(0.5)}
    assert message(slow).content == (TextBlock("a"),)
    assert message(play.answer(request())).content == (TextBlock("b"),)


def test_requests_are_recorded_byte_for_byte_and_without_credentials():
    play = emulator("turns: [{say: a}]")
    sent = request()
    play.answer(sent)
    (recorded,) = play.requests
    assert (recorded.request.body, recorded.status) == (sent.body, 200)
    assert "k-secret" not in repr(recorded)
    assert recorded.request.headers["anthropic-version"] == "2026-10-21"


def test_request_ids_count_up():
    play = emulator("turns: [{say: a}]")
    ids = [dict(play.answer(request()).headers)["request-id"] for _ in range(2)]
    assert ids == ["req_emulated_0001", "req_emulated_0002"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["messages", "system", "tools", "cache_control", "speed", "thinking", "tool_choice", "output_config"]
)


@given(fields=st.dictionaries(FIELDS, JSON, max_size=3))
def test_no_body_breaks_the_stand_in(fields):
    reply = emulator("turns: [{say: a}]").answer(request(**fields))
    assert reply.status in {200, 400}
