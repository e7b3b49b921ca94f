"""The fold against its floor: one bare encode of all blocks plus one sha256 of the result.

Decides the histories (300, 1,000 and 10,000 messages of the seeded generator) and what counts as one more turn: an answer, its tool result, and
the request that follows, without joining or sending the body.
"""

from __future__ import annotations

import hashlib

import msgspec

from benchmarks.measure import Row, best_of, best_of_each
from compositor.context.explain import spans
from compositor.context.finish import finish
from compositor.context.prefix import empty_prefix, extend
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.request import Compiled
from tests.properties.building import FACTS, HEAD, OPTIONS, WIRE
from tests.properties.strategies import conversation

SIZES = (300, 1_000, 10_000)


def rows() -> list[Row]:
    measured: list[Row] = []
    for size in SIZES:
        measured.extend(_rows_for(tuple(conversation(size + 1 - size % 2))))
    one_more = [row for row in measured if row.name.startswith("one more turn")]
    measured.append(
        Row(
            name=f"one more turn, {SIZES[-1]:,} against {SIZES[0]}",
            value=one_more[-1].value,
            floor=one_more[0].value,
            floor_name=f"one more turn at {SIZES[0]}",
        )
    )
    return measured


def _rows_for(entries: tuple[TranscriptEntry, ...]) -> list[Row]:
    count = len(entries)
    rounds = 9 if count > 5_000 else 25
    encode_and_hash = f"encode + sha256 of {count:,} messages"
    floor, cold, with_spans = best_of_each(
        rounds, lambda: _bare(entries), lambda: _cold(entries), lambda: spans(_cold(entries))
    )
    more = min(_turns(entries) for _ in range(rounds))
    return [
        Row(name=f"cold compile, {count:,} messages", value=cold, floor=floor, floor_name=encode_and_hash),
        Row(name=f"cold compile with spans, {count:,}", value=with_spans, floor=floor, floor_name=encode_and_hash),
        Row(name=f"spans over none, {count:,}", value=with_spans, floor=cold, floor_name="cold compile"),
        Row(name=f"one more turn, {count:,}", value=more, floor=floor, floor_name=encode_and_hash),
    ]


def _turns(entries: tuple[TranscriptEntry, ...], turns: int = 50) -> float:
    """Milliseconds of one more turn, as the mean of several in a row: each extends the newest prefix, as a session does."""
    prefix = extend(empty_prefix(HEAD, FACTS, WIRE), entries)
    coming = [_next_turn(len(entries) + 2 * number) for number in range(turns)]

    def take() -> None:
        nonlocal prefix
        for answer, result in coming:
            prefix = extend(extend(prefix, (answer,)), (result,))
            finish(prefix, OPTIONS)

    return best_of(1, take) / turns


def _bare(entries: tuple[TranscriptEntry, ...]) -> str:
    messages = [
        {"role": "user" if isinstance(entry, UserEntry) else "assistant", "content": entry.content}
        for entry in entries
        if isinstance(entry, (UserEntry, AssistantEntry))
    ]
    return hashlib.sha256(msgspec.json.encode(messages)).hexdigest()


def _cold(entries: tuple[TranscriptEntry, ...]) -> Compiled:
    return finish(extend(empty_prefix(HEAD, FACTS, WIRE), entries), OPTIONS)


def _next_turn(number: int) -> tuple[TranscriptEntry, ...]:
    call = f"toolu_next_{number}"
    answer = AssistantEntry(
        uuid=f"a{number}",
        parent=None,
        time="2026-11-30T12:00:00.000Z",
        message_id=f"msg_{number}",
        model=OPTIONS.model,
        content=(
            TextBlock("Done with this part. " * 10),
            ToolUseBlock(call, "Read", raw_json({"file_path": "/src/a.py"})),
        ),
        stop_reason="tool_use",
    )
    result = UserEntry(
        uuid=f"u{number + 1}",
        parent=None,
        time="2026-11-30T12:00:01.000Z",
        content=(ToolResultBlock(call, "a line of the file\n" * 10),),
    )
    return (answer, result)
