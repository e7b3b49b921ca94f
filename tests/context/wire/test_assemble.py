"""Events to an answer. Expected values come from the wire page, section 7, and from field reports F03, F05 and F37."""

import json

import msgspec
import pytest

from compositor.context.wire.assemble import PartialMessage, assemble, parse_message
from compositor.context.wire.decode import parse_event
from compositor.errors import StreamProtocolError
from compositor.types.blocks import (
    RedactedThinkingBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from compositor.types.usage import CacheCreation, Usage


def event(kind, **fields):
    return parse_event(kind, json.dumps({"type": kind, **fields}).encode())


def start(**usage):
    return event("message_start", message={"id": "msg_1", "model": "m-1", "content": [], "usage": usage})


def block(index, opening, *deltas, stop=True):
    yield event("content_block_start", index=index, content_block=opening)
    for delta in deltas:
        yield event("content_block_delta", index=index, delta=delta)
    if stop:
        yield event("content_block_stop", index=index)


def text(index, *pieces, **opening):
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": "", **opening}, *deltas)


def call(index, call_id, *pieces, stop=True, **opening):
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": call_id, "name": "Read", "input": {}, **opening}, *deltas, stop=stop)


def end(stop_reason="end_turn", usage=None, **delta):
    delta_event = event("message_delta", delta={"stop_reason": stop_reason, **delta}, usage=usage or {})
    return [delta_event, event("message_stop")]


def test_text_is_concatenated_and_the_message_is_identified():
    message = assemble([start(input_tokens=3), *text(0, "Good ", "day"), *end()])
    assert (message.id, message.model, message.stop_reason) == ("msg_1", "m-1", "end_turn")
    assert message.content == (TextBlock("Good day"),)
    assert message.notes == ()


def test_thinking_gets_its_signature_from_its_own_delta():
    deltas = (
        {"type": "thinking_delta", "thinking": "first "},
        {"type": "thinking_delta", "thinking": "then"},
        {"type": "signature_delta", "signature": "c2ln"},
    )
    message = assemble(
        [start(), *block(0, {"type": "thinking", "thinking": "", "signature": ""}, *deltas), *text(1, "x"), *end()]
    )
    assert message.content == (ThinkingBlock("first then", "c2ln"), TextBlock("x"))


def test_thinking_with_omitted_display_has_an_empty_text_and_its_signature():
    deltas = ({"type": "signature_delta", "signature": "c2ln"},)
    message = assemble([start(), *block(0, {"type": "thinking", "thinking": ""}, *deltas), *end()])
    assert message.content == (ThinkingBlock("", "c2ln"),)


def test_redacted_thinking_arrives_whole():
    message = assemble([start(), *block(0, {"type": "redacted_thinking", "data": "AbC="}), *end()])
    assert message.content == (RedactedThinkingBlock("AbC="),)


def test_tool_input_is_concatenated_and_keeps_its_bytes():
    message = assemble([start(), *call(0, "toolu_1", "", '{"b": 1.1', '0, "a":', " [1e2]}"), *end("tool_use")])
    (found,) = message.content
    assert isinstance(found, ToolUseBlock)
    assert bytes(found.input) == b'{"b": 1.10, "a": [1e2]}'


def test_tool_input_on_several_lines_is_put_on_one():
    message = assemble([start(), *call(0, "toolu_1", '{\n  "a": "x",\n "b": 2}'), *end("tool_use")])
    data = bytes(message.content[0].input)
    assert b"\n" not in data
    assert json.loads(data) == {"a": "x", "b": 2}


@pytest.mark.parametrize("pieces", [(), ("",), ("", "")])
def test_an_empty_total_is_an_empty_object(pieces):
    message = assemble([start(), *call(0, "toolu_1", *pieces), *end("tool_use")])
    assert [(found.name, bytes(found.input)) for found in message.calls] == [("Read", b"{}")]


def test_a_server_tool_use_is_filled_like_a_client_call_but_is_none():
    opening = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"query":"x"}'}
    message = assemble([start(), *block(0, opening, delta), *end()])
    (found,) = message.content
    assert isinstance(found, ServerToolUseBlock)
    assert bytes(found.input) == b'{"query":"x"}'
    assert message.calls == ()


def test_citations_are_collected_in_order():
    deltas = (
        {"type": "text_delta", "text": "see"},
        {"type": "citations_delta", "citation": {"n": 1}},
        {"type": "citations_delta", "citation": {"n": 2}},
    )
    opening = {"type": "text", "text": "", "citations": []}
    (found,) = assemble([start(), *block(0, opening, *deltas), *end()]).content
    assert json.loads(msgspec.json.encode(found.citations)) == [{"n": 1}, {"n": 2}]


@pytest.mark.req("R014")
def test_the_caller_of_a_call_is_kept_and_the_call_counts():
    message = assemble([start(), *call(0, "toolu_1", "{}", caller={"type": "direct"}), *end("tool_use")])
    assert [found.id for found in message.calls] == ["toolu_1"]
    assert json.loads(msgspec.json.encode(message.content[0]))["caller"] == {"type": "direct"}


def test_null_fields_are_not_written_back():
    (found,) = assemble([start(), *text(0, "x", citations=None), *end()]).content
    assert msgspec.json.encode(found) == b'{"type":"text","text":"x"}'


def test_an_unknown_block_is_kept_as_it_came():
    opening = {"type": "hologram", "depth": [1, None]}
    (found,) = assemble([start(), *block(0, opening), *end()]).content
    assert isinstance(found, UnknownBlock)
    assert json.loads(bytes(found.raw)) == opening


def test_an_unknown_delta_is_left_out_with_a_note():
    deltas = ({"type": "text_delta", "text": "a"}, {"type": "smell_delta", "smell": "b"})
    message = assemble([start(), *block(0, {"type": "text", "text": ""}, *deltas), *end()])
    assert message.content == (TextBlock("a"),)
    assert message.notes == ("a 'smell_delta' of block 0 is unknown and was left out",)


def test_a_compaction_block_gets_its_content():
    deltas = ({"type": "compaction_delta", "content": "the story so far"},)
    message = assemble([start(), *block(0, {"type": "compaction", "content": None}, *deltas), *end("compaction")])
    assert json.loads(bytes(message.content[0].raw)) == {"type": "compaction", "content": "the story so far"}


@pytest.mark.req("R014")
def test_calls_count_only_when_the_message_has_ended():
    events = [start(), *call(0, "toolu_1", '{"a":1}'), *end("tool_use")]
    before = assemble(events[:-1])
    assert (before.stop_reason, before.calls) == (None, ())
    assert [block.id for block in before.content] == ["toolu_1"]
    assert [found.id for found in assemble(events).calls] == ["toolu_1"]


@pytest.mark.req("R014")
def test_a_call_cut_at_the_output_limit_is_left_out_and_marked():
    events = [
        start(),
        *text(0, "I write"),
        *call(1, "toolu_1", '{"path":"a.html","content":"<html>'),
        *end("max_tokens"),
    ]
    message = assemble(events)
    assert message.content == (TextBlock("I write"),)
    assert message.calls == ()
    assert [(cut.id, cut.name) for cut in message.cut] == [("toolu_1", "Read")]
    assert message.stop_reason == "max_tokens"


def test_the_complete_call_beside_a_cut_one_counts():
    events = [start(), *call(0, "toolu_1", '{"a":1}'), *call(1, "toolu_2", '{"a":'), *end("max_tokens")]
    message = assemble(events)
    assert [found.id for found in message.calls] == ["toolu_1"]
    assert [cut.id for cut in message.cut] == ["toolu_2"]


def test_a_silent_last_call_at_the_output_limit_is_cut_and_not_an_empty_object():
    message = assemble([start(), *call(0, "toolu_1", ""), *end("max_tokens")])
    assert (message.calls, [cut.id for cut in message.cut]) == ((), ["toolu_1"])


def test_a_call_without_its_stop_is_cut_even_if_its_json_is_whole():
    message = assemble([start(), *call(0, "toolu_1", "{}", stop=False), *end("tool_use")])
    assert (message.calls, [cut.id for cut in message.cut]) == ((), ["toolu_1"])


@pytest.mark.parametrize("given", ["[1]", '"text"', "null", "{}}"])
def test_an_input_that_is_no_object_is_cut(given):
    message = assemble([start(), *call(0, "toolu_1", given), *end("tool_use")])
    assert (message.calls, [cut.id for cut in message.cut]) == ((), ["toolu_1"])


def test_blocks_stand_by_their_index_not_by_arrival():
    first = list(text(0, "a"))
    second = list(text(1, "b"))
    message = assemble([start(), first[0], *second, *first[1:], *end()])
    assert message.content == (TextBlock("a"), TextBlock("b"))


def test_growing_snapshots_give_each_block_once():
    a, b, c = (list(call(index, f"toolu_{index}", "{}")) for index in range(3))
    message = assemble([start(), *a, *a, *b, *a, *b, *c, *end("tool_use")])
    assert [found.id for found in message.calls] == ["toolu_0", "toolu_1", "toolu_2"]


def test_a_second_start_begins_the_answer_anew():
    other = event("message_start", message={"id": "msg_2", "model": "m-2", "usage": {"input_tokens": 9}})
    message = assemble([start(input_tokens=1), *call(0, "toolu_1", "{"), other, *text(0, "x"), *end()])
    assert (message.id, message.model, message.usage.input_tokens) == ("msg_2", "m-2", 9)
    assert message.content == (TextBlock("x"),)
    assert message.cut == ()
    assert message.notes == ("the stream began anew; what came before was left out",)


def test_a_fallback_block_names_the_model_that_answered():
    opening = {"type": "fallback", "from": {"model": "m-1"}, "to": {"model": "m-2"}}
    assert assemble([start(), *block(0, opening), *text(1, "x"), *end()]).model == "m-2"


def test_usage_of_message_delta_overwrites_and_absent_counters_stay():
    creation = {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 2}
    first = start(
        input_tokens=10,
        output_tokens=1,
        cache_creation_input_tokens=7,
        cache_read_input_tokens=4,
        cache_creation=creation,
    )
    news = {"input_tokens": 12, "output_tokens": 30, "cache_read_input_tokens": None, "server_tool_use": {"n": 1}}
    assert assemble([first, *end(usage=news)]).usage == Usage(
        input_tokens=12,
        output_tokens=30,
        cache_creation_input_tokens=7,
        cache_read_input_tokens=4,
        cache_creation=CacheCreation(ephemeral_5m_input_tokens=5, ephemeral_1h_input_tokens=2),
    )


def test_the_last_of_several_message_deltas_counts():
    first = event("message_delta", delta={"stop_reason": None}, usage={"output_tokens": 5})
    message = assemble([start(input_tokens=2), first, *end("pause_turn", {"output_tokens": 9})])
    assert (message.stop_reason, message.usage) == ("pause_turn", Usage(input_tokens=2, output_tokens=9))


def test_a_refusal_brings_its_details():
    message = assemble([start(), *end("refusal", stop_details={"category": "cyber"})])
    assert message.stop_reason == "refusal"
    assert json.loads(bytes(message.stop_details)) == {"category": "cyber"}


@pytest.mark.parametrize(
    "events",
    [
        list(text(0, "x")),
        [event("message_stop")],
        [start(), event("content_block_delta", index=0, delta={"type": "text_delta", "text": "x"})],
        [start(), event("content_block_stop", index=0)],
        [start(), *text(0, "x"), event("content_block_delta", index=0, delta={"type": "text_delta", "text": "x"})],
        [start(), event("message_delta", delta={}, usage={"output_tokens": "many"})],
    ],
)
def test_events_that_cannot_follow_are_an_error(events):
    with pytest.raises(StreamProtocolError):
        assemble(events)


def test_adding_changes_no_earlier_value():
    one = (
        PartialMessage()
        .add(start())
        .add(event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
    )
    two = one.add(event("content_block_delta", index=0, delta={"type": "text_delta", "text": "left"}))
    three = one.add(event("content_block_delta", index=0, delta={"type": "text_delta", "text": "right"}))
    contents = [message.result().content for message in (one, two, three)]
    assert contents == [(TextBlock(""),), (TextBlock("left"),), (TextBlock("right"),)]


def test_an_answer_without_streaming_gives_the_same_value():
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "tool_use", "stop_sequence": None,
        "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"a": 1}}],
        "usage": {"input_tokens": 4, "output_tokens": 5},
    }  # fmt: skip
    whole = parse_message(json.dumps(body, indent=1).encode())
    streamed = assemble(
        [start(input_tokens=4), *text(0, "x"), *call(1, "toolu_1", '{"a": 1}'), *end("tool_use", {"output_tokens": 5})]
    )
    for message in (whole, streamed):
        assert (message.id, message.model, message.stop_reason) == ("msg_1", "m-1", "tool_use")
        assert message.content[0] == TextBlock("x")
        assert json.loads(bytes(message.calls[0].input)) == {"a": 1}
        assert message.usage == Usage(input_tokens=4, output_tokens=5)


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b'{"type":"error"}', b'{"type":"message","content":3}'])
def test_a_document_that_is_no_message_is_an_error(body):
    with pytest.raises(StreamProtocolError):
        parse_message(body)
