"""A transcript from its lines: what counts, what is skipped, and that both are told."""

import pytest

from compositor.context.transcript.codec import Damaged, SessionHeader, encode_record
from compositor.context.transcript.load import (
    TranscriptFormat,
    detect_format,
    load_transcript,
    split_lines,
)
from compositor.errors import TranscriptFormatError
from compositor.types.blocks import TextBlock
from compositor.types.entries import UserEntry
from compositor.types.snapshot import EventName, PrefixEvent

HEADER = SessionHeader(session_id="s1", time="2026-01-01T00:00:00.000Z", cwd="/p")


def user(uuid: str, parent: str | None, text: str = "hi") -> UserEntry:
    return UserEntry(uuid=uuid, parent=parent, time=f"t{uuid}", content=(TextBlock(text),))


def line(uuid: str, parent: str | None, text: str = "hi") -> bytes:
    return encode_record(user(uuid, parent, text))


@pytest.mark.req("R148", "R149")
def test_header_entries_and_journal_are_told_apart() -> None:
    event = PrefixEvent(name=EventName.CLEAR, cause="asked")
    loaded = load_transcript([encode_record(HEADER), line("1", None), encode_record(event), line("2", "1")])
    assert loaded.header == HEADER
    assert loaded.entries == (user("1", None), user("2", "1"))
    assert loaded.journal.events == (event,)
    assert loaded.diagnostics == ()


def test_a_line_of_nul_bytes_costs_only_itself_and_is_told_once() -> None:
    good = [line(str(n), str(n - 1) if n > 1 else None) for n in range(1, 7)]
    loaded = load_transcript([encode_record(HEADER), *good[:3], b"\0" * 300 + b"\n", *good[3:]])
    assert [entry.uuid for entry in loaded.entries] == ["1", "2", "3", "4", "5", "6"]
    assert loaded.damaged == (Damaged(5, "NUL bytes instead of a record"),)
    assert [(found.message, found.where) for found in loaded.diagnostics] == [
        ("1 damaged line skipped: line 5 (NUL bytes instead of a record).", "line 5")
    ]


@pytest.mark.parametrize("bad", [b'{"type":"user","id":\n', b"17\n", b"\n"])
def test_variants_of_a_damaged_line(bad: bytes) -> None:
    loaded = load_transcript([encode_record(HEADER), line("1", None), bad, line("2", "1")])
    assert [entry.uuid for entry in loaded.entries] == ["1", "2"]
    assert len(loaded.damaged) == 1


def test_many_damaged_lines_are_all_counted() -> None:
    loaded = load_transcript([encode_record(HEADER), *[b"x\n"] * 9, line("1", None)])
    assert len(loaded.damaged) == 9
    assert loaded.diagnostics[0].message.startswith("9 damaged lines skipped: line 2 (not JSON)")
    assert loaded.diagnostics[0].message.endswith("and 4 more.")


def test_an_unfinished_last_line_is_no_damage() -> None:
    loaded = load_transcript([encode_record(HEADER), line("1", None), b'{"type":"assistant","mess'])
    assert [entry.uuid for entry in loaded.entries] == ["1"]
    assert loaded.damaged == ()
    assert [found.code for found in loaded.diagnostics] == ["transcript.torn_tail"]


def test_a_whole_last_record_without_its_line_break_counts() -> None:
    loaded = load_transcript([encode_record(HEADER), line("1", None), line("2", "1").rstrip()])
    assert [entry.uuid for entry in loaded.entries] == ["1", "2"]
    assert loaded.diagnostics == ()


def test_a_damaged_line_before_a_good_last_one_is_not_taken_for_a_torn_tail() -> None:
    loaded = load_transcript([encode_record(HEADER), b"x\n", line("1", None).rstrip()])
    assert loaded.damaged == (Damaged(2, "not JSON"),)


def test_a_later_version_is_refused_with_line_and_number() -> None:
    newer = encode_record(HEADER).replace(b'"version":0', b'"version":3')
    with pytest.raises(TranscriptFormatError, match="format version 3") as refused:
        load_transcript([newer, line("1", None)])
    assert (refused.value.line, refused.value.version) == (1, "3")


def test_unknown_records_are_kept_when_they_have_an_id_and_told_always() -> None:
    loaded = load_transcript(
        [encode_record(HEADER), b'{"type":"poll","id":"p1","parent":null,"time":"t"}\n', b'{"type":"title"}\n']
    )
    assert [entry.uuid for entry in loaded.entries] == ["p1"]
    assert [found.where for found in loaded.diagnostics] == ["line 2", "line 3"]


def test_only_a_line_feed_ends_a_line() -> None:
    data = line("1", None, "a\u2028b\u2029c\x85d\x0be\x1cf")
    assert split_lines(data + b"rest") == [data, b"rest"]
    assert load_transcript(split_lines(data)).entries == (user("1", None, "a\u2028b\u2029c\x85d\x0be\x1cf"),)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([encode_record(HEADER)], TranscriptFormat.OWN),
        ([b"\0\0\n", line("1", None)], TranscriptFormat.OWN),
        ([b'{"type":"summary","summary":"x","leafUuid":"u"}'], TranscriptFormat.FOREIGN),
        ([b"garbage", b'{"type":"user","uuid":"u","sessionId":"s","message":{}}'], TranscriptFormat.FOREIGN),
        ([b'{"type":"file-history-snapshot","messageId":"m","snapshot":{}}'], TranscriptFormat.FOREIGN),
        ([b'{"model":"m","messages":[]}'], None),
        ([b"hello", b"17", b"[" * 100_000], None),
        ([], None),
    ],
)
def test_the_format_is_told_from_the_first_lines(lines: list[bytes], expected: TranscriptFormat | None) -> None:
    assert detect_format(lines) is expected
