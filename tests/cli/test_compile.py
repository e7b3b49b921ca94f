"""`compositor compile`: the three forms, that they agree, and that nothing is sent, stored or changed."""

import hashlib
import io
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import environment, run_program, script, snapshot


def compiled(call: Any, *arguments: str) -> dict[str, Any]:
    ended = call("compile", *arguments, "--json")
    assert (ended.code, ended.err) == (0, "")
    return dict(json.loads(ended.out))


def check_shape(found: dict[str, Any], body: bytes) -> None:
    """What the reference promises of the object, for any request."""
    assert set(found) == {
        *("body", "body_sha256", "headers", "spans", "markers", "tokens", "omissions", "diagnostics"),
    }
    assert found["body"] == json.loads(body)
    assert found["body_sha256"] == hashlib.sha256(body).hexdigest()
    spans = found["spans"]
    assert (spans[0]["start"], spans[-1]["end"]) == (0, len(body))
    assert all(one["end"] == two["start"] for one, two in itertools.pairwise(spans))
    assert all(span["start"] < span["end"] for span in spans)
    for span in spans:
        assert set(span) == {"start", "end", "source", "lane", "lifetime", "gate"}
        assert {"kind", "path", "line"} <= set(span["source"])
        assert all((span["source"]["kind"], span["lane"], span["lifetime"], span["gate"]))
    tokens = found["tokens"]
    assert tokens["total"] == tokens["system"] + tokens["tools"] + tokens["messages"] > 0
    assert tokens["method"]
    assert all(set(marker) == {"path", "ttl", "reason"} for marker in found["markers"])


@pytest.mark.req("R015", "R022")
def test_the_object_and_the_bytes_agree(call: Any) -> None:
    found = compiled(call, "fix it")
    body = call("compile", "fix it", "--body")
    check_shape(found, body.out.encode())
    assert body.err == ""


@pytest.mark.req("R015")
def test_every_file_stands_where_its_span_says(call: Any, project: Path) -> None:
    found = compiled(call, "fix it")
    body = call("compile", "fix it", "--body").out.encode()
    memory = [span for span in found["spans"] if span["source"]["path"] == str(project / "CLAUDE.md")]
    pieces = b"".join(body[span["start"] : span["end"]] for span in memory)
    assert b"Run the tests with `python3 -m unittest -q`." in pieces
    assert {span["lane"] for span in memory} == {"user_context"}
    prompt = [span for span in found["spans"] if span["source"]["name"] == "prompt"]
    assert [body[span["start"] : span["end"]] for span in prompt] == [b"fix it"]


def test_the_markers_stand_where_they_say(call: Any) -> None:
    found = compiled(call, "fix it")
    assert found["markers"]
    for marker in found["markers"]:
        value: Any = found["body"]
        for part in marker["path"].replace("]", "").replace("[", ".").split("."):
            value = value[int(part)] if part.isdigit() else value[part]
        assert value["cache_control"]["type"] == "ephemeral"
    assert json.dumps(found["body"]).count('"cache_control"') == len(found["markers"])


def test_headers_hold_no_credentials(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-1")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-secret-2")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Team: sk-secret-3")
    ended = call("compile", "x", "--json")
    assert set(json.loads(ended.out)["headers"]) <= {"anthropic-version", "anthropic-beta", "content-type"}
    assert "sk-secret" not in ended.out + ended.err
    for form in (("--body",), ()):
        assert "sk-secret" not in "".join(map(str, call("compile", "x", *form)))


def test_a_table_for_a_person(call: Any) -> None:
    ended = call("compile", "x")
    assert ended.code == 0
    assert "nothing was sent" in ended.out
    assert [line.split()[0] for line in ended.out.splitlines() if "%" in line] == ["tools", "system", "messages"]


def test_without_a_prompt_a_visible_stand_in_takes_its_place(call: Any) -> None:
    found = compiled(call)
    assert "prompt.missing" in {note["code"] for note in found["diagnostics"]}
    assert found["body"]["messages"][-1]["content"][-1]["text"].startswith("(No prompt was given.")


def test_a_dash_reads_standard_input(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ü".encode())))
    assert compiled(call, "-")["body"]["messages"][-1]["content"][-1]["text"] == "ü"


def test_nothing_is_stored_or_changed(home: Path, project: Path) -> None:
    before = snapshot(project)
    ended = run_program("compile", "x", "--body", cwd=project, home=home)
    assert (ended.code, ended.err) == (0, "")
    assert (snapshot(project), list(home.iterdir())) == (before, [])


def test_neither_the_event_loop_nor_the_network_is_loaded(home: Path, project: Path) -> None:
    """Half of the time that a person waited for `compile` went into them."""
    heavy = {"anyio", "asyncio", "concurrent.futures", "httpx2", "logging", "mcp", "rich", "ssl", "yaml"}
    program = """
import atexit, json, sys
atexit.register(lambda: sys.stderr.write(json.dumps(sorted(sys.modules))))
sys.argv = ["compositor", "compile", "x", "--body"]
from compositor.cli.main import main
main()
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=project, env=environment(home), capture_output=True, check=True
    )
    assert heavy.isdisjoint(json.loads(ran.stderr))


@pytest.mark.req("R002", "R007")
def test_each_flag_reaches_the_request(call: Any, tmp_path: Path) -> None:
    extra = tmp_path / "extra.md"
    extra.write_text("From a file.", "utf-8")
    folder = tmp_path / "more"
    folder.mkdir()
    settings = tmp_path / "settings.json"
    settings.write_text('{"model": "haiku"}', "utf-8")

    def body(*flags: str) -> dict[str, Any]:
        return dict(compiled(call, "x", *flags)["body"])

    def system(*flags: str) -> str:
        return "\n\n".join(block["text"] for block in body(*flags)["system"])

    plain = body()
    assert body("--model", "opus")["model"] != plain["model"]
    assert body("--settings", str(settings))["model"] == body("--model", "haiku")["model"] != plain["model"]
    assert body("--effort", "low")["output_config"] == {"effort": "low"}
    assert [tool["name"] for tool in body("--tools", "Read,Grep")["tools"]] == ["Grep", "Read"]
    assert "tools" not in body("--tools", "")
    assert "Bash" not in [tool["name"] for tool in body("--disallowed-tools", "Bash")["tools"]]
    assert str(folder) in json.dumps(body("--add-dir", str(folder)))
    assert system("--system-prompt", "Only this.").startswith("Only this.")
    assert system("--system-prompt-file", str(extra)).startswith("From a file.")
    appended = system("--append-system-prompt", "Inline.", "--append-system-prompt-file", str(extra))
    assert appended.index("You are a coding agent") < appended.index("Inline.") < appended.index("From a file.")
    assert "Working directory" not in system("--exclude-dynamic-system-prompt-sections")
    without = compiled(call, "x", "--setting-sources", "")
    assert not [span for span in without["spans"] if span["source"]["kind"] == "memory"]
    for neutral in (("--max-turns", "3"), ("--allowed-tools", "Edit"), ("--permission-mode", "acceptEdits")):
        assert body(*neutral) == plain


def test_contradictions_are_refused(call: Any) -> None:
    assert call("compile", "x", "--json", "--body") == (
        2,
        "",
        "Error: '--json' and '--body' exclude each other. Give one of them.\n",
    )
    ended = call("compile", "x", "--resume", "a", "--transcript", "b")
    assert ended == (2, "", "Error: '--resume' and '--transcript' exclude each other. Give one of them.\n")


@pytest.mark.parametrize("content", [b"", b"no transcript", b"\xff\xfe", b'{"type": "unheard"}\n', b"\0" * 100])
def test_a_file_that_is_no_transcript(content: bytes, call: Any, tmp_path: Path) -> None:
    file = tmp_path / "file.jsonl"
    file.write_bytes(content)
    ended = call("compile", "x", "--transcript", str(file))
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert str(file) in ended.err


def test_the_next_request_of_a_session_and_of_its_file_are_one(call: Any, home: Path) -> None:
    played = script(home, {"say": "Hello."})
    ran = call("run", "first", "--offline", played, "--output-format", "json")
    session = json.loads(ran.out)["session_id"]
    (file,) = (home / "state" / "sessions").glob("*/*.jsonl")
    before = file.read_bytes()
    copy = json.loads(before.splitlines()[0])["cwd"]
    words = ("compile", "second", "--body", "--project", copy)
    bodies = {
        call(*words, *way).out
        for way in (("--resume", session), ("--resume", session[:8]), ("--transcript", str(file)))
    }
    (body,) = bodies
    first = json.loads(next((home / "state" / "requests" / session).iterdir()).read_bytes())
    found = json.loads(body)
    assert (found["tools"], found["system"]) == (first["tools"], first["system"])
    assert [message["role"] for message in found["messages"]] == ["user", "user", "assistant", "user"]
    assert file.read_bytes() == before
