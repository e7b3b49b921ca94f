"""Records of the Claude Code family become the same entries."""

import json
from typing import Any

import pytest

from compositor.context.transcript.codec import decode_line, encode_record
from compositor.context.transcript.foreign import load_foreign
from compositor.context.transcript.graph import active_path
from compositor.types.attachments import UnknownAttachment
from compositor.types.blocks import TextBlock, ToolResultBlock, UnknownBlock
from compositor.types.diagnostics import Diagnostic
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    Origin,
    ProgressEntry,
    UnknownEntry,
    UserEntry,
)
from compositor.types.usage import Usage


def record(kind: str, uuid: str, parent: str | None, **fields: Any) -> bytes:
    base = {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": f"2026-01-01T00:00:{uuid}Z",
    }
    return json.dumps({**base, "isSidechain": False, **fields}).encode() + b"\n"


def user(uuid: str, parent: str | None, content: Any = "hi", **fields: Any) -> bytes:
    return record("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def answer(
    uuid: str, parent: str | None, content: Any, *, message: str = "m1", stop: str | None = None, **fields: Any
) -> bytes:
    body = {"role": "assistant", "id": message, "model": "claude-x", "content": content, "stop_reason": stop}
    return record(
        "assistant", uuid, parent, message={**body, "usage": {"input_tokens": 3, "output_tokens": 2, "x": {}}}, **fields
    )


TEXT = [{"type": "text", "text": "hello"}]
CALL = [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a"}}]


def codes(diagnostics: tuple[Diagnostic, ...]) -> list[str]:
    return [found.code.removeprefix("transcript.") for found in diagnostics]


def test_a_turn_with_a_tool_call() -> None:
    loaded = load_foreign(
        [
            user("01", None, "read it"),
            answer("02", "01", CALL),
            user(
                "03", "02", [{"type": "tool_result", "tool_use_id": "t1", "content": "text"}], toolUseResult={"file": 1}
            ),
            answer("04", "03", TEXT, message="m2"),
        ]
    )
    assert loaded.diagnostics == ()
    assert [entry.parent for entry in loaded.entries] == [None, "01", "02", "03"]
    first, call, result, last = loaded.entries
    assert isinstance(first, UserEntry)
    assert (first.content, first.origin, first.is_meta) == ((TextBlock("read it"),), Origin.HUMAN, False)
    assert isinstance(call, AssistantEntry)
    assert (call.message_id, call.model, call.usage) == ("m1", "claude-x", Usage(input_tokens=3, output_tokens=2))
    assert isinstance(result, UserEntry)
    assert result.content == (ToolResultBlock("t1", "text"),)
    assert isinstance(last, AssistantEntry)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([answer("02", "01", TEXT)], ["end_turn"]),
        ([answer("02", "01", CALL)], ["tool_use"]),
        ([answer("02", "01", TEXT), answer("03", "02", CALL)], ["tool_use", "tool_use"]),
        ([answer("02", "01", TEXT, stop="max_tokens")], ["max_tokens"]),
        ([answer("02", "01", TEXT), answer("03", "02", TEXT, stop="refusal")], ["refusal", "refusal"]),
    ],
)
def test_the_stop_reason_that_was_not_stored_is_told_from_the_message(
    records: list[bytes], expected: list[str]
) -> None:
    """Clients store a block when it is complete, before they know why the answer ends."""
    loaded = load_foreign([user("01", None), *records])
    assert [entry.stop_reason for entry in loaded.entries if isinstance(entry, AssistantEntry)] == expected


def test_meta_and_origin_come_from_their_fields() -> None:
    loaded = load_foreign(
        [
            user("01", None, isMeta=True),
            user("02", "01", origin={"kind": "task-notification"}),
            user("03", "02", origin={"kind": "satellite"}),
            user("04", "03", origin={"kind": "human"}, isMeta=None),
            user("05", "04", [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]),
            user("06", "05", "summary", isCompactSummary=True),
            user("07", "06", "typed"),
        ]
    )
    found = [(entry.is_meta, entry.origin) for entry in loaded.entries if isinstance(entry, UserEntry)]
    assert found == [
        (True, Origin.UNCLASSIFIED),
        (False, Origin.TASK_NOTIFICATION),
        (False, Origin.UNCLASSIFIED),
        (False, Origin.HUMAN),
        (False, Origin.UNCLASSIFIED),
        (False, Origin.UNCLASSIFIED),
        (False, Origin.HUMAN),
    ]


@pytest.mark.req("R156", "R160", "R161", "R168")
def test_progress_and_records_outside_the_chain_are_left_out_counted_and_linked_past() -> None:
    loaded = load_foreign(
        [
            b'{"type":"summary","summary":"old","leafUuid":"x"}\n',
            user("01", None),
            record("progress", "02", "01", data={}),
            record("progress", "03", "02", data={}),
            answer("04", "03", TEXT),
            record("system", "05", "04", subtype="turn_duration", durationMs=5),
        ]
    )
    assert [entry.parent for entry in loaded.entries] == [None, "01", "04"]
    assert not any(isinstance(entry, ProgressEntry) for entry in loaded.entries)
    marker = loaded.entries[2]
    assert isinstance(marker, MarkerEntry)
    assert marker.subtype == "turn_duration"
    assert [found.message for found in loaded.diagnostics] == [
        "2 'progress' records are no part of the conversation.",
        "1 'summary' record is no part of the conversation.",
    ]


def test_sidechains_stand_apart() -> None:
    loaded = load_foreign(
        [
            user("01", None),
            user("02", "01", isSidechain=True),
            answer("03", "02", TEXT, isSidechain=True),
            answer("04", "01", TEXT),
        ]
    )
    assert [entry.uuid for entry in loaded.entries] == ["01", "04"]
    assert [entry.uuid for entry in loaded.sidechains] == ["02", "03"]


def test_a_conversation_that_hangs_on_a_sidechain_record_is_linked_past_it() -> None:
    loaded = load_foreign([user("01", None), user("02", "01", isSidechain=True), answer("03", "02", TEXT)])
    assert [entry.parent for entry in loaded.entries] == [None, "01"]


def test_a_file_of_a_sidechain_alone_is_that_conversation() -> None:
    loaded = load_foreign([user("01", None, isSidechain=True), answer("02", "01", TEXT, isSidechain=True)])
    assert [entry.uuid for entry in loaded.entries] == ["01", "02"]
    assert loaded.sidechains == ()
    assert codes(loaded.diagnostics) == ["sidechain_file"]


def test_an_error_shown_as_an_answer_is_a_marker() -> None:
    loaded = load_foreign([user("01", None), answer("02", "01", TEXT, isApiErrorMessage=True), user("03", "02")])
    path = active_path(loaded.entries)
    assert [entry.uuid for entry in path.entries] == ["01", "03"]
    assert [marker.subtype for marker in path.markers] == ["api_error_message"]
    assert codes(loaded.diagnostics) == ["record"]


def test_attachments_are_kept_raw_with_their_kind() -> None:
    loaded = load_foreign(
        [user("01", None), record("attachment", "02", "01", attachment={"type": "hook_success", "n": 1})]
    )
    entry = loaded.entries[1]
    assert isinstance(entry, AttachmentEntry)
    assert isinstance(entry.attachment, UnknownAttachment)
    assert entry.attachment.kind == "hook_success"
    assert json.loads(bytes(entry.attachment.raw)) == {"type": "hook_success", "n": 1}


@pytest.mark.req("R152")
def test_a_compact_boundary_ends_the_walk() -> None:
    loaded = load_foreign(
        [
            user("01", None),
            answer("02", "01", TEXT),
            record(
                "system",
                "03",
                None,
                subtype="compact_boundary",
                logicalParentUuid="02",
                compactMetadata={"trigger": "auto"},
            ),
            user("04", "03", "summary", isCompactSummary=True),
            answer("05", "04", TEXT, message="m2"),
        ]
    )
    path = active_path(loaded.entries)
    assert [entry.uuid for entry in path.entries] == ["04", "05"]
    assert [marker.subtype for marker in path.markers] == ["compact_boundary"]


def boundary(uuid: str, anchor: str, *kept: str) -> bytes:
    preserved = {"anchorUuid": anchor, "uuids": list(kept)}
    return record("system", uuid, None, subtype="compact_boundary", compactMetadata={"preservedMessages": preserved})


@pytest.mark.req("R153")
def test_preserved_messages_stand_behind_the_summary() -> None:
    loaded = load_foreign(
        [
            user("01", None),
            answer("02", "01", TEXT),
            user("03", "02"),
            answer("04", "03", TEXT, message="m2"),
            boundary("05", "06", "03", "04"),
            user("06", "05", "summary", isCompactSummary=True),
            user("07", "06", "go on"),
        ]
    )
    assert [entry.uuid for entry in active_path(loaded.entries).entries] == ["06", "03", "04", "07"]


@pytest.mark.req("R153")
@pytest.mark.parametrize(
    ("named", "anchor", "expected"),
    [
        (("03", "99"), "06", ["06", "03", "07"]),
        (("98", "99"), "06", ["06", "07"]),
        (("03",), "99", ["06", "07"]),
        (("03", "06"), "06", ["06", "07"]),
    ],
)
def test_preserved_messages_that_are_missing_are_told(named: tuple[str, ...], anchor: str, expected: list[str]) -> None:
    loaded = load_foreign(
        [
            user("01", None),
            user("03", "01"),
            boundary("05", anchor, *named),
            user("06", "05", "summary", isCompactSummary=True),
            user("07", "06", "go on"),
        ]
    )
    path = active_path(loaded.entries)
    assert [entry.uuid for entry in path.entries] == expected
    assert codes(path.diagnostics)[0] == "preserved_missing"


def test_hostile_lines_cost_only_themselves() -> None:
    loaded = load_foreign(
        [
            user("01", None).replace(b"\n", b"\r\n"),
            b"\0" * 300 + b"\n",
            b'"massive error"\n',
            answer("02", "01", TEXT).replace(b"hello", b"h\xe9llo"),
            user("03", "02", "a\ud83d\u2028b"),
            record("user", "04", "03"),
            user("05", "04", None),
            b'{"type":"assistant","uuid":"06","mess',
        ]
    )
    first, second, third, *odd = loaded.entries
    assert isinstance(first, UserEntry)
    assert isinstance(second, AssistantEntry)
    assert second.content == (TextBlock("h\ufffdllo"),)
    assert isinstance(third, UserEntry)
    assert third.content == (TextBlock("a\ufffd\u2028b"),)
    assert [type(entry) for entry in odd] == [UnknownEntry, UnknownEntry]
    assert [one.line for one in loaded.damaged] == [2, 3]
    assert codes(loaded.diagnostics) == ["torn_tail", "damaged_line", "record"]


def test_a_record_without_a_time_takes_the_one_before_it() -> None:
    loaded = load_foreign([user("01", None), user("02", "01", timestamp=None)])
    assert loaded.entries[1].time == loaded.entries[0].time


def test_unknown_blocks_come_through_the_door() -> None:
    loaded = load_foreign(
        [user("01", None), answer("02", "01", [{"type": "advisor_tool_result", "content": {"a": 1}}])]
    )
    entry = loaded.entries[1]
    assert isinstance(entry, AssistantEntry)
    assert isinstance(entry.content[0], UnknownBlock)


def test_odd_fields_cost_only_themselves() -> None:
    odd_usage = {"role": "assistant", "id": "m1", "model": "x", "content": TEXT, "usage": {"input_tokens": "many"}}
    loaded = load_foreign(
        [
            user("01", None),
            record("assistant", "02", "01", message=odd_usage),
            record("assistant", "03", "02", message={"role": "assistant", "content": 17}),
            record("assistant", "04", "03", message={"role": "assistant", "content": TEXT}),
            record("system", "05", "04", subtype="compact_boundary", compactMetadata={"preservedMessages": 17}),
            user("06", "05", "summary", isCompactSummary=True),
        ]
    )
    first, second, third = loaded.entries[1:4]
    assert isinstance(first, AssistantEntry)
    assert first.usage is None
    assert isinstance(second, UnknownEntry)
    assert isinstance(third, AssistantEntry)
    assert (third.message_id, third.model, third.usage) == ("04", "?", None)
    assert codes(loaded.diagnostics) == ["record", "record"]
    assert "preserved_missing" in codes(active_path(loaded.entries).diagnostics)


def test_every_entry_can_be_stored_as_our_own() -> None:
    loaded = load_foreign(
        [
            user("01", None),
            answer("02", "01", CALL),
            record("attachment", "03", "02", attachment={"type": "x"}),
            record("system", "04", "03", content="note"),
            record("user", "05", "04"),
        ]
    )
    for entry in loaded.entries:
        assert not isinstance(entry, ProgressEntry)
        assert decode_line(encode_record(entry)) == entry
