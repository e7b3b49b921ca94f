"""What a model does not take is taken out of a message of the past; the message stays (R157)."""

from __future__ import annotations

import json

import pytest

from compositor.context.prefix import empty_prefix, extend
from compositor.context.transcript.foreign import load_foreign
from compositor.context.transcript.graph import active_path
from compositor.types.snapshot import Facts
from tests.properties.building import HEAD, WIRE

SAME, OTHER = "claude-sonnet-5-5", "claude-opus-4-8"
CONTENT = [
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "text", "text": "I look."},
    {"type": "text", "text": " "},
    {"type": "tool_use", "id": "t1", "name": "Read", "input": {}},
]
RESULT = [
    {"type": "tool_result", "tool_use_id": "t1", "content": "beta"},
    {"type": "hologram", "depth": 3},
    {"type": "text", "text": "And then?"},
]
RECORDS = [
    {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "begin"}},
    {
        "type": "assistant",
        "uuid": "a1",
        "parentUuid": "u1",
        "message": {"id": "m1", "role": "assistant", "model": SAME, "content": CONTENT, "stop_reason": "tool_use"},
    },
    {"type": "user", "uuid": "u2", "parentUuid": "a1", "message": {"role": "user", "content": RESULT}},
]


@pytest.mark.req("R157", "R423")
@pytest.mark.parametrize(
    ("model", "binds", "kept"),
    [
        (SAME, False, ["thinking", "text", "tool_use"]),
        (SAME, True, ["text", "tool_use"]),
        (OTHER, False, ["text", "tool_use"]),
        (OTHER, True, ["text", "tool_use"]),
    ],
)
def test_only_the_block_goes(model: str, binds: bool, kept: list[str]) -> None:
    lines = [
        json.dumps({**record, "timestamp": f"2026-01-01T00:00:0{place}Z"}).encode() + b"\n"
        for place, record in enumerate(RECORDS)
    ]
    entries = active_path(load_foreign(lines).entries).entries
    prefix = extend(empty_prefix(HEAD, Facts(model=model, binds_thinking=binds), WIRE), entries)
    messages = [json.loads(chunk.data) for chunk in (*prefix.settled, *prefix.tail.chunks)]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in messages[1]["content"]] == kept
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "text"]
    told = {omission.what for omission in (*prefix.omissions, *prefix.tail.omissions)}
    assert "a 'hologram' block" in told
    assert ("a 'thinking' block" in told) is ("thinking" not in kept)
