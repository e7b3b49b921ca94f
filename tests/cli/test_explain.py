"""`compositor explain`: the table adds up to the body, says why and what is cached, and finds a request that was sent."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import script

ROW = re.compile(r" *([\d,]+) +([\d,]+) +([\d,]+)  (\w+) +(\w+) +(\S.*)")
WIRE = re.compile(r" +([\d,]+) +wire +JSON syntax and markers")


def number(text: str) -> int:
    return int(text.replace(",", ""))


def sent(call: Any, home: Path) -> tuple[str, str]:
    """A session with two requests, and the copy it worked on."""
    played = script(home, {"say": "I look.", "do": [{"read": "greeter.py"}]}, {"say": "Hello."})
    ended = call("run", "x", "--offline", played, "--output-format", "json")
    copy = re.search(r"a copy of the project: (.+)", ended.err)
    assert copy is not None
    return json.loads(ended.out)["session_id"], copy[1]


@pytest.mark.req("R015")
def test_the_rows_and_the_syntax_between_them_are_the_body(call: Any) -> None:
    lines = call("explain", "fix it").out.splitlines()
    rows = [match.groups() for line in lines if (match := ROW.match(line))]
    (syntax,) = [number(match[1]) for line in lines if (match := WIRE.match(line))]
    size = len(call("compile", "fix it", "--body").out.encode())
    assert sum(number(row[1]) for row in rows) + syntax == size
    starts = [number(row[0]) for row in rows]
    assert starts == sorted(starts)
    assert [row[3] for row in rows] == sorted(
        (row[3] for row in rows), key=["tools", "system", "user_context", "conversation", "scalar"].index
    )


@pytest.mark.req("R015")
def test_each_row_says_what_it_is_and_why_it_is_there(call: Any) -> None:
    shown = call("explain", "fix it").out
    assert re.search(r"user_context session +memory CLAUDE\.md\n +let in: project instruction file", shown)
    assert re.search(r"tool Write\n +let in: builtin", shown)
    assert shown.count("let in: builtin: passed every eligibility gate") == 1
    assert "let in: part of the active conversation" in shown


def test_one_line_says_what_is_cached(call: Any) -> None:
    (line,) = [line for line in call("explain", "x").out.splitlines() if line.startswith("cached: ")]
    found = re.fullmatch(
        r"cached: about ([\d,]+) of ([\d,]+) tokens, up to messages\[1\]\.content\[0\]; "
        r"([\d,]+) of them, up to system\[0\], whatever follows",
        line,
    )
    assert found is not None, line
    whole, total, stable = map(number, found.groups())
    assert stable < whole < total
    table = call("explain", "x").out
    assert "^ cache marker 5m at system[0]: end of the static system block" in table


def test_what_was_left_out_has_step_and_reason(call: Any) -> None:
    ended = call("explain", "x", "--tools", "Read")
    left_out = [line for line in ended.out.splitlines() if line.startswith("left out by ")]
    assert any("Bash" in line for line in left_out)
    assert all(re.match(r"left out by [^:]+: .+: .+", line) for line in left_out)
    found = json.loads(call("explain", "x", "--tools", "Read", "--json").out)
    assert len(found["omissions"]) == len(left_out)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_table_fits_the_terminal(width: int, call: Any, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    rule = project / ".claude" / "rules" / "a-rule-with-a-name-that-is-much-longer-than-the-column-it-stands-in.md"
    rule.parent.mkdir(parents=True)
    rule.write_text("A rule.", "utf-8")
    monkeypatch.setenv("COLUMNS", str(width))
    lines = call("explain", "x").out.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.endswith("lifetime     source"))
    assert max(map(len, lines[begin : lines.index("", begin)])) <= width
    assert any("stands-in.md" in line for line in lines)


def test_the_object(call: Any) -> None:
    found = json.loads(call("explain", "x", "--json").out)
    assert set(found) == {"rows", "markers", "cache", "base_line", "tokens", "omissions", "diagnostics", "sources"}
    assert found["cache"]["forecast"]["read"] == 0
    assert found["cache"]["forecast"]["writes_to"] == "messages[1]"
    assert sum(bool(row["marker"]) for row in found["rows"]) == len(found["markers"])


def test_a_request_that_was_sent_is_told_again_with_its_very_bytes(call: Any, home: Path) -> None:
    session, copy = sent(call, home)
    folder = home / "state" / "requests" / session
    for words, file in ((f"{session}:1", "001.json"), (f"{session[:8]}:2", "002.json"), (session, "002.json")):
        ended = call("explain", words, "--project", copy)
        assert ended.code == 0
        assert ended.out.startswith(f"Request {int(file[:3])} of 2 in session {session}")
        assert "info: The bytes are those that were sent" in ended.out
        assert f"{len((folder / file).read_bytes()):,} bytes" in ended.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [("{}:0", "holds 2 requests, not a request 0"), ("{}:3", "holds 2 requests, not a request 3"), ("deadbeef", "there is no session 'deadbeef'")],
)  # fmt: skip
def test_a_request_that_is_not_there(words: str, sentence: str, call: Any, home: Path) -> None:
    session, copy = sent(call, home)
    ended = call("explain", words.format(session), "--project", copy)
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert sentence in ended.err


def test_a_head_that_is_not_stored_any_more(call: Any, home: Path) -> None:
    session, copy = sent(call, home)
    for file in (home / "state" / "heads").iterdir():
        file.unlink()
    ended = call("explain", session, "--project", copy)
    assert (ended.code, ended.out) == (2, "")
    assert "of this request is not stored any more" in ended.err


def test_a_prompt_that_looks_like_an_id_can_be_given_on_standard_input(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"deadbeef")))
    assert call("explain", "-").code == 0
