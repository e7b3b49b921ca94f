"""One more turn costs what is new (laws 2 and 3, R405), counted in calls and bytes, never in time. Times are in `benchmarks/`."""

from __future__ import annotations

import sys
from types import FrameType
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.cache.positions import Line, TokenTally, extend_tally, request_positions
from compositor.context.explain import first_difference
from compositor.context.finish import finish
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.context.wire import canonical
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.messages import WireMessage
from compositor.types.request import Chunk
from tests.properties.building import BARE, FACTS, HEAD, MODEL, OPTIONS, WIRE
from tests.properties.strategies import TIME, conversation

SIZES = (300, 3_000)


def next_turn() -> tuple[TranscriptEntry, TranscriptEntry]:
    call = ToolUseBlock("toolu_next", "Read", raw_json({"file_path": "/src/a.py"}))
    answer = AssistantEntry(
        uuid="next",
        parent=None,
        time=TIME,
        message_id="m",
        model=MODEL,
        content=(TextBlock("I look."), call),
        stop_reason="tool_use",
    )
    return answer, UserEntry(uuid="seen", parent=None, time=TIME, content=(ToolResultBlock("toolu_next", "alpha"),))


def long_prefix(messages: int) -> Prefix:
    return extend(empty_prefix(HEAD, FACTS, WIRE), tuple(conversation(messages + 1)))


def take_turn(prefix: Prefix, tally: TokenTally) -> None:
    """What a session does between two requests: the answer, its result, the request, its difference from the one before and its forecast;
    nothing is joined or sent."""
    before = finish(prefix, OPTIONS)
    answer, result = next_turn()
    prefix = extend(extend(prefix, (answer,)), (result,))
    compiled = finish(prefix, OPTIONS)
    line = Line(
        compiled=compiled,
        boundaries=prefix.boundaries,
        mark=prefix.tail.mark,
        tally=extend_tally(tally, compiled.settled),
    )
    request_positions(line)
    assert first_difference(before, compiled) is None


def calls_of_a_turn(messages: int) -> int:
    prefix = long_prefix(messages)
    tally = extend_tally(TokenTally(), prefix.settled)
    take_turn(prefix, tally)  # whatever is made once is made here
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        take_turn(prefix, tally)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.req("R405")
def test_one_more_turn_takes_as_many_calls_behind_a_long_history_as_behind_a_short_one() -> None:
    short, long = (calls_of_a_turn(messages) for messages in SIZES)
    assert long <= short * 1.02


@pytest.mark.req("R405")
def test_one_more_turn_encodes_what_is_new_and_nothing_else() -> None:
    prefix = long_prefix(SIZES[1])
    encoded: list[WireMessage] = []

    def encode(messages: list[WireMessage]) -> tuple[Chunk, ...]:
        encoded.extend(messages)
        return canonical.encode_messages(messages)

    with patch("compositor.context.messages.rounds.encode_messages", encode):
        take_turn(prefix, extend_tally(TokenTally(), prefix.settled))
    # The open round settles (2 messages), the new one is rendered with a stand-in for its result and with the result itself (2 and 2).
    new = [
        message for message in encoded if any(getattr(part.block, "id", "") == "toolu_next" for part in message.parts)
    ]
    assert len(new) == 2
    assert len(encoded) == 6


@given(st.integers(0, 12), st.integers(0, 12), st.booleans())
def test_the_messages_from_an_index_on_are_the_last_of_all(messages: int, index: int, bare: bool) -> None:
    compiled = finish(
        extend(empty_prefix(BARE if bare else HEAD, FACTS, WIRE), tuple(conversation(2 * messages + 1))), OPTIONS
    )
    assert compiled.messages_from(index) == tuple(compiled.message_chunks())[index:]


@pytest.mark.req("R405")
def test_settled_chunks_are_the_same_objects_one_turn_later() -> None:
    prefix = long_prefix(SIZES[0])
    answer, result = next_turn()
    later = extend(extend(prefix, (answer,)), (result,))
    assert later.settled.continues(prefix.settled)
    assert later.legality.call_ids._places is prefix.legality.call_ids._places
