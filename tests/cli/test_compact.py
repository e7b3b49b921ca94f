"""`compositor compact` on a session that a script played."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import READ, copy_of, script

PLAYED = [READ, {"say": "It greets."}]


@pytest.fixture
def played(call: Any, home: Path) -> tuple[str, str]:
    """The id of a session, and the copy of the project that it worked on."""
    ended = call("run", "--offline", script(home, *PLAYED), "Look at the greeter.")
    assert ended.code == 0, ended.err
    found = re.search(r"session (\S+)", ended.err)
    assert found is not None
    return found[1], str(copy_of(ended.err))


def test_a_preview_shows_every_step_and_changes_nothing(call: Any, played: tuple[str, str], home: Path) -> None:
    session, copy = played
    stored = {path: path.read_bytes() for path in (home / "state" / "sessions").rglob("*.jsonl")}
    ended = call("compact", session, "--preview", "--project", copy)
    assert ended.code == 0, ended.err
    assert "kept word for word: 0" in ended.out
    for step in ("nothing", "session_memory", "summary", "outline"):
        assert step in ended.out
    asked = json.loads(call("compact", session, "--preview", "--json", "--project", copy).out)
    assert asked["chosen"] == "summary"
    assert len(asked["summarized"]) >= 4
    assert {path: path.read_bytes() for path in stored} == stored


def test_a_session_is_compacted_and_taken_back(call: Any, played: tuple[str, str], home: Path) -> None:
    session, copy = played
    summary = script(home, {"say": "<summary>The greeter was looked at.</summary>"})
    ended = call("compact", session, "the greeter", "--offline", summary, "--project", copy)
    assert ended.code == 0, ended.err
    assert "summary by model" in ended.err
    shown = call("compile", "--resume", session, "--project", copy, "--body", "And now?").out
    assert "The greeter was looked at." in shown
    ended = call("compact", session, "--undo", "--project", copy)
    assert (ended.code, "as before the compaction" in ended.out) == (0, True)
    again = call("compile", "--resume", session, "--project", copy, "--body", "And now?").out
    assert "The greeter was looked at." not in again
    assert "It greets." in again


def test_without_a_model_the_records_are_listed_and_pins_stay(call: Any, played: tuple[str, str]) -> None:
    session, copy = played
    entries = json.loads(call("sessions", "show", session, "--json", "--project", copy).out)["entries"]
    prompt = entries[0]["uuid"] if "uuid" in entries[0] else entries[0]["id"]
    ended = call("compact", session, "--records", "--pin", prompt[:8], "--json", "--project", copy)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["method"] == "records"
    shown = call("compile", "--resume", session, "--project", copy, "--body", "And now?").out
    assert "Look at the greeter." in shown
    assert "The user pinned this." in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--undo", "--preview"), "'--undo' goes alone"),
        (("--undo",), "there is no compaction to take back"),
        (("--pin", "nothing", "--records"), "there is no message 'nothing' to pin"),
        ((), "there is no key, and a summary needs a model"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    words: tuple[str, ...], sentence: str, call: Any, played: tuple[str, str]
) -> None:
    session, copy = played
    ended = call("compact", session, *words, "--project", copy)
    assert (ended.code, sentence in ended.err) == (2, True), ended.err
