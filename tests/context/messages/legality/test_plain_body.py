"""An ordinary foreign body is judged in one typed decode, and whatever the short way says, the whole check says the same."""

import json
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.messages.legality import Violation, WireContext, check_body, whole
from compositor.context.messages.legality.plain_body import read_plain
from compositor.types.messages import WireMessage
from tests.context.messages.legality.histories import WILD_HISTORIES, body, head, tool

HEAD = head(tool("Read"), system_texts=("You help.",))
SCALARS = {"model": "m", "max_tokens": 100, "stream": True}
MARK = {"cache_control": {"type": "ephemeral"}}
TEXTS = st.sampled_from(("go on", "done ", "", " \n", "é漢😀", "a\ud83d"))
IDS = st.sampled_from(("t1", "t2", "t3", "srvtoolu_1", "grep:3", ""))
MARKS = st.sampled_from(({}, {}, {}, MARK, {"cache_control": None}, {"cache_control": {"type": "other"}}, {"odd": 1}))


def _block(kind: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda more, **own: {"type": kind, **own, **more}, MARKS, **fields)


TEXT = _block("text", text=TEXTS)
CALL = _block("tool_use", id=IDS, name=st.just("Read"), input=st.sampled_from(({}, {"a": "\ud83d"}, [1], "x")))
CONTENTS = st.one_of(TEXTS, st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXTS), max_size=2))
RESULT = _block("tool_result", tool_use_id=IDS, content=CONTENTS, is_error=st.sampled_from((True, False, None)))
THINKING = _block("thinking", thinking=TEXTS, signature=st.sampled_from(("sig", "sig", "")))
ANSWERS = st.one_of(TEXTS, st.lists(st.one_of(TEXT, CALL, THINKING), max_size=3))
SAID = st.one_of(TEXTS, st.lists(st.one_of(TEXT, RESULT), max_size=3))
BODIES = st.lists(
    st.one_of(
        st.builds(lambda content: {"role": "user", "content": content}, SAID),
        st.builds(lambda content: {"role": "assistant", "content": content}, ANSWERS),
    ),
    max_size=6,
)
CONTEXTS = (WireContext(), WireContext(prefill=False, system_role=True), WireContext(api_version="2023-06-01"))


def whole_check(data: bytes, context: WireContext) -> tuple[Violation, ...]:
    with patch.object(whole, "read_plain", lambda _data: None):
        return check_body(data, context)


def encoded(messages: object, more: Mapping[str, Any] | None = None) -> bytes:
    return json.dumps({**SCALARS, "messages": messages, **(more or {})}).encode()


def ordinary() -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    return [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "I look."}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "alpha", **MARK}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": [{"type": "text", "text": "Go on.", **MARK}]},
    ]


@given(BODIES, st.sampled_from(CONTEXTS))
def test_hostile_bodies_are_judged_alike(messages: list[dict[str, Any]], context: WireContext) -> None:
    data = encoded(messages)
    assert check_body(data, context) == whole_check(data, context)


@given(WILD_HISTORIES, st.sampled_from(CONTEXTS))
def test_wild_histories_are_judged_alike(messages: list[WireMessage], context: WireContext) -> None:
    data = body(HEAD, messages, SCALARS)
    assert check_body(data, context) == whole_check(data, context)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tools": [{"name": "Read", "input_schema": {"type": "object"}}]},
        {"tools": [{"name": "Read"}], "odd": 1},
        {"thinking": {"type": "disabled"}},
        {"system": [{"type": "text", "text": ""}]},
        {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ],
)
def test_what_stands_around_the_messages_is_judged_alike(more: dict[str, Any]) -> None:
    for messages in (ordinary(), ordinary()[:4], ordinary()[:1]):
        data = encoded(messages, more)
        assert read_plain(data) is not None
        for context in CONTEXTS:
            assert check_body(data, context) == whole_check(data, context)


def test_too_many_markers_are_found_behind_the_short_way() -> None:
    messages = [
        {"role": role, "content": [{"type": "text", "text": "x", **MARK}]}
        for role in ("user", "assistant", "user", "assistant", "user")
    ]
    data = encoded(messages)
    assert read_plain(data) is not None
    assert check_body(data, WireContext()) == whole_check(data, WireContext()) != ()


def test_a_call_that_waits_and_an_unsigned_thought_are_left_to_the_whole_check() -> None:
    assert read_plain(encoded(ordinary()[:2])) is None
    unsigned = ordinary()
    unsigned[1]["content"][0]["signature"] = ""
    assert read_plain(encoded(unsigned)) is None
