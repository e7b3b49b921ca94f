"""What a session goes on with: the path of its outline, filled, and the journal that concerns it."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from compositor.context.messages.human import is_human_prompt
from compositor.context.transcript.codec import Record, SessionHeader, encode_record
from compositor.context.transcript.history import History, history_of_outline
from compositor.context.transcript.outline import Place, outline_transcript
from compositor.context.transcript.rewind import plan_rewind, plan_undo
from compositor.errors import TranscriptError, TranscriptFormatError
from compositor.types.blocks import TextBlock, ToolResultBlock
from compositor.types.entries import AssistantEntry, MarkerEntry, UserEntry
from compositor.types.journal import OutcomeRecord, SendOutcome, SendRecord
from compositor.types.json import EMPTY_OBJECT, raw_json
from compositor.types.origin import Origin
from compositor.types.request import RequestOptions
from compositor.types.snapshot import EventName, PrefixEvent

HEADER = SessionHeader(session_id="s", time="t", cwd="/p")


def said(uuid: str, parent: str | None, time: int, *, meta: bool = False, text: str = "hi") -> UserEntry:
    return UserEntry(uuid=uuid, parent=parent, time=f"{time:03}", content=(TextBlock(text),), is_meta=meta)


def answered(uuid: str, parent: str, time: int, message: str = "") -> AssistantEntry:
    return AssistantEntry(
        uuid=uuid,
        parent=parent,
        time=f"{time:03}",
        message_id=message or f"m-{uuid}",
        model="x",
        content=(TextBlock(uuid),),
        stop_reason="end_turn",
    )


def sent(request: str, leaf: str, *, answer: bool = True) -> list[Record]:
    record = SendRecord(
        request_id=request,
        time="t",
        head_digest="h",
        view_digest=f"view-{request}",
        size=1,
        leaf=leaf,
        sent=(),
        markers=(),
        options=RequestOptions(model="x", max_tokens=1),
        profile="x",
    )
    outcome = SendOutcome.ANSWERED if answer else SendOutcome.LOST
    return [record, OutcomeRecord(request_id=request, time="t", outcome=outcome)]


def history(records: Sequence[Record], leaf: str | None = None) -> History:
    data = b"".join(map(encode_record, records))
    file = io.BytesIO(data)
    outline = outline_transcript(io.BytesIO(data))

    def read(place: Place) -> bytes:
        file.seek(place.offset)
        return file.read(place.size)

    return history_of_outline(outline, read, leaf)


def ids(found: History) -> list[str]:
    return [entry.uuid for entry in found.path.entries]


LINE: list[Record] = [
    HEADER,
    said("u1", None, 1),
    *sent("r1", "u1"),
    answered("a1", "u1", 2),
    said("u2", "a1", 3),
    *sent("r2", "u2", answer=False),
]
COMPACTED: list[Record] = [
    *LINE,
    MarkerEntry(uuid="b", parent="u2", time="004", subtype="compact_boundary", detail=EMPTY_OBJECT),
    said("s", "b", 5, meta=True),
]


def test_the_path_is_filled_with_what_its_entries_say() -> None:
    found = history(LINE)
    assert found.path.entries == (LINE[1], LINE[4], LINE[5])
    assert (found.header, found.path.tip) == (HEADER, "u2")
    assert [send.record.request_id for send in found.journal.sends] == ["r1", "r2"]


def test_markers_are_filled_too() -> None:
    marker = MarkerEntry(uuid="m", parent="u2", time="004", subtype="notice", detail=raw_json({"text": "switched"}))
    assert history([*LINE, marker]).path.markers == (marker,)


def test_a_message_in_several_records_is_filled_as_one() -> None:
    found = history([HEADER, said("u1", None, 1), answered("a1", "u1", 2, "m"), answered("a2", "a1", 3, "m")])
    (_, message) = found.path.entries
    assert isinstance(message, AssistantEntry)
    assert message.content == (TextBlock("a1"), TextBlock("a2"))


@pytest.mark.req("R152", "R424")
def test_after_a_compaction_the_journal_goes_back_to_the_newest_answer_only() -> None:
    """Its head is replayed; what was sent before that concerns a prefix that is not sent any more."""
    more = [HEADER, said("u0", None, 0), *sent("r0", "u0"), *LINE[1:], *COMPACTED[len(LINE) :]]
    found = history(more)
    assert ids(found) == ["s"]
    assert [send.record.request_id for send in found.journal.sends] == ["r1", "r2"]
    later = history([*more, *sent("r3", "s"), answered("a3", "s", 6)])
    assert [send.record.request_id for send in later.journal.sends] == ["r3"]


def rewound(entry: str | None) -> PrefixEvent:
    return PrefixEvent(name=EventName.REWIND, cause="asked for", entry=entry)


@pytest.mark.req("R149")
def test_a_rewind_holds_until_something_is_said() -> None:
    assert ids(history([*LINE, rewound("a1")])) == ["u1", "a1"]
    assert ids(history([*LINE, rewound(None)])) == []
    assert ids(history([*LINE, rewound("a1"), rewound("u2")])) == ["u1", "a1", "u2"]
    assert ids(history([*LINE, rewound("u1"), said("u3", "u1", 9)])) == ["u1", "u3"]
    assert ids(history([*LINE, rewound("a1")], leaf="u2")) == ["u1", "a1", "u2"]


def test_an_undo_goes_before_the_last_words_of_a_person() -> None:
    machine = UserEntry(uuid="t", parent="u2", time="006", content=(TextBlock("x"),), origin=Origin.TASK_NOTIFICATION)
    result = UserEntry(uuid="r", parent="t", time="007", content=(ToolResultBlock("c", "x"),))
    records = [*LINE, machine, result]
    outline = outline_transcript(io.BytesIO(b"".join(map(encode_record, records))))
    assert plan_undo(outline, history(records).path, is_human_prompt).entry == "a1"
    assert plan_rewind(outline, "a").entry == "a1"
    with pytest.raises(TranscriptError, match="no entry 'zz'"):
        plan_rewind(outline, "zz")
    with pytest.raises(TranscriptError, match="more than one entry 'u'"):
        plan_rewind(outline, "u")


def test_a_later_version_is_refused_by_the_scan_too() -> None:
    with pytest.raises(TranscriptFormatError, match="format version 7"):
        outline_transcript([b'{"type":"session","version":7,"id":"s","time":"t","cwd":"/p"}\n'])
