"""`compositor run`: how a session goes on."""

import json
from pathlib import Path
from typing import Any

from tests.cli.program import (
    HELLO,
    READ,
    copy_of,
    prompts,
    records,
    script,
)


def test_a_scripted_session_goes_on_in_its_copy(call: Any, home: Path) -> None:
    first = call("run", "first", "--offline", script(home, HELLO), "--output-format", "json")
    session, copy = json.loads(first.out)["session_id"], copy_of(first.err)
    again = ("--project", str(copy), "--offline", script(home, {"say": "Again."}), "--output-format", "json")
    second = json.loads(call("run", "second", "--continue", *again).out)
    third = json.loads(call("run", "third", "--resume", session[:8], *again).out)
    assert {second["session_id"], third["session_id"]} == {session}
    assert third["usage"]["input_tokens"] == 0
    assert prompts(home) == ["first", "second", "third"]
    (session_records,) = records(home)
    assert [record["type"] for record in session_records].count("send") == 3


def test_a_script_does_not_write_into_a_session_of_the_users(call: Any, home: Path) -> None:
    first = call("run", "first", "--offline", script(home, HELLO), "--output-format", "json")
    session = json.loads(first.out)["session_id"]
    before = records(home)
    for words in (("--continue",), ("--resume", session)):
        ended = call("run", "second", *words, "--offline", script(home, HELLO))
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("Error: a script would write into a session that a model played.")
    other = copy_of(call("run", "other", "--offline", script(home, HELLO)).err)
    ended = call("run", "x", "--resume", session, "--project", str(other), "--offline", script(home, HELLO))
    assert (ended.code, "belongs to another project" in ended.err) == (2, True)
    assert [lines for lines in records(home) if lines[0]["id"] == session] == before


def test_the_second_request_begins_with_the_first(call: Any, home: Path) -> None:
    """What is settled is not touched: the bodies agree up to the marker that was the first one's end."""
    ended = call("run", "x", "--offline", script(home, READ, HELLO), "--output-format", "json")
    folder = home / "state" / "requests" / json.loads(ended.out)["session_id"]
    first, second = (json.loads((folder / name).read_bytes()) for name in ("001.json", "002.json"))
    assert (second["tools"], second["system"]) == (first["tools"], first["system"])
    assert _bare(second["messages"])[: len(first["messages"])] == _bare(first["messages"])


def _bare(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**message, "content": [{**block, "cache_control": None} for block in message["content"]]}
        for message in messages
    ]
