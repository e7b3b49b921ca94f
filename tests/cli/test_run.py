"""`compositor run`: where the prompt comes from, what is printed and stored, how each end is told."""

import io
import json
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import (
    HELLO,
    READ,
    copy_of,
    prompts,
    run_program,
    script,
    snapshot,
)

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


# ------------------------------------------------------------------------------------------------------ the prompt


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_the_prompt_on_standard_input(
    arguments: tuple[str, ...], call: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "from a pipe: ü\n".encode())
    assert call("run", *arguments, "--offline", script(home, HELLO)).code == 0
    assert prompts(home) == ["from a pipe: ü\n"]


def test_the_prompt_as_an_argument_leaves_standard_input_alone(
    call: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, b"not read")
    assert call("run", "from the argument", "--offline", script(home, HELLO)).code == 0
    assert prompts(home) == ["from the argument"]
    assert sys.stdin.read() == "not read"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "Error: there is no prompt. Give it as an argument or on standard input.\n"),
        (b" \n\t", "Error: there is no prompt. Give it as an argument or on standard input.\n"),
        (b"a\xffb", "Error: the prompt on standard input is not UTF-8 text. At byte 1.\n"),
        (b"\xed\xa0\x80", "Error: the prompt on standard input is not UTF-8 text. At byte 0.\n"),
        (b"a" * (10 * 2**20 + 1), "Error: the prompt on standard input is larger than 10 MB. Put it into a file and name the file.\n"),
    ],
)  # fmt: skip
def test_a_prompt_that_is_none(
    data: bytes, sentence: str, call: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, data)
    assert call("run") == (2, "", sentence)
    assert not (home / "state").exists()


def test_bytes_that_are_no_text_are_refused_and_not_lost(home: Path, project: Path) -> None:
    """Python hands them on as lone surrogates, which no request can hold: once, the whole prompt was set aside."""
    for flag in ((), ("--model",), ("--append-system-prompt",), ("--allowed-tools",)):
        words: list[bytes] = [b"x", *(os.fsencode(part) for part in flag), b"a\xff"] if flag else [b"a\xff"]
        ended = run_program("compile", *words, cwd=project, home=home)
        what = f"The text of '{flag[0]}'" if flag else "The prompt"
        assert (ended.code, ended.out, ended.err) == (2, "", f"Error: {what} is not UTF-8 text. At character 2.\n")


def test_a_null_character_and_a_huge_prompt_are_text(call: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"a\0b" + b"x" * 100_000)
    assert call("run", "--offline", script(home, HELLO)).code == 0
    assert prompts(home) == ["a\0b" + "x" * 100_000]


def test_a_prompt_beyond_the_window_is_the_services_refusal(
    call: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, b"word " * (2 * 2**20 - 1))
    ended = call("run", "--offline", script(home, HELLO))
    assert ended.code == 4
    assert "prompt is too long" in ended.err
    assert "Traceback" not in ended.err


# --------------------------------------------------------------------------------------------------- without a key


def test_without_a_key_nothing_is_sent_or_stored(home: Path, project: Path) -> None:
    before = snapshot(project)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        ended = run_program("run", "x", cwd=project, home=home, ANTHROPIC_BASE_URL=url)
        with pytest.raises(TimeoutError):
            listening.accept()
    assert (ended.code, ended.out) == (3, "")
    assert "Nothing was sent: there is no key. Set ANTHROPIC_API_KEY" in ended.err
    assert (snapshot(project), list(home.iterdir())) == (before, [])


def test_without_a_key_the_machine_readable_forms_say_so(call: Any) -> None:
    ended = call("run", "x", "--output-format", "json")
    found = json.loads(ended.out)
    assert (ended.code, found["type"], found["is_error"], found["terminal_reason"]) == (
        3,
        "result",
        True,
        "turn_setup_failed",
    )
    lines = [json.loads(line) for line in call("run", "x", "--output-format", "stream-json").out.splitlines()]
    assert [(line["type"], line["subtype"]) for line in lines] == [
        ("system", "init"),
        ("result", "error_during_execution"),
    ]


# ------------------------------------------------------------------------------------------------------- the forms


def test_text_is_the_answer_and_everything_else_is_an_error_line(call: Any, home: Path) -> None:
    ended = call("run", "x", "--offline", script(home, READ, HELLO))
    assert (ended.code, ended.out) == (0, "I look.\nHello 👋.\n")
    assert "✓ Read(greeter.py)" in ended.err
    assert re.search(
        r"^2 requests; [\d,]+ in \(cache read [\d,]+, written [\d,]+, new 0\), \d+ out; \$\d", ended.err, re.MULTILINE
    )


def test_one_json_object(call: Any, home: Path) -> None:
    ended = call("run", "x", "--offline", script(home, READ, HELLO), "--output-format", "json")
    found = json.loads(ended.out)
    assert set(found) == {
        *("type", "subtype", "is_error", "duration_ms", "num_turns", "result", "terminal_reason", "session_id"),
        *("uuid", "total_cost_usd", "usage", "modelUsage", "permission_denials", "duration_api_ms", "stop_reason"),
    }
    assert (found["type"], found["subtype"], found["is_error"], found["num_turns"]) == ("result", "success", False, 2)
    assert (found["result"], found["terminal_reason"]) == ("Hello 👋.", "completed")
    assert {"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} <= set(
        found["usage"]
    )
    assert found["usage"]["cache_read_input_tokens"] > 0 < found["total_cost_usd"]


def test_json_lines_begin_with_init_and_end_with_the_result(call: Any, home: Path) -> None:
    played = script(home, {"do": [{"read": "greeter.py"}, {"write": {"path": "new.txt", "content": "x"}}]}, HELLO)
    ended = call("run", "x", "--offline", played, "--output-format", "stream-json")
    assert ended.code == 0
    lines = [json.loads(line) for line in ended.out.splitlines()]
    kinds = [(line["type"], line.get("subtype")) for line in lines]
    assert kinds[:2] == [("system", "init"), ("assistant", None)]
    assert sorted(kinds[2:-2], key=str) == [
        ("system", "verdict"),
        ("system", "verdict"),
        ("user", None),
        ("user", None),
    ]
    assert kinds[-2:] == [("assistant", None), ("result", "success")]
    assert {line["session_id"] for line in lines} == {lines[0]["session_id"]}
    assert len({line["uuid"] for line in lines}) == len(lines)
    assert all(UUID.fullmatch(line["uuid"]) for line in lines)
    init, result = lines[0], lines[-1]
    asked = [block["id"] for block in lines[1]["message"]["content"] if block["type"] == "tool_use"]
    answered = [line["message"]["content"][0]["tool_use_id"] for line in lines if line["type"] == "user"]
    assert sorted(answered) == sorted(asked)
    assert {"Bash", "Edit", "Glob", "Grep", "Read", "Write"} <= set(init["tools"])
    assert (init["permissionMode"], init["apiKeySource"]) == ("default", "none")
    # Nobody can be asked, so the change is refused; the model was told, and the reader of the stream is.
    assert [(denied["tool_name"], denied["tool_input"]["content"]) for denied in result["permission_denials"]] == [
        ("Write", "x")
    ]
    verdicts = {line["tool_name"]: line["verdict"] for line in lines if line.get("subtype") == "verdict"}
    assert verdicts["Read"] == "allow"
    assert verdicts["Write"] != "allow"


def test_the_limit_of_turns_is_an_error_end(call: Any, home: Path) -> None:
    ended = call("run", "x", "--offline", script(home, READ, HELLO), "--max-turns", "1", "--output-format", "json")
    found = json.loads(ended.out)
    assert (ended.code, found["subtype"], found["is_error"], found["num_turns"]) == (1, "error_max_turns", True, 1)
    assert found["errors"]


def test_a_failure_of_the_service(call: Any, home: Path) -> None:
    refused = {"say": "x", "faults": [{"status": 401, "message": "invalid x-api-key"}]}
    ended = call("run", "x", "--offline", script(home, refused), "--output-format", "stream-json")
    last = json.loads(ended.out.splitlines()[-1])
    assert (ended.code, last["type"], last["terminal_reason"]) == (4, "result", "api_error")
    assert "invalid x-api-key" in last["errors"][0]


def test_an_error_in_the_turn_is_the_last_line_and_one_sentence(
    call: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "state").mkdir()
    (home / "state" / "sessions").write_text("in the way", "utf-8")
    ended = call("run", "x", "--offline", script(home, HELLO), "--output-format", "stream-json")
    assert ended.code == 2
    assert ended.err.splitlines()[-1].startswith("Error: The product's own folder cannot be made: File exists. At ")
    assert [json.loads(line)["type"] for line in ended.out.splitlines()] == ["system", "result"]


# ------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--continue", "--resume", "a"), "'--resume' and '--continue' exclude each other"),
        (("--system-prompt", "a", "--system-prompt-file", "b"), "exclude each other"),
        (("--system-prompt-file", "/nope"), "The prompt file '/nope' cannot be read: No such file or directory"),
        (("--continue",), "there is no session here to go on with"),
        (("--resume", "abc"), "there is no session 'abc'"),
        (("--resume", "../../etc/passwd"), "there is no session"),
        (("--settings", '{"model":\n {"a" 1}}'), "--settings:2:7"),
        (("--settings", "/nope.json"), "The settings in '/nope.json' cannot be read"),
        (("--setting-sources", "everywhere"), "There is no setting source 'everywhere'"),
        (("--project", "/nope"), "'/nope' does not exist"),
        (("--add-dir", "/nope"), "'/nope' does not exist"),
        (("--effort", "silly"), "'silly' is not one of"),
        (("--permission-mode", "silly"), "'silly' is not one of"),
        (("--max-turns", "0"), "0 is not in the range"),
        (("--output-format", "xml"), "'xml' is not one of"),
        (("--offline", "/nope"), "The script cannot be read: No such file or directory"),
        (("--no-such-flag",), "No such option"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    arguments: tuple[str, ...], words: str, call: Any, home: Path, tmp_path: Path, project: Path
) -> None:
    before = snapshot(project)
    ended = call("run", "x", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert "Traceback" not in ended.err
    assert (list(home.iterdir()), list((tmp_path / "temporary").iterdir()), snapshot(project)) == ([], [], before)


@pytest.mark.parametrize(
    "text", ["", "turns: 3", "turns: [", '{"turns": [{"do": [{"fly": 1}]}]}', "turns:\n- say: a\n  what: b", "\x00"]
)
def test_a_script_that_is_none_is_said_before_anything_is_copied(
    text: str, call: Any, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(text, "utf-8")
    ended = call("run", "x", "--offline", str(file))
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert ended.err.startswith("Error: ")
    assert str(file) in ended.err
    assert (list(home.iterdir()), list((tmp_path / "temporary").iterdir())) == ([], [])


def test_bad_settings_of_the_project_have_line_and_column(call: Any, project: Path, home: Path, tmp_path: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{\n  "model": "haiku",\n  oops\n}', "utf-8")
    ended = call("run", "x", "--offline", script(tmp_path, HELLO))
    assert (ended.code, ended.out) == (2, "")
    assert f"At {project / '.claude' / 'settings.json'}:3:3." in ended.err
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_time_that_is_none(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPOSITOR_NOW", "yesterday")
    ended = call("run", "x")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("Error: COMPOSITOR_NOW is 'yesterday', which is no time.")


def test_a_model_that_nobody_knows_runs_with_a_warning(call: Any, home: Path) -> None:
    ended = call("run", "x", "--model", "no-such-model", "--offline", script(home, HELLO))
    assert (ended.code, ended.out) == (0, "Hello 👋.\n")
    assert "warning: The model 'no-such-model' is not known" in ended.err
    assert "price unknown" in ended.err


def test_a_directory_that_is_gone(home: Path, tmp_path: Path) -> None:
    for words in (("run", "x"), ("compile", "x"), ("explain", "x"), ("sessions",), ("doctor",)):
        before = ("sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh")
        ended = run_program(*words, cwd=tmp_path, home=home, before=before)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == (
            "Error: the current directory does not exist any more. Change to another or give --project.\n"
        )


# ---------------------------------------------------------------------------------------------- the user's own tree


def test_a_script_works_on_a_copy(call: Any, home: Path, project: Path) -> None:
    before = snapshot(project)
    played = script(
        home,
        {"do": [{"read": "greeter.py"}]},
        {"do": [{"edit": {"path": "greeter.py", "old": "Hello, stranger!", "new": "Hello, guest!"}}]},
        {"do": [{"write": {"path": "made.txt", "content": "x\n"}}]},
        HELLO,
    )
    ended = call("run", "x", "--offline", played, "--permission-mode", "bypassPermissions")
    assert ended.code == 0
    copy = copy_of(ended.err)
    assert (snapshot(project), copy.name, "guest" in (copy / "greeter.py").read_text("utf-8")) == (
        before,
        "greeter",
        True,
    )
    assert (copy / "made.txt").read_text("utf-8") == "x\n"
