"""Bytes to events. Expected values come from the wire page, section 7, and from the event-stream format."""

import itertools
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.wire.decode import Decoder, parse_event
from compositor.errors import StreamProtocolError

STREAM = (
    b"event: message_start\n"
    b'data: {"type":"message_start","message":{"id":"msg_1","model":"m-1","content":[],"usage":{"input_tokens":3}}}\n\n'
    b": a comment, as a proxy sends it to keep the line open\n\n"
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n'
    b'event: ping\ndata: {"type": "ping"}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"h\xc3\xa9llo \xf0\x9f\x91\x8b"}}\n\n'
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
    b'"usage":{"output_tokens":7}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)
EXPECTED = [
    ("MessageStart", {"id": "msg_1", "model": "m-1"}),
    ("BlockStart", {"index": 0, "block": {"type": "text", "text": ""}}),
    ("Ping", {}),
    ("BlockDelta", {"index": 0, "kind": "text_delta", "delta": {"type": "text_delta", "text": "héllo 👋"}}),
    ("BlockStop", {"index": 0}),
    ("MessageDelta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}),
    ("MessageStop", {}),
]


def plain(event):
    return type(event).__name__, msgspec.json.decode(msgspec.json.encode(event))


def decode(*pieces):
    decoder = Decoder()
    return [plain(event) for piece in pieces for event in decoder.feed(piece)] + [
        plain(event) for event in decoder.flush()
    ]


def without_message(events):
    return [(name, {key: value for key, value in fields.items() if key != "message"}) for name, fields in events]


def test_events_of_a_whole_stream():
    assert without_message(decode(STREAM)) == EXPECTED


def test_message_start_keeps_the_raw_message():
    ((_, fields), *_rest) = decode(STREAM)
    assert fields["message"] == {"id": "msg_1", "model": "m-1", "content": [], "usage": {"input_tokens": 3}}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_one_byte_at_a_time_with_each_line_end(line_end):
    stream = STREAM.replace(b"\n", line_end)
    assert without_message(decode(*(bytes([byte]) for byte in stream))) == EXPECTED


@given(cuts=st.lists(st.integers(0, len(STREAM) + 40), max_size=12), line_end=st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_cut_gives_the_same_events(cuts, line_end):
    stream = STREAM.replace(b"\n", line_end)
    edges = [0, *sorted(cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(edges)]
    assert without_message(decode(*pieces)) == EXPECTED


def test_an_event_comes_with_its_last_byte_and_not_later():
    decoder = Decoder()
    assert decoder.feed(b'event: ping\ndata: {"type":"ping"}\n') == ()
    assert [plain(event) for event in decoder.feed(b"\n")] == [("Ping", {})]


def test_data_over_several_lines_is_joined_with_line_feeds():
    events = decode(b'event: content_block_stop\ndata: {"type":"content_block_stop",\ndata: "index":4}\n\n')
    assert events == [("BlockStop", {"index": 4})]


def test_data_without_the_space_after_the_colon_and_other_fields():
    assert decode(b'id: 7\nretry: 100\nevent:ping\ndata:{"type":"ping"}\n\n') == [("Ping", {})]


def test_a_byte_order_mark_is_no_part_of_the_first_line():
    assert decode(b'\xef\xbb\xbfevent: ping\ndata: {"type":"ping"}\n\n') == [("Ping", {})]


def test_an_event_without_a_name_is_known_by_its_type():
    assert decode(b'data: {"type":"message_stop"}\n\n') == [("MessageStop", {})]


def test_a_frame_without_data_is_no_event():
    assert decode(b"event: message_stop\n\n: only a comment\n\n\n\n") == []


def test_an_unknown_event_goes_through_the_unknown_door_whole():
    data = b'{"type":"weather","sky":[1, 2]}'
    (event,) = Decoder().feed(b"event: weather\ndata: " + data + b"\n\n")
    assert type(event).__name__ == "UnknownEvent"
    assert (event.type, bytes(event.raw)) == ("weather", data)


def test_an_unknown_delta_keeps_its_kind():
    (event,) = Decoder().feed(b'data: {"type":"content_block_delta","index":2,"delta":{"type":"new_delta","x":1}}\n\n')
    assert (event.index, event.kind) == (2, "new_delta")


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        b'{"error":{"type":"overloaded_error","message":"Overloaded"},"request_id":null}',
    ],
)
def test_an_error_event_is_a_failure_with_type_and_message(data):
    (event,) = Decoder().feed(b"event: error\ndata: " + data + b"\n\n")
    assert (type(event).__name__, event.type, event.message) == ("StreamFailure", "overloaded_error", "Overloaded")


def test_an_error_event_without_a_reason_is_still_a_failure():
    (event,) = Decoder().feed(b'event: error\ndata: {"type":"error"}\n\n')
    assert (type(event).__name__, event.type) == ("StreamFailure", "api_error")


@pytest.mark.parametrize(
    "data",
    [
        b"{broken",
        b"[1]",
        b"[DONE]",
        b'"text"',
        b'{"type":"content_block_stop"}',
        b'{"type":"content_block_start","index":0}',
        b'{"type":"content_block_stop","index":"0"}',
        b'{"type":"message_delta"}',
        b'{"type":"message_start"}',
        b'{"type":"content_block_delta","index":0,"delta":[]}',
    ],
)
def test_a_frame_that_is_no_event_is_an_error(data):
    with pytest.raises(StreamProtocolError, match="cannot be read"):
        Decoder().feed(b"event: x\ndata: " + data + b"\n\n")


def test_a_lone_surrogate_costs_itself_alone():
    data = rb'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83db"}}'
    event = parse_event("content_block_delta", data)
    assert json.loads(bytes(event.delta))["text"] == "a\ufffdb"


def test_a_torn_character_costs_itself_alone():
    data = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\xf0\x9fb"}}'
    event = parse_event("content_block_delta", data)
    assert json.loads(bytes(event.delta))["text"] == "a\ufffdb"


def test_the_last_frame_counts_without_its_blank_line():
    assert decode(b'data: {"type":"message_stop"}') == [("MessageStop", {})]


def test_a_torn_last_frame_is_dropped():
    assert decode(b'data: {"type":"ping"}\n\ndata: {"type":"message_st') == [("Ping", {})]


def test_a_line_of_a_megabyte_in_single_bytes_is_read_in_linear_time():
    # Copying what is there already for each byte would take minutes and run into the time limit.
    text = "x" * 1_000_000
    frame = b'data: {"type":"weather","text":"' + text.encode() + b'"}\n\n'
    ((_, fields),) = decode(*(frame[place : place + 1] for place in range(len(frame))))
    assert fields["raw"]["text"] == text
