"""`compositor run` for programs: the fields of every message, forms of answers, limits in money, ids and forks."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import HELLO, READ, command_line, copy_of, environment, read_until, run_program, script

SCHEMA = '{"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"]}'


def lines_of(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def prompt(text: str, **fields: Any) -> bytes:
    return json.dumps({"type": "user", "message": {"role": "user", "content": text}, **fields}).encode() + b"\n"


def bodies(home: Path, session_id: str) -> list[dict[str, Any]]:
    """The requests of a session, as the stand-in was sent them."""
    return [json.loads(path.read_bytes()) for path in sorted((home / "state" / "requests" / session_id).iterdir())]


def prompts_in(session: Path) -> list[str]:
    records = [json.loads(line) for line in session.read_text().splitlines()]
    return [
        one["content"][0]["text"] for one in records if one["type"] == "user" and len(one["content"][0]["text"]) == 1
    ]


def talk(home: Path, project: Path, stdin: bytes, *words: str, turns: tuple[dict[str, Any], ...]) -> Any:
    """A run with messages in and out; its lines stand in `lines`."""
    played = script(home, *turns)
    both = ("--input-format", "stream-json", "--output-format", "stream-json")
    return run_program("run", *both, "--offline", played, *words, cwd=project, home=home, stdin=stdin)


# ------------------------------------------------------------------------------------------------------ the shapes


def test_the_beginning_tells_everything_that_readers_look_for(call: Any, home: Path, project: Path) -> None:
    (project / ".claude" / "agents").mkdir(parents=True)
    (project / ".claude" / "agents" / "reviewer.md").write_text("---\nname: reviewer\ndescription: d\n---\nText.\n")
    (project / ".claude" / "commands").mkdir()
    (project / ".claude" / "commands" / "ship.md").write_text("Ship it.\n")
    init = lines_of(call("run", "x", "--offline", script(home, HELLO), "--output-format", "stream-json").out)[0]
    assert {
        *("type", "subtype", "cwd", "session_id", "tools", "mcp_servers", "model", "permissionMode", "slash_commands"),
        *("agents", "skills", "plugins", "output_style", "apiKeySource", "claude_code_version", "uuid"),
    } <= set(init)
    assert "ship" in init["slash_commands"]
    assert "reviewer" in init["agents"]


def test_the_result_has_the_bill_by_model_and_the_last_stop_reason(call: Any, home: Path) -> None:
    result = json.loads(call("run", "x", "--offline", script(home, READ, HELLO), "--output-format", "json").out)
    (used,) = result["modelUsage"].values()
    assert used["inputTokens"] == result["usage"]["input_tokens"]
    assert used["cacheReadInputTokens"] == result["usage"]["cache_read_input_tokens"] > 0
    assert used["costUSD"] == result["total_cost_usd"] > 0
    assert used["contextWindow"] >= 200_000
    assert result["stop_reason"] == "end_turn"
    assert 0 <= result["duration_api_ms"] <= result["duration_ms"]


def test_pieces_of_answers_are_the_events_of_the_wire(call: Any, home: Path) -> None:
    words = ("--output-format", "stream-json", "--include-partial-messages")
    found = lines_of(call("run", "x", "--offline", script(home, HELLO), *words).out)
    events = [line["event"] for line in found if line["type"] == "stream_event"]
    assert events[0]["type"] == "message_start"
    assert events[-1] == {"type": "message_stop"}
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta["text"] for delta in deltas) == "Hello 👋."
    without = lines_of(call("run", "x", "--offline", script(home, HELLO), "--output-format", "stream-json").out)
    assert [line for line in without if line["type"] == "stream_event"] == []


def test_a_failed_call_has_its_words_as_result(call: Any, home: Path) -> None:
    missing = {"do": [{"read": "no-such-file.py"}]}
    out = call("run", "x", "--offline", script(home, missing, HELLO), "--output-format", "stream-json").out
    (told,) = [line for line in lines_of(out) if line["type"] == "user"]
    assert told["message"]["content"][0]["is_error"] is True
    assert "no-such-file.py" in told["tool_use_result"]["error"]


# ---------------------------------------------------------------------------------------------- forms of the answer


def test_an_answer_of_a_form_is_its_value(call: Any, home: Path) -> None:
    words = ("--output-format", "json", "--json-schema", SCHEMA)
    result = json.loads(
        call("run", "x", "--offline", script(home, {"say": '```json\n{"done": true}\n```'}), *words).out
    )
    assert (result["subtype"], result["structured_output"]) == ("success", {"done": True})


def test_an_answer_that_does_not_fit_is_asked_for_again(call: Any, home: Path) -> None:
    """The model is told what is wrong; the value of the second answer is the result."""
    corrected = {"say": '{"done": false}'}
    words = ("--output-format", "json", "--json-schema", SCHEMA)
    ended = call("run", "x", "--offline", script(home, {"say": '{"finished": 1}'}, corrected), *words)
    result = json.loads(ended.out)
    assert (ended.code, result["structured_output"], result["num_turns"]) == (0, {"done": False}, 2)
    first, second = (str(body["messages"][-1]) for body in bodies(home, result["session_id"]))
    assert "answer with one JSON value that fits" in first
    assert '"done" is a required property' in second


def test_an_answer_that_never_fits_is_an_error_end(call: Any, home: Path) -> None:
    words = ("--output-format", "json", "--json-schema", SCHEMA)
    ended = call("run", "x", "--offline", script(home, *[{"say": "no"}] * 6), *words)
    result = json.loads(ended.out)
    assert (ended.code, result["subtype"]) == (1, "error_max_structured_output_retries")
    assert (result["terminal_reason"], result["num_turns"]) == ("structured_output_retry_exhausted", 6)
    assert "structured_output" not in result
    assert "it is no JSON" in result["errors"][0]


def test_as_text_only_the_value_is_printed(call: Any, home: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(SCHEMA)
    read = {"say": "I look.", "do": [{"read": "greeter.py"}]}
    ended = call("run", "x", "--offline", script(home, read, {"say": '{"done": true}'}), "--json-schema", str(schema))
    assert (ended.code, ended.out) == (0, '{"done":true}\n')


@pytest.mark.parametrize(
    "schema", ["{", "[1]", '{"type": "nonsense"}', '{"$ref": "http://example.com/schema.json"}', "/nope.json"]
)
def test_what_is_no_schema_is_said_before_anything_begins(schema: str, call: Any, home: Path) -> None:
    ended = call("run", "x", "--json-schema", schema)
    assert (ended.code, ended.out, list(home.iterdir())) == (2, "", [])
    assert "Traceback" not in ended.err


# ------------------------------------------------------------------------------------------------ limits and sessions


def test_a_run_stops_before_the_request_that_comes_after_its_money(call: Any, home: Path) -> None:
    words = ("--output-format", "json", "--max-budget-usd", "0.0001")
    ended = call("run", "x", "--offline", script(home, READ, HELLO), *words)
    result = json.loads(ended.out)
    assert (ended.code, result["subtype"], result["num_turns"]) == (1, "error_max_budget_usd", 1)
    assert result["terminal_reason"] == "budget_exhausted"
    assert "--max-budget-usd stops there" in result["errors"][0]


def test_the_caller_can_name_the_session(call: Any, home: Path) -> None:
    given = "0b2c6a1e-7d35-4f0c-9a64-0d2f4a8f5f10"
    words = ("--output-format", "json", "--session-id", given)
    assert json.loads(call("run", "x", "--offline", script(home, HELLO), *words).out)["session_id"] == given


def test_a_fork_goes_on_in_a_copy(call: Any, home: Path) -> None:
    first = call("run", "x", "--offline", script(home, HELLO), "--output-format", "json")
    begun, copy = json.loads(first.out)["session_id"], copy_of(first.err)
    again = ("--project", str(copy), "--resume", begun, "--fork-session", "--output-format", "json")
    second = json.loads(call("run", "y", "--offline", script(home, HELLO), *again).out)
    assert second["session_id"] != begun
    # The recorded head and history are sent again byte for byte, so the copy reads what the original wrote.
    (before,), (after,) = bodies(home, begun), bodies(home, second["session_id"])
    assert (after["tools"], after["system"]) == (before["tools"], before["system"])
    (source,) = (home / "state" / "sessions").glob(f"*/{begun}.jsonl")
    assert prompts_in(source) == ["x"]
    (copied,) = (home / "state" / "sessions").glob(f"*/{second['session_id']}.jsonl")
    assert prompts_in(copied) == ["x", "y"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--input-format", "stream-json"), "needs '--output-format stream-json'"),
        (("--include-partial-messages",), "needs '--output-format stream-json'"),
        (("--replay-user-messages",), "needs '--input-format stream-json'"),
        (("--permission-prompt-tool", "mcp__a__b"), "'mcp__a__b' cannot be asked for permission"),
        (("--fork-session",), "needs '--resume' or '--continue'"),
        (("--session-id", "one"), "not a valid UUID"),
        (("--max-budget-usd", "0"), "0"),
    ],
)
def test_flags_that_mean_nothing_together(words: tuple[str, ...], sentence: str, call: Any, home: Path) -> None:
    ended = call("run", *(() if "--input-format" in words else ("x",)), *words)
    assert (ended.code, ended.out, list(home.iterdir())) == (2, "", [])
    assert sentence in ended.err


# ------------------------------------------------------------------------------------------------- messages come in


def test_prompts_are_worked_on_one_after_the_other(home: Path, project: Path) -> None:
    stdin = prompt("first", uuid="a") + b"\n" + prompt("second", uuid="b") + b'{"type": "keep_alive"}\n'
    ended = talk(home, project, stdin, "--replay-user-messages", turns=({"say": "one"}, {"say": "two"}))
    found = lines_of(ended.out)
    assert ended.code == 0
    results = [line for line in found if line["type"] == "result"]
    assert [(line["result"], line["user_message_uuid"], line["num_turns"]) for line in results] == [
        ("one", "a", 1),
        ("two", "b", 1),
    ]
    assert [line["message"]["content"] for line in found if line.get("isReplay")] == ["first", "second"]
    assert [line["subtype"] for line in found if line["type"] == "system"] == ["init", "init"]


def test_without_a_prompt_nothing_is_begun(home: Path, project: Path) -> None:
    ended = talk(home, project, b"", turns=(HELLO,))
    assert (ended.code, ended.out) == (0, "")
    assert not (home / "state" / "sessions").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"hello", "it is no JSON"),
        (b"[1]", "it is no object with a 'type'"),
        (b'{"type": "user"}', "it has no 'message'"),
        (b'{"type": "user", "message": {"content": " "}}', "the prompt is empty"),
        (b'{"type": "user", "message": {"content": [{"type": "tool_use", "id": "a", "name": "b", "input": {}}]}}', "tool_use"),
        (b'{"type": "user", "message": {"content": [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}]}}', "image"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_message_ends_the_run_with_its_number(
    line: bytes, words: str, home: Path, project: Path
) -> None:
    ended = talk(home, project, prompt("first") + line + b"\n", turns=(HELLO, HELLO))
    assert ended.code == 2
    assert "At line 2." in ended.err
    assert words in ended.err
    results = [line for line in lines_of(ended.out) if line["type"] == "result"]
    assert [result["subtype"] for result in results] == ["success", "error_during_execution"]


def test_a_picture_comes_with_a_prompt(home: Path, project: Path) -> None:
    import base64
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "PNG")
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(buffer.getvalue()).decode()}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]
    ended = talk(home, project, prompt(content), turns=(HELLO,))  # type: ignore[arg-type]
    assert ended.code == 0
    (body,) = (home / "state" / "requests").glob("*/*.json")
    blocks = json.loads(body.read_text())["messages"][-1]["content"]
    assert [block["type"] for block in blocks if block.get("text", "What").startswith("What")] == ["text", "image"]


def test_an_unknown_control_request_is_answered_with_an_error(home: Path, project: Path) -> None:
    asked = {"type": "control_request", "request_id": "r", "request": {"subtype": "fly"}}
    ended = talk(home, project, json.dumps(asked).encode() + b"\n" + prompt("x"), turns=(HELLO,))
    answer = lines_of(ended.out)[0]
    assert (answer["type"], answer["response"]["subtype"], answer["response"]["request_id"]) == (
        "control_response",
        "error",
        "r",
    )


def _start(home: Path, project: Path, *turns: dict[str, Any]) -> subprocess.Popen[bytes]:
    both = ("--input-format", "stream-json", "--output-format", "stream-json", "--include-partial-messages")
    return subprocess.Popen(
        command_line("run", *both, "--offline", script(home, *turns)),
        cwd=project,
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


def test_an_interrupt_ends_the_turn_and_the_run_goes_on(home: Path, project: Path) -> None:
    slow = {"say": "a long answer " * 50, "faults": [{"slow": 0.2}]}
    process = _start(home, project, slow, HELLO)
    assert process.stdin is not None
    process.stdin.write(prompt("first"))
    read_until(process.stdout, b"content_block_delta")
    stop = {"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}}
    process.stdin.write(json.dumps(stop).encode() + b"\n" + prompt("second"))
    process.stdin.close()
    process.stdin = None
    out, _ = process.communicate(timeout=30)
    results = [json.loads(line) for line in out.splitlines() if line.startswith(b'{"type":"result"')]
    assert [result["terminal_reason"] for result in results] == ["aborted_streaming", "completed"]
    assert process.returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_between_prompts_ends_the_run_with_its_state_saved(
    number: signal.Signals, code: int, home: Path, project: Path
) -> None:
    process = _start(home, project, HELLO)
    assert process.stdin is not None
    process.stdin.write(prompt("first"))
    read_until(process.stdout, b'"subtype":"success"')
    os.kill(process.pid, number)
    process.wait(timeout=20)
    process.communicate()
    assert process.returncode == code
    (session,) = (home / "state" / "sessions").glob("*/*.jsonl")
    assert "Hello" in session.read_text()
