"""The line format of a transcript: every record comes back, and every line gives something."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from compositor.context.transcript.codec import (
    Damaged,
    Record,
    SessionHeader,
    decode_line,
    decode_with_notes,
    encode_record,
)
from compositor.errors import TranscriptFormatError
from compositor.types.attachments import (
    DiffAttachment,
    FileAttachment,
    ListingAttachment,
    MediaAttachment,
    QueuedInput,
    TextAttachment,
    UnknownAttachment,
)
from compositor.types.blocks import (
    TextBlock,
    ToolUseBlock,
)
from compositor.types.entries import AssistantEntry, AttachmentEntry, MarkerEntry, Origin, UnknownEntry, UserEntry
from compositor.types.gathering import Gathered
from compositor.types.journal import OutcomeRecord, SendOutcome, SendRecord, SentEntry
from compositor.types.provenance import Lane
from compositor.types.request import CacheRegion, MarkerPlan, RequestOptions, Ttl
from compositor.types.snapshot import EventName, PrefixEvent
from compositor.types.usage import Usage
from tests.context.transcript.any_record import raws, records


def test_the_strategies_fill_every_field() -> None:
    """A field added to a record must be added to its shape: the property below shows it only if the field is varied."""
    covered = {
        SendRecord: 18,
        Gathered: 6,
        FileAttachment: 6,
        DiffAttachment: 6,
        ListingAttachment: 5,
        MediaAttachment: 4,
        RequestOptions: 20,
        MarkerPlan: 6,
        SentEntry: 2,
        OutcomeRecord: 9,
        PrefixEvent: 3,
        UserEntry: 7,
        AssistantEntry: 10,
        MarkerEntry: 6,
        AttachmentEntry: 5,
        SessionHeader: 8,
        UnknownEntry: 5,
        TextAttachment: 5,
        QueuedInput: 3,
        Usage: 5,
    }
    assert {kind: len(kind.__struct_fields__) for kind in covered} == covered


@pytest.mark.req("R149", "R161", "R168", "R423", "R424")
@given(records)
def test_every_record_comes_back_from_its_line(record: Record) -> None:
    line = encode_record(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_line(line) == record


@given(st.binary(max_size=200) | st.text().map(str.encode) | raws.map(bytes))
def test_any_line_gives_a_record_or_damage(data: bytes) -> None:
    decoded = decode_line(data, line=7)
    if isinstance(decoded, Damaged):
        assert decoded.line == 7
        assert decoded.reason
    else:
        assert decode_line(encode_record(decoded)) == decoded


GOLDEN = [
    (
        SessionHeader(session_id="s1", time="2026-01-01T00:00:00.000Z", cwd="/p", program="compositor/0.1.0"),
        (
            b'{"type":"session","version":0,"id":"s1","time":"2026-01-01T00:00:00.000Z","cwd":"/p",'
            b'"program":"compositor/0.1.0"}\n'
        ),
    ),
    (
        UserEntry(uuid="u1", parent=None, time="t", content=(TextBlock("hi"),)),
        b'{"type":"user","id":"u1","parent":null,"time":"t","content":[{"type":"text","text":"hi"}]}\n',
    ),
    (
        UserEntry(uuid="u2", parent="u1", time="t", content=(), origin=Origin.TASK_NOTIFICATION, is_meta=True),
        b'{"type":"user","id":"u2","parent":"u1","time":"t","origin":"task_notification","meta":true,"content":[]}\n',
    ),
    (
        AssistantEntry(
            uuid="a1",
            parent="u1",
            time="t",
            message_id="msg_1",
            model="m",
            content=(ToolUseBlock("toolu_1", "Read", Raw(b'{"b":1,"a":2}')),),
            stop_reason="tool_use",
            usage=Usage(input_tokens=3, output_tokens=4, cache_read_input_tokens=5),
            prefix_digest="d1",
        ),
        (
            b'{"type":"assistant","id":"a1","parent":"u1","time":"t","message_id":"msg_1","model":"m",'
            b'"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5},'
            b'"prefix_digest":"d1","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"b":1,"a":2}}]}\n'
        ),
    ),
    (
        AttachmentEntry(uuid="x1", parent="a1", time="t", attachment=TextAttachment(kind="date", text="now", line=0)),
        (
            b'{"type":"attachment","id":"x1","parent":"a1","time":"t",'
            b'"attachment":{"shape":"text","kind":"date","text":"now","line":0}}\n'
        ),
    ),
    (
        MarkerEntry(uuid="m1", parent="x1", time="t", subtype="compact_boundary", detail=Raw(b'{"n":1}')),
        b'{"type":"marker","id":"m1","parent":"x1","time":"t","subtype":"compact_boundary","detail":{"n":1}}\n',
    ),
    (
        OutcomeRecord(request_id="r1", time="t", outcome=SendOutcome.LOST, detail="no answer"),
        b'{"type":"outcome","request_id":"r1","time":"t","outcome":"lost","detail":"no answer"}\n',
    ),
    (
        PrefixEvent(name=EventName.REWIND, cause="asked", entry="u1"),
        b'{"type":"event","name":"rewind","cause":"asked","entry":"u1"}\n',
    ),
    (
        SendRecord(
            request_id="r1",
            time="t",
            head_digest="h",
            view_digest="v",
            size=10,
            leaf="u1",
            sent=(SentEntry("u1"), SentEntry("x1", Lane.REMINDER)),
            markers=(MarkerPlan(region=CacheRegion.MESSAGES, index=0, ttl=Ttl.LONG, reason="tail"),),
            options=RequestOptions(model="m", max_tokens=9, thinking=Raw(b'{"type":"adaptive"}'), api_version="v1"),
            profile="p",
            forecast_read=0,
        ),
        (
            b'{"type":"send","request_id":"r1","time":"t","head_digest":"h","view_digest":"v","size":10,'
            b'"leaf":"u1","sent":[{"entry":"u1"},{"entry":"x1","lane":"reminder"}],'
            b'"markers":[{"region":"messages","index":0,"ttl":"1h","reason":"tail"}],'
            b'"options":{"model":"m","max_tokens":9,"api_version":"v1","thinking":{"type":"adaptive"}},'
            b'"profile":"p","forecast_read":0}\n'
        ),
    ),
]


@pytest.mark.parametrize(("record", "line"), GOLDEN, ids=[type(record).__name__ for record, _ in GOLDEN])
def test_the_format_is_spelled_like_this(record: Record, line: bytes) -> None:
    assert encode_record(record) == line
    assert decode_line(line) == record


def test_lone_surrogates_are_repaired_in_strings_and_in_raw_json() -> None:
    call = ToolUseBlock("toolu_1", "Write", Raw(b'{"text":"a\\ud83d"}'))
    entry = AssistantEntry(
        uuid="a1",
        parent=None,
        time="t",
        message_id="m",
        model="m",
        content=(TextBlock("b\ude00"), call),
        stop_reason="x",
    )
    decoded = decode_line(encode_record(entry))
    assert isinstance(decoded, AssistantEntry)
    assert decoded.content == (TextBlock("b\ufffd"), ToolUseBlock("toolu_1", "Write", Raw(b'{"text":"a\\ufffd"}')))


def test_raw_json_over_several_lines_stays_on_one() -> None:
    entry = MarkerEntry(uuid="m1", parent=None, time="t", subtype="s", detail=Raw(b'{\n  "a": 1\r\n}'))
    assert encode_record(entry).count(b"\n") == 1
    decoded = decode_line(encode_record(entry))
    assert isinstance(decoded, MarkerEntry)
    assert msgspec.json.decode(decoded.detail) == {"a": 1}


@pytest.mark.parametrize("raw", [b"{broken", b"", b'"\xff"'])
def test_raw_bytes_that_are_no_json_are_refused_before_they_spoil_a_line(raw: bytes) -> None:
    with pytest.raises(TranscriptFormatError, match="raw bytes that are not JSON"):
        encode_record(MarkerEntry(uuid="m1", parent=None, time="t", subtype="s", detail=Raw(raw)))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\0" * 300, "NUL bytes instead of a record"),
        (b"\r\n", "an empty line"),
        (b'{"type":"assistant","mess', "not JSON"),
        (b"17\n", "JSON, but not an object"),
        (b'{"id":"x"}\n', "an object without a type"),
        (b'{"type":"user"\0,"id":"x"}\n', "NUL bytes inside the record"),
        (b"[" * 200_000, "not JSON"),
        (
            b'{"type":"marker","id":"m","parent":null,"time":"t","subtype":"s","detail":' + b"[" * 100_000,
            "nested too deeply",
        ),
    ],
)
def test_a_line_that_holds_no_record_is_damaged(line: bytes, reason: str) -> None:
    assert decode_line(line, line=4) == Damaged(4, reason)


USER = UserEntry(uuid="u1", parent=None, time="t", content=(TextBlock("hé"),))


@pytest.mark.parametrize(
    "line",
    [
        encode_record(USER).replace(b"\n", b"\r\n"),
        encode_record(USER).rstrip(),
        b"\xef\xbb\xbf" + encode_record(USER),
        b"\0\0\0" + encode_record(USER),
    ],
    ids=["CRLF", "no line break", "byte order mark", "after NUL bytes"],
)
def test_dirt_around_a_record_does_not_cost_it(line: bytes) -> None:
    assert decode_line(line) == USER


def test_invalid_utf8_costs_a_character_and_is_told() -> None:
    decoded = decode_with_notes(encode_record(USER).replace("é".encode(), b"\xe9"))
    assert decoded.record == UserEntry(uuid="u1", parent=None, time="t", content=(TextBlock("h\ufffd"),))
    assert decoded.notes == ("invalid text was replaced by U+FFFD",)


def test_a_record_of_a_later_version_is_kept_whole_and_written_back_as_it_came() -> None:
    line = b'{"type":"weather","id":"w1","parent":"u1","time":"t","sky": "grey"}\n'
    decoded = decode_with_notes(line)
    assert decoded.record == UnknownEntry(uuid="w1", parent="u1", time="t", type="weather", raw=Raw(line.strip()))
    assert len(decoded.notes) == 1
    assert isinstance(decoded.record, UnknownEntry)
    assert encode_record(decoded.record) == line


def test_a_known_type_of_unknown_shape_goes_through_the_unknown_door() -> None:
    line = b'{"type":"user","id":"u9","parent":"u1","time":"t","content":17}'
    assert decode_line(line) == UnknownEntry(uuid="u9", parent="u1", time="t", type="user", raw=Raw(line))


def test_an_answer_whose_content_is_no_list_is_kept_but_not_used() -> None:
    line = encode_record(GOLDEN[3][0]).replace(b'"content":[', b'"content":{"a":[').replace(b"]}\n", b"]}}\n")
    decoded = decode_with_notes(line)
    assert isinstance(decoded.record, UnknownEntry)
    assert decoded.notes == ("a 'assistant' record is kept but not used: content is neither text nor a list of blocks",)


def test_invalid_text_in_a_record_of_a_later_version_is_repaired_too() -> None:
    decoded = decode_with_notes(b'{"type":"weather","id":"w1","sky":"gr\xe9y"}')
    assert isinstance(decoded.record, UnknownEntry)
    assert bytes(decoded.record.raw) == '{"type":"weather","id":"w1","sky":"gr\ufffdy"}'.encode()
    assert len(decoded.notes) == 2


def test_lone_surrogates_outside_of_content_are_repaired() -> None:
    header = SessionHeader(session_id="s", time="t", cwd="/p/\udcff")
    assert decode_line(encode_record(header)) == SessionHeader(session_id="s", time="t", cwd="/p/\ufffd")


def test_an_unknown_origin_is_unclassified_and_told() -> None:
    line = encode_record(UserEntry(uuid="u1", parent=None, time="t", content=(), origin=Origin.PEER))
    decoded = decode_with_notes(line.replace(b"peer", b"satellite"))
    assert isinstance(decoded.record, UserEntry)
    assert decoded.record.origin is Origin.UNCLASSIFIED
    assert "satellite" in decoded.notes[0]


def test_an_attachment_of_a_later_shape_is_kept() -> None:
    line = (
        b'{"type":"attachment","id":"x","parent":null,"time":"t","attachment":{"shape":"list","kind":"k","items":[1]}}'
    )
    decoded = decode_line(line)
    assert isinstance(decoded, AttachmentEntry)
    expected = UnknownAttachment(kind="k", raw=Raw(b'{"shape":"list","kind":"k","items":[1]}'))
    assert decoded.attachment == expected


def test_fields_of_a_later_version_are_kept_and_written_back() -> None:
    line = (
        b'{"type":"user","mood":{"a":[1,2.50]},"id":"u1","parent":null,"time":"t",'
        b'"content":[{"type":"text","text":"hi"}],"seen":true}'
    )
    entry = decode_line(line)
    assert isinstance(entry, UserEntry)
    assert msgspec.json.decode(entry.extra) == {"mood": {"a": [1, 2.5]}, "seen": True}
    stored = encode_record(entry)
    assert msgspec.json.decode(stored) == msgspec.json.decode(line)
    assert decode_line(stored) == entry
