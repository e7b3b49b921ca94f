"""What a line on standard input means to a run, and what a program's hooks become."""

import json
from typing import Any

import pytest

from compositor.config.settings import Settings
from compositor.errors import UsageError
from compositor.policy.hook_handlers import HookKind
from compositor.protocol.callbacks import read_callbacks
from compositor.protocol.incoming import ControlAnswer, ControlCancel, ControlRequest, Prompt, parse_line


def parsed(value: Any) -> Any:
    return parse_line(json.dumps(value).encode(), 1)


def test_every_kind_of_line() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    prompt = parsed({"type": "user", "message": {"role": "user", "content": blocks}, "uuid": "u"})
    assert isinstance(prompt, Prompt)
    assert (prompt.text, prompt.media, prompt.id) == ("a\nb", (), "u")
    asked = parsed({"type": "control_request", "request_id": "r", "request": {"subtype": "interrupt"}})
    assert isinstance(asked, ControlRequest)
    assert (asked.id, asked.subtype) == ("r", "interrupt")
    said = {"subtype": "success", "request_id": "q", "response": {"behavior": "allow"}}
    assert parsed({"type": "control_response", "response": said}) == ControlAnswer(
        id="q", response={"behavior": "allow"}
    )
    failed = {"subtype": "error", "request_id": "q"}
    assert parsed({"type": "control_response", "response": failed}) == ControlAnswer(id="q", error="no reason given")
    assert parsed({"type": "control_cancel_request", "request_id": "q"}) == ControlCancel(id="q")


@pytest.mark.parametrize("line", [b"", b"  \t", b'{"type": "keep_alive"}', b'{"type": "what_comes_later", "x": 1}'])
def test_what_has_no_meaning_is_passed_over(line: bytes) -> None:
    assert parse_line(line, 1) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"\xff", "no JSON"),
        (b"[]", "no object"),
        (b'{"type": 3}', "no object with a 'type'"),
        (b'{"type": "user", "message": {"content": 3}}', "'user' is not as the protocol has it"),
        (b'{"type": "control_request", "request_id": "r"}', "it has no 'request'"),
        (b'{"type": "control_response", "response": {}}', "it has no 'subtype'"),
    ],
)
def test_what_is_no_message_is_named_with_its_line(line: bytes, words: str) -> None:
    with pytest.raises(UsageError, match="line 7") as problem:
        parse_line(line, 7)
    assert words in str(problem.value)


def test_the_hooks_of_a_program() -> None:
    group = {"matcher": "Bash|Write", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 5, "onFailure": "block"}
    first, second = read_callbacks({"PreToolUse": [group]}, Settings())
    assert (first.kind, first.callback, first.matcher, first.seconds, first.guard) == (
        HookKind.CALLBACK, "hook_0", "Bash|Write", 5.0, True,
    )  # fmt: skip
    assert second.callback == "hook_1"
    (open_one,) = read_callbacks({"Stop": [{"matcher": None, "hookCallbackIds": ["hook_2"]}]}, Settings())
    assert (open_one.matcher, open_one.guard, open_one.seconds > 0) == ("", False, True)
    assert read_callbacks(None, Settings()) == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"NoSuchEvent": [{"hookCallbackIds": ["a"]}]}, "'NoSuchEvent' is not fired"),
        ([1], "no object"),
        ({"PreToolUse": [{}]}, "not as the protocol has it"),
        ({"PreToolUse": 3}, "not as the protocol has it"),
    ],
)
def test_hooks_that_cannot_be_asked_are_refused(given: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_callbacks(given, Settings())
