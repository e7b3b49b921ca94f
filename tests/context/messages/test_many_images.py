"""F06: twenty-five pictures, each legal alone, on send and on load. The judge is the stand-in for the service."""

from __future__ import annotations

import base64
import struct

import pytest

from compositor.context.compile import compile_request
from compositor.context.finish import finish
from compositor.context.prefix import empty_prefix, extend
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.rules import check_request
from compositor.types.blocks import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import decode_json, raw_json
from compositor.types.request import Compiled
from compositor.types.snapshot import Snapshot
from tests.context.messages.test_cases import reloaded
from tests.properties.building import BARE, FACTS, OPTIONS, WIRE
from tests.properties.strategies import MODEL, TIME

PICTURES = 25
SCREENSHOT = (1170, 2532)
SCALED = (924, 2000)
SERVICE = ServiceProfile(max_output=128_000, system_role=True, window=1_000_000)


def picture(number: int, size: tuple[int, int]) -> ImageBlock:
    """A PNG of this size as far as its head; the number makes each one a picture of its own."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", *size) + b"\x08\x02\0\0\0" + bytes([number])
    data = base64.b64encode(head).decode()
    return ImageBlock(source=raw_json({"type": "base64", "media_type": "image/png", "data": data}))


def pasted(number: int, size: tuple[int, int]) -> tuple[TranscriptEntry, ...]:
    return (
        UserEntry(uuid=f"u{number}", parent=None, time=TIME, content=(picture(number, size), TextBlock("look"))),
        answer(f"a{number}", TextBlock("I see")),
    )


def read(number: int, size: tuple[int, int]) -> tuple[TranscriptEntry, ...]:
    """The picture is the result of a call."""
    call = ToolUseBlock(f"t{number}", "Read", raw_json({}))
    result = ToolResultBlock(f"t{number}", (picture(number, size),))
    return (
        UserEntry(uuid=f"u{number}", parent=None, time=TIME, content=(TextBlock("look"),)),
        answer(f"c{number}", call),
        UserEntry(uuid=f"r{number}", parent=None, time=TIME, content=(result,)),
        answer(f"a{number}", TextBlock("I see")),
    )


def answer(uuid: str, block: TextBlock | ToolUseBlock) -> AssistantEntry:
    stop = "tool_use" if isinstance(block, ToolUseBlock) else "end_turn"
    return AssistantEntry(
        uuid=uuid, parent=None, time=TIME, message_id=uuid, model=MODEL, content=(block,), stop_reason=stop
    )


def is_taken(compiled: Compiled) -> bool:
    return check_request(decode_json(compiled.body), dict(compiled.headers), SERVICE) is None


def shown(compiled: Compiled) -> int:
    return compiled.body.count(b'"type":"image"')


QUESTION = UserEntry(uuid="last", parent=None, time=TIME, content=(TextBlock("and now?"),))


@pytest.mark.req("R178")
@pytest.mark.parametrize("turn", [pasted, read])
@pytest.mark.parametrize(("size", "expected"), [(SCREENSHOT, 20), (SCALED, PICTURES)], ids=["as taken", "scaled"])
def test_on_send_every_request_of_the_session_is_taken(turn, size, expected) -> None:
    """Unscaled pictures are shown up to the twentieth, each later one is a note; what was sent stays as it was."""
    prefix = empty_prefix(BARE, FACTS, WIRE)
    sent: list[bytes] = []
    for number in range(PICTURES):
        for entry in turn(number, size):
            prefix = extend(prefix, (entry,))
            if isinstance(entry, UserEntry):
                compiled = finish(prefix, OPTIONS)
                assert is_taken(compiled)
                assert shown(compiled) <= expected
                chunks = [chunk.data for chunk in compiled.message_chunks()]
                assert chunks[: len(sent)] == sent
                sent = chunks
    last = finish(extend(prefix, (QUESTION,)), OPTIONS)
    assert shown(last) == expected
    omitted = [omission for omission in last.omissions if omission.step == "set aside"]
    assert len(omitted) == PICTURES - expected
    assert all("(L141)" in omission.reason for omission in omitted)
    assert last.body.count(b"(Something stood here that cannot be sent") == PICTURES - expected


@pytest.mark.req("R178")
@pytest.mark.parametrize("turn", [pasted, read])
@pytest.mark.parametrize(("size", "expected"), [(SCREENSHOT, 20), (SCALED, PICTURES)], ids=["as taken", "scaled"])
def test_on_load_the_session_goes_on_with_the_same_bytes(turn, size, expected) -> None:
    entries = (*(entry for number in range(PICTURES) for entry in turn(number, size)), QUESTION)
    loaded = compile_request(Snapshot(head=BARE, entries=reloaded(entries), facts=FACTS, options=OPTIONS), WIRE)
    assert is_taken(loaded)
    assert shown(loaded) == expected
    assert loaded.body == finish(extend(empty_prefix(BARE, FACTS, WIRE), entries), OPTIONS).body


@pytest.mark.req("R178")
def test_a_request_of_many_pictures_at_once_keeps_the_oldest() -> None:
    """All twenty-five in one message, and a hundred and three in a window of 200,000 tokens (L143)."""
    for count, size, expected, window in ((25, SCREENSHOT, 20, None), (103, SCALED, 100, 200_000)):
        content = tuple(picture(number, size) for number in range(count))
        entry = UserEntry(uuid="u", parent=None, time=TIME, content=content)
        wire = (
            WIRE if window is None else type(WIRE)(prefill=False, system_role=True, max_output=128_000, window=window)
        )
        compiled = compile_request(Snapshot(head=BARE, entries=(entry,), facts=FACTS, options=OPTIONS), wire)
        assert is_taken(compiled)
        assert shown(compiled) == expected
        message = decode_json(compiled.body)["messages"][0]["content"]
        assert [block["type"] for block in message] == ["image"] * expected + ["text"] * (count - expected)
