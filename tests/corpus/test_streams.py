"""The decoder and the assembler over recorded public streams, against a plain reading of the same bytes by the standard library."""

import gzip
import json
import os
import random
from pathlib import Path

import msgspec
import pytest
import yaml

from compositor.context.wire.assemble import assemble
from compositor.context.wire.decode import Decoder
from compositor.types.blocks import UnknownBlock, block_type

pytestmark = pytest.mark.corpus


def requests_folder():
    folder = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")) / "requests"
    assert folder.is_dir(), f"the corpus is not at {folder}; set COMPOSITOR_CORPUS"
    return folder


def recorded_streams():
    """(name, bytes) of every recorded event stream."""
    for path in sorted(requests_folder().rglob("*.yaml")):
        for number, interaction in enumerate(yaml.safe_load(path.read_text())["interactions"]):
            body = interaction["response"].get("body")
            data = body.get("string") if isinstance(body, dict) else body
            if isinstance(data, str):
                data = data.encode()
            if isinstance(data, bytes):
                data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
                if data.startswith(b"event:"):
                    yield f"{path.name}:{number}", data
    for path in sorted(requests_folder().rglob("*.chunks.jsonl")):
        lines = [line for line in path.read_text().splitlines() if line.strip()]
        for number, answer in enumerate(split_answers(lines)):
            yield f"{path.name}:{number}", "".join(f"data: {line}\n\n" for line in answer).encode()


def split_answers(lines):
    answers, current = [], []
    for line in lines:
        current.append(line)
        if json.loads(line)["type"] == "message_stop":
            answers.append(current)
            current = []
    return [*answers, current] if current else answers


STREAMS = dict(recorded_streams())


def test_the_corpus_has_the_streams_that_were_recorded():
    assert len(STREAMS) >= 40


def plain(events):
    return [(type(event).__name__, msgspec.json.encode(event)) for event in events]


def decode(pieces):
    decoder = Decoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + list(decoder.flush())


@pytest.mark.parametrize("name", STREAMS)
def test_one_byte_at_a_time_and_any_cut_give_the_same_events(name):
    data = STREAMS[name]
    whole = plain(decode([data]))
    assert len(whole) == sum(line.startswith(b"data:") for line in data.splitlines())
    if len(data) < 60_000:
        assert plain(decode(data[place : place + 1] for place in range(len(data)))) == whole
    chance = random.Random(name)
    for _ in range(5):
        cuts = sorted(chance.randrange(len(data)) for _ in range(30))
        pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert plain(decode(pieces)) == whole


# Every position of a long stream would mean decoding it as often as it has bytes. Between two events the decoder is always in the same state, so
# cutting each event at each of its positions is the same proof at a small part of the cost.
ALL_PLACES = 8_000


@pytest.mark.parametrize("name", STREAMS)
def test_cut_in_two_at_every_position_the_events_are_the_same(name):
    data = STREAMS[name]
    whole = plain(decode([data]))
    if len(data) <= ALL_PLACES:
        places = range(len(data) + 1)
        assert [place for place in places if plain(decode([data[:place], data[place:]])) != whole] == []
        return
    given, found = events_of(data), []
    assert b"".join(given) == data
    for event in given:
        alone, ended = from_between([event])
        assert ended == BETWEEN, "the decoder is between two events again"
        wrong = [
            place for place in range(len(event) + 1) if from_between([event[:place], event[place:]]) != (alone, ended)
        ]
        assert wrong == []
        assert from_between(event[place : place + 1] for place in range(len(event))) == (alone, ended)
        found += alone
    assert found == whole


def events_of(data):
    """The stream in its events, each with the blank line behind it; an end without one is an event of its own."""
    end = b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
    *complete, rest = data.split(end)
    return [*(event + end for event in complete), *([rest + end] if rest else [])]


def state(decoder):
    """All that a decoder remembers."""
    return {name: list(value) if isinstance(value, list) else value for name, value in vars(decoder).items()}


def between():
    """A decoder that has read something and stands between two events."""
    decoder = Decoder()
    assert decoder.feed(b":\n") == ()
    return decoder


BETWEEN = state(between())


def from_between(pieces):
    decoder = between()
    events = plain(event for piece in pieces for event in decoder.feed(piece))
    return events, state(decoder)


def read_plainly(data):
    """The answer by the plainest means: what follows the last message_start, block by block."""
    events = [json.loads(line[5:]) for line in data.decode().splitlines() if line.startswith("data:")]
    starts = [index for index, event in enumerate(events) if event["type"] == "message_start"]
    blocks, usage, stop = {}, {}, None
    for event in events[starts[-1] :]:
        if event["type"] == "message_start":
            usage = {**event["message"]["usage"]}
        elif event["type"] == "content_block_start":
            blocks[event["index"]] = {**event["content_block"], "~input": ""}
        elif event["type"] == "content_block_delta":
            add(blocks[event["index"]], event["delta"])
        elif event["type"] == "message_delta":
            stop = event["delta"]["stop_reason"]
            usage.update({key: value for key, value in event.get("usage", {}).items() if value is not None})
    return [finish(blocks[index]) for index in sorted(blocks)], usage, stop


def add(block, delta):
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "input_json_delta":
            block["~input"] += delta["partial_json"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        case "compaction_delta":
            block["content"] = delta["content"]
        case kind:
            raise AssertionError(f"the corpus holds a delta that this test does not know: {kind!r}")


def finish(block):
    text = block.pop("~input")
    if text:
        block["input"] = json.loads(text)
    return {key: value for key, value in block.items() if value is not None}


@pytest.mark.parametrize("name", STREAMS)
def test_the_answer_is_what_a_plain_reading_gives(name):
    data = STREAMS[name]
    blocks, usage, stop = read_plainly(data)
    message = assemble(decode([data]))
    found = [json.loads(msgspec.json.encode(block, enc_hook=lambda unknown: unknown.raw)) for block in message.content]
    bare = [{key: value for key, value in block.items() if value is not None} for block in found]
    assert bare == blocks
    assert message.stop_reason == stop
    assert (message.usage.input_tokens, message.usage.output_tokens) == (usage["input_tokens"], usage["output_tokens"])
    assert message.usage.read == (usage.get("cache_read_input_tokens") or 0)
    assert message.usage.written == (usage.get("cache_creation_input_tokens") or 0)
    assert message.cut == ()
    assert [call.id for call in message.calls] == [block["id"] for block in blocks if block["type"] == "tool_use"]


@pytest.mark.parametrize("name", STREAMS)
def test_no_block_of_a_known_type_takes_the_unknown_door(name):
    known = {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"}
    message = assemble(decode([STREAMS[name]]))
    assert [
        block_type(block) for block in message.content if isinstance(block, UnknownBlock) and block.type in known
    ] == []
