"""`compositor check`: what is read, in which circumstances it is judged, what is printed, how it ends."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compositor.cli.check import Choices, circumstances, command
from compositor.cli.check_files import Found
from compositor.cli.main import run_command
from compositor.context.messages.legality import RULES
from compositor.errors import ConfigError

GOOD: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 1, "messages": [{"role": "user", "content": "a"}]}
BAD: dict[str, Any] = {**GOOD, "messages": [{"role": "user", "content": ""}]}
DOUBTFUL: dict[str, Any] = {**GOOD, "system": " "}


class Ran(msgspec.Struct):
    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)

    def _run(*arguments: str) -> Ran:
        code = run_command(command, list(arguments))
        shown = capsys.readouterr()
        return Ran(int(code), shown.out, shown.err)

    return _run


def _write(name: str, *values: Any) -> str:
    Path(name).write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")
    return name


def test_a_clean_body(run: Any) -> None:
    assert run(_write("a.json", GOOD)) == Ran(0, "1 body checked: 0 errors, 0 warnings.\n", "")


def test_one_line_a_violation_and_exit_1(run: Any) -> None:
    assert run(_write("a.json", BAD)) == Ran(
        1,
        "a.json: L06 messages[0].content the message has no content\n1 body checked: 1 error, 0 warnings.\n",
        "",
    )


def test_warnings_alone_are_no_failure(run: Any) -> None:
    assert run(_write("a.json", DOUBTFUL)) == Ran(
        0,
        "a.json: W09 system warning: the text is empty or white space only\n1 body checked: 0 errors, 1 warning.\n",
        "",
    )


def test_lines_are_numbered_blank_ones_too(run: Any) -> None:
    Path("a.jsonl").write_text(f"{json.dumps(GOOD)}\n\n{json.dumps({'request': BAD})}\n", encoding="utf-8")
    ran = run("a.jsonl")
    assert (ran.code, ran.out.splitlines()) == (
        1,
        ["a.jsonl:3: L06 messages[0].content the message has no content", "2 bodies checked: 1 error, 0 warnings."],
    )


def test_lines_are_recognized_without_their_suffix(run: Any) -> None:
    assert run(_write("a.txt", GOOD, BAD)).out.startswith("a.txt:2: L06 ")


def test_a_body_over_several_lines(run: Any) -> None:
    Path("a.json").write_text(json.dumps(BAD, indent=2), encoding="utf-8")
    assert run("a.json").out.startswith("a.json: L06 ")


def test_a_wrapper_brings_its_headers(run: Any) -> None:
    body = {
        **GOOD,
        "model": "x",
        "temperature": 0.5,
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
    }
    headers = {"Anthropic-Version": "2023-06-01", "anthropic-beta": ["context-management-2025-06-27", "other"]}
    assert run(_write("a.json", {"body": body, "headers": headers})).code == 0
    assert run(_write("b.json", {"body": body, "headers": list(headers.items())})).code == 0
    assert run(_write("c.json", body)).code == 1
    assert run("c.json", "--api-version", "2023-06-01", "--beta", "context-management-2025-06-27").code == 0


def test_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(BAD).encode())))
    assert run("-").out.startswith("-: L06 messages[0].content ")


def test_one_json_object(run: Any) -> None:
    ran = run("--json", _write("a.jsonl", GOOD, BAD), _write("b.json", DOUBTFUL))
    assert ran.code == 1
    assert json.loads(ran.out) == {
        "bodies": [
            {"file": "a.jsonl", "line": 1, "violations": []},
            {
                "file": "a.jsonl",
                "line": 2,
                "violations": [
                    {
                        "rule": "L06",
                        "severity": "error",
                        "path": "messages[0].content",
                        "message": "the message has no content",
                    }
                ],
            },
            {
                "file": "b.json",
                "line": None,
                "violations": [
                    {
                        "rule": "W09",
                        "severity": "warning",
                        "path": "system",
                        "message": "the text is empty or white space only",
                    }
                ],
            },
        ],
        "errors": 1,
        "warnings": 1,
    }


def test_the_rules_are_listed(run: Any) -> None:
    ran = run("--rules")
    assert ran.code == 0
    assert [line.split()[:2] for line in ran.out.splitlines()] == [[rule.id, rule.severity] for rule in RULES.values()]
    assert [rule["id"] for rule in json.loads(run("--rules", "--json").out)["rules"]] == list(RULES)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", '{"a": 1,\n "b": }', "Error: The file is no JSON: Expecting value (column 7). At a.json:2.\n"),
        ("a.json", "", "Error: The file is no JSON: Expecting value (column 1). At a.json:1.\n"),
        ("a.jsonl", '{"a": 1}\n{oops}\n', "Error: The line is no JSON: Expecting property name enclosed in double quotes. At a.jsonl:2.\n"),
        ("a.jsonl", "\n", "Error: The file holds no request body. At a.jsonl. Give a file with one JSON object a line.\n"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_one_sentence_and_exit_2(run: Any, name: str, text: str, sentence: str) -> None:
    Path(name).write_text(text, encoding="utf-8")
    assert run(name) == Ran(2, "", sentence)


def test_nothing_is_printed_when_a_later_file_cannot_be_read(run: Any) -> None:
    assert run(_write("a.json", BAD), "missing.json") == Ran(
        2, "", "Error: The file cannot be read: No such file or directory. At missing.json.\n"
    )


def test_a_lone_surrogate_is_a_finding_and_no_bad_file(run: Any) -> None:
    Path("a.json").write_text(
        json.dumps({**GOOD, "messages": [{"role": "user", "content": "\ud83d"}]}), encoding="utf-8"
    )
    ran = run("a.json")
    assert (ran.code, ran.out.splitlines()[0]) == (1, "a.json: W01 messages[0].content the text holds a lone surrogate")


def test_no_file_is_a_usage_error(run: Any) -> None:
    ran = run()
    assert (ran.code, ran.out) == (2, "")
    assert "Name at least one FILE" in ran.err


def test_an_unknown_platform_is_one_sentence(run: Any) -> None:
    ran = run(_write("a.json", GOOD), "--platform", "moon")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Error: There is no platform 'moon'.")
    assert "Traceback" not in ran.err


def _circumstances(body: dict[str, Any], **choices: Any) -> Any:
    chosen = {"model": None, "betas": (), "platform": "claude-api", "api_version": None, "counting": False, **choices}
    found = Found(file="a", line=None, data=json.dumps(body).encode(), headers={})
    return circumstances(found, Choices(**chosen))


def test_the_model_of_the_body_decides_what_it_can_do() -> None:
    found = _circumstances({**GOOD, "model": "claude-opus-4-6"})
    assert (found.system_role, found.prefill, found.max_output) == (False, False, 128_000)
    assert found.thinking == ("adaptive", "enabled", "disabled")
    assert found.efforts == ("low", "medium", "high", "max")


def test_the_model_of_the_command_line_comes_first() -> None:
    assert _circumstances({**GOOD, "model": "claude-opus-4-6"}, model="claude-opus-5").system_role is True


def test_a_model_nobody_knows_is_judged_by_no_ability() -> None:
    found = _circumstances({**GOOD, "model": "somebody-else"})
    assert (found.system_role, found.prefill, found.thinking, found.efforts, found.max_output) == (None,) * 5


def test_what_the_profile_doubts_is_not_judged() -> None:
    assert _circumstances({**GOOD, "model": "claude-sonnet-5-5"}).system_role is None


def test_a_platform_brings_its_limits() -> None:
    found = _circumstances(GOOD, platform="bedrock-legacy")
    assert (found.body_limit, found.image_limit) == (20 * 1024 * 1024, 5 * 1024 * 1024)
    assert (found.automatic_caching, found.versioned_body) == (False, True)


def test_betas_in_the_body_count() -> None:
    assert _circumstances({**GOOD, "anthropic_beta": ["x", 5]}, betas=("y",)).betas == ("y", "x")


def test_an_unknown_platform_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError):
        _circumstances(GOOD, platform="moon")


RECORDING = """
interactions:
  - request:
      method: POST
      uri: https://api.example/v1/messages
      headers: {anthropic-version: ["2023-06-01"]}
      body: '{"model":"x","max_tokens":1,"temperature":0.5,"messages":[{"role":"user","content":"a"}]}'
    response: {status: {code: 200}}
  - request: {method: GET, uri: https://api.example/v1/models, headers: {}, body: null}
    response: {status: {code: 200}}
  - request:
      method: POST
      uri: https://api.example/v1/messages/count_tokens
      headers: {}
      parsed_body: {model: x, messages: [{role: user, content: ""}]}
    response: {status: {code: 400}}
"""


def test_a_recording_is_checked_exchange_by_exchange(run: Any) -> None:
    Path("tape.yaml").write_text(RECORDING, encoding="utf-8")
    ran = run("tape.yaml")
    assert (ran.code, ran.out.splitlines()) == (
        1,
        ["tape.yaml#3: L06 messages[0].content the message has no content", "2 bodies checked: 1 error, 0 warnings."],
    )


def test_yaml_that_is_no_recording_is_named(run: Any) -> None:
    Path("a.yaml").write_text("a: 1\n", encoding="utf-8")
    assert "it has no 'interactions'" in run("a.yaml").err
    Path("b.yaml").write_text("a: [\n", encoding="utf-8")
    assert "is no YAML" in run("b.yaml").err


@pytest.mark.req("R179")
def test_a_session_is_checked_as_stored_and_as_it_would_be_sent(run: Any) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    records = [
        {
            "type": "user",
            "uuid": "u1",
            "parentUuid": None,
            "sessionId": "s",
            "message": {"role": "user", "content": "go"},
        },
        {
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "u1",
            "sessionId": "s",
            "message": {
                "id": "m1",
                "role": "assistant",
                "model": "claude-opus-5",
                "content": [call],
                "stop_reason": "tool_use",
            },
        },
        {
            "type": "user",
            "uuid": "u2",
            "parentUuid": "a1",
            "sessionId": "s",
            "message": {"role": "user", "content": "on"},
        },
    ]
    ran = run(_write("session.jsonl", *records))
    assert (ran.code, ran.out.splitlines()) == (
        1,
        [
            "session.jsonl: L55 messages[1].content[0] the call 't1' has no result in the next message (entry a1)",
            "session.jsonl: would be sent with 1 item left out or repaired (pairs 1)",
            "1 body checked: 1 error, 0 warnings.",
        ],
    )


def test_a_rule_is_explained(run: Any) -> None:
    ran = run("--explain", "l55")
    assert ran.code == 0
    assert ran.out.startswith("L55 every call is answered in the next message\n")
    assert "severity  error (verified)" in ran.out
    assert json.loads(run("--explain", "L55", "--json").out)["id"] == "L55"
    assert run("--explain", "L999").code == 2
