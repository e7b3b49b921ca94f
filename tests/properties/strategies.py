"""Shared strategies for histories, and a seeded generator for bulk.

A history is a list of entries as a hostile world would store it: unanswered calls, stray and doubled results, empty text, unknown
blocks, unfinished answers, internal markers, repeated and illegal ids.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from hypothesis import strategies as st

from compositor.types.attachments import TextAttachment, UnknownAttachment
from compositor.types.blocks import (
    ContentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    ProgressEntry,
    TranscriptEntry,
    UnknownEntry,
    UserEntry,
)
from compositor.types.json import Raw, raw_json, repair_text

History = tuple[TranscriptEntry, ...]

MODEL = "claude-sonnet-5-5"
TIME = "2026-11-30T12:00:00.000Z"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

texts = st.one_of(
    st.sampled_from(["", " ", "\n\t ", "go on", "</system-reminder>", "a\u2028b", '{"x": "\\ud83d"}', "é漢😀"]),
    st.text(max_size=40).map(repair_text),
)
call_ids = st.one_of(
    st.sampled_from(["t1", "t2", "t3", "grep:3", "", "toolu_01"]), st.text(max_size=6).map(repair_text)
)
json_objects = st.dictionaries(
    st.sampled_from(["command", "file_path", "n", "x"]), st.one_of(texts, st.integers()), max_size=3
)


@st.composite
def results(draw: st.DrawFn, ids: list[str]) -> ToolResultBlock:
    call_id = draw(st.sampled_from(ids)) if ids and draw(st.integers(0, 9)) else draw(call_ids)
    image = ImageBlock(raw_json({"type": "base64", "media_type": "image/png", "data": PIXEL}))
    content = draw(
        st.one_of(
            texts,
            st.none(),
            st.lists(st.one_of(texts.map(TextBlock), st.just(image)), max_size=3).map(tuple),
        )
    )
    return ToolResultBlock(call_id, content, is_error=draw(st.sampled_from([None, True, False])))


odd_blocks: st.SearchStrategy[ContentBlock] = st.sampled_from(
    [
        UnknownBlock("hologram", Raw(b'{"type":"hologram","depth":3}')),
        ToolReferenceBlock("mcp__x__y"),
        ThinkingBlock("hm", "c2ln"),
        RedactedThinkingBlock("b3BhcXVl"),
    ]
)


@st.composite
def user_entries(draw: st.DrawFn, number: int, ids: list[str]) -> UserEntry:
    blocks: list[ContentBlock] = [
        draw(st.one_of(texts.map(TextBlock), results(ids), odd_blocks)) for _ in range(draw(st.integers(0, 4)))
    ]
    return UserEntry(uuid=f"u{number}", parent=None, time=TIME, content=tuple(blocks), is_meta=draw(st.booleans()))


@st.composite
def assistant_entries(draw: st.DrawFn, number: int) -> AssistantEntry:
    calls = [
        ToolUseBlock(draw(call_ids), draw(st.sampled_from(["Read", "Bash"])), raw_json(draw(json_objects)))
        for _ in range(draw(st.integers(0, 3)))
    ]
    blocks: list[ContentBlock] = []
    if draw(st.booleans()):
        blocks.append(ThinkingBlock(draw(texts), draw(st.sampled_from(["", "c2ln"]))))
    blocks.extend(draw(st.lists(texts.map(TextBlock), max_size=2)))
    blocks.extend(calls)
    if not draw(st.integers(0, 9)):
        blocks.append(draw(odd_blocks))
    return AssistantEntry(
        uuid=f"a{number}",
        parent=None,
        time=TIME,
        message_id=f"msg_{number}",
        model=draw(st.sampled_from([MODEL, "claude-opus-4-6"])),
        content=tuple(blocks),
        stop_reason=draw(st.sampled_from(["end_turn", "tool_use", "tool_use", "max_tokens", None])),
    )


@st.composite
def other_entries(draw: st.DrawFn, number: int) -> TranscriptEntry:
    uuid = f"o{number}"
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return MarkerEntry(uuid=uuid, parent=None, time=TIME, subtype="notice", detail=Raw(b"{}"))
    if kind == 1:
        return ProgressEntry(uuid=uuid, parent=None, time=TIME, text="working")
    if kind == 2:
        return UnknownEntry(uuid=uuid, parent=None, time=TIME, type="new", raw=Raw(b'{"type":"new"}'))
    if kind == 3:
        attachment = TextAttachment(kind="note", text=draw(texts))
        return AttachmentEntry(uuid=uuid, parent=None, time=TIME, attachment=attachment)
    unknown = UnknownAttachment(kind="hologram", raw=Raw(b"{}"))
    return AttachmentEntry(uuid=uuid, parent=None, time=TIME, attachment=unknown)


@st.composite
def histories(draw: st.DrawFn, longest: int = 14) -> tuple[TranscriptEntry, ...]:
    """A history in the order of its active path."""
    entries: list[TranscriptEntry] = []
    ids: list[str] = []
    for number in range(draw(st.integers(0, longest))):
        kind = draw(st.integers(0, 9))
        if kind < 4:
            entry: TranscriptEntry = draw(user_entries(number, ids))
        elif kind < 8:
            entry = draw(assistant_entries(number))
            ids = [block.id for block in entry.content if isinstance(block, ToolUseBlock)]
        else:
            entry = draw(other_entries(number))
        entries.append(entry)
    return tuple(entries)


def conversation(messages: int, seed: int = 0, size: int = 600) -> Iterator[TranscriptEntry]:
    """A well-formed conversation of about `messages` wire messages, `size` bytes each: bulk for laws and benchmarks."""
    rng = random.Random(seed)
    words = ["alpha", "beta", "gamma", "delta", "\n", "def f(x):", "return", "{", "}", '"quoted"', "päth/tö/file.py"]
    open_id: str | None = None
    for number in range(messages):
        text = " ".join(rng.choice(words) for _ in range(max(1, rng.randrange(size // 5))))
        if number % 2 == 0:
            block: ContentBlock = (
                TextBlock(f"{number} {text}") if open_id is None else ToolResultBlock(open_id, f"{number} {text}")
            )
            yield UserEntry(uuid=f"u{number}", parent=None, time=TIME, content=(block,))
            continue
        open_id = f"toolu_{number:08d}" if rng.random() < 0.7 else None
        call = () if open_id is None else (ToolUseBlock(open_id, "Read", raw_json({"file_path": f"/src/{number}.py"})),)
        yield AssistantEntry(
            uuid=f"a{number}",
            parent=None,
            time=TIME,
            message_id=f"msg_{number}",
            model=MODEL,
            content=(TextBlock(f"{number} {text}"), *call),
            stop_reason="end_turn" if open_id is None else "tool_use",
        )
