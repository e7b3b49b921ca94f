"""`compositor diff` and `compositor cost`: body files, recorded requests, and one sentence for what is neither."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest


def body(text: str, *more: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": [{"type": "text", "text": one}]} for one in ("hi", *more)]
    return {"system": [{"type": "text", "text": text}], "messages": messages, "model": "m", "max_tokens": 1}


def saved(folder: Path, name: str, value: object) -> str:
    path = folder / name
    path.write_text(json.dumps(value), "utf-8")
    return str(path)


@pytest.fixture
def session(call: Any) -> str:
    """The id of a session of four requests, played by the sample's script."""
    ended = call("demo")
    assert ended.code == 0
    found = re.search(r"compositor explain ([0-9a-f]{8})", ended.out)
    assert found is not None
    return found[1]


@pytest.mark.req("R093")
def test_the_first_difference_of_two_files(call: Any, tmp_path: Path) -> None:
    one, two = saved(tmp_path, "one.json", body("calm")), saved(tmp_path, "two.json", body("cold"))
    ended = call("diff", one, two)
    # The element is {"type":"text","text":"calm"}: 23 bytes stand before the text, `ca` and `co` part in its second letter.
    assert ended.out.splitlines()[0] == "system[0], byte 24: the text in the system prompt changed"
    assert ended.code == 1
    told = json.loads(call("diff", one, two, "--json").out)
    assert told["difference"]["path"] == "system[0]"


def test_a_continuation_loses_nothing(call: Any, tmp_path: Path) -> None:
    one, two = saved(tmp_path, "one.json", body("calm")), saved(tmp_path, "two.json", body("calm", "go on"))
    assert call("diff", one, two) == (0, "B begins with everything that A holds: nothing cached is lost.\n", "")
    assert json.loads(call("diff", one, two, "--json").out) == {"difference": None, "producer": None}


@pytest.mark.req("R259")
def test_recorded_requests_are_continuations_of_one_another(call: Any, session: str) -> None:
    assert call("diff", f"{session}:1", f"{session}:4").code == 0
    backwards = call("diff", f"{session}:4", f"{session}:1")
    assert backwards.code == 1
    assert " is gone" in backwards.out


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read"),
        (b"\xff", "is no request body"),
        (b"[1]", "is no request body"),
        (b"{}", "needs a list of 'messages'"),
        (b'{"messages": [1]}', "needs messages that are objects"),
        (b'{"messages": [], "tools": [1]}', "needs tools that are objects"),
        (b'{"messages": [], "tools": 7}', "needs tools that are objects"),
        (b'{"messages": [{"role": "user", "content": 7}]}', "text or a list of blocks at 'messages[0].content'"),
    ],
)
def test_what_is_no_body_is_one_sentence(call: Any, tmp_path: Path, content: bytes | None, sentence: str) -> None:
    good, bad = saved(tmp_path, "good.json", body("calm")), tmp_path / "bad.json"
    if content is not None:
        bad.write_bytes(content)
    ended = call("diff", good, str(bad))
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert ended.err.count("\n") == 1


def test_a_request_that_the_session_does_not_hold(call: Any, session: str) -> None:
    ended = call("diff", f"{session}:1", f"{session}:9")
    assert ended.code == 2
    assert "holds 4 requests" in ended.err


def test_the_cost_of_a_session_adds_up(call: Any, session: str) -> None:
    told = json.loads(call("cost", session, "--json").out)
    assert [request["number"] for request in told["requests"]] == [1, 2, 3, 4]
    assert told["dollars"] == pytest.approx(sum(request["dollars"] for request in told["requests"]))
    assert told["dollars"] < told["uncached"]
    table = call("cost", session).out.splitlines()
    assert len(table) == 1 + 4 + 2 + 2
    assert table[-1] == f"${told['dollars']:.4f} in all, ${told['uncached']:.4f} without a cache"


def test_the_price_of_the_settings_counts(call: Any, session: str, home: Path) -> None:
    free = {
        "compositor": {
            "prices": {"claude-sonnet-5-5": dict.fromkeys(("input", "output", "write_5m", "write_1h", "read"), 0)}
        }
    }
    (home / ".claude").mkdir()
    saved(home / ".claude", "settings.json", free)
    assert json.loads(call("cost", session, "--json").out)["dollars"] == 0


def test_no_such_session(call: Any) -> None:
    ended = call("cost", "zzz")
    assert (ended.code, ended.out) == (2, "")
    assert "there is no session 'zzz'" in ended.err


def test_the_producer_of_a_difference_between_recorded_requests_is_named(call: Any, session: str) -> None:
    told = json.loads(call("diff", f"{session}:4", f"{session}:1", "--json").out)
    assert told["difference"]["path"] == "messages[2].content[0]"
    # What is gone was an answer of the model: an entry of the conversation.
    assert told["producer"].startswith("entry ")
    assert "is gone in messages[2]" in told["producer"]
    assert "producer: entry " in call("diff", f"{session}:4", f"{session}:1").out
