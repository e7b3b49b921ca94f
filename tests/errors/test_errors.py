"""What each error carries and how it reads."""

import copy

import pytest

from compositor.errors import (
    CompositorError,
    ConfigError,
    EnforcementError,
    ExitCode,
    IllegalRequestError,
    PermissionRuleError,
    ProviderHTTPError,
    SandboxUnavailableError,
    SessionBusyError,
    SettingsError,
    StreamProtocolError,
    TranscriptFormatError,
    TranscriptGraphError,
    UsageError,
)


def test_a_bare_error_is_one_sentence() -> None:
    assert str(CompositorError("The thing 'x' is wrong")) == "The thing 'x' is wrong."


@pytest.mark.parametrize("end", [".", "!", "?"])
def test_a_sentence_keeps_its_own_end(end: str) -> None:
    assert str(CompositorError(f"Really{end}")) == f"Really{end}"


def test_parts_that_are_missing_leave_no_gap() -> None:
    assert str(CompositorError("Wrong.", hint="Change it.")) == "Wrong. Change it."
    assert str(CompositorError("Wrong.", where="a.json:3")) == "Wrong. At a.json:3."


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({}, None),
        ({"path": "a.json"}, "a.json"),
        ({"path": "a.json", "line": 3}, "a.json:3"),
        ({"path": "a.json", "key": "model"}, "a.json, key 'model'"),
        ({"path": "a.json", "line": 3, "key": "env.X"}, "a.json:3, key 'env.X'"),
        ({"line": 3}, "line 3"),
        ({"key": "model"}, "key 'model'"),
        ({"path": "a.json", "line": 3, "where": "the second file"}, "the second file"),
    ],
)
def test_a_config_error_makes_its_place_of_what_it_knows(given: dict[str, str | int], where: str | None) -> None:
    assert ConfigError("Wrong", **given).where == where


def test_a_settings_error_carries_what_was_expected_and_got() -> None:
    error = SettingsError(
        "Key 'model' must be text", path=".claude/settings.json", line=4, key="model", expected="text", got="4"
    )
    assert (error.path, error.line, error.key, error.expected, error.got) == (
        ".claude/settings.json",
        4,
        "model",
        "text",
        "4",
    )
    assert str(error) == "Key 'model' must be text. At .claude/settings.json:4, key 'model'."


def test_a_transcript_error_points_at_its_line_or_entry() -> None:
    assert (
        str(TranscriptFormatError("Version '9' is unknown", line=1, version="9"))
        == "Version '9' is unknown. At line 1."
    )
    assert str(TranscriptGraphError("The parent is missing", entry="e7")) == "The parent is missing. At entry 'e7'."
    busy = SessionBusyError("The session 's' is in use", holder="process 12", hint="Fork it")
    assert (busy.holder, str(busy)) == ("process 12", "The session 's' is in use. Fork it.")


def test_an_illegal_request_names_place_then_rule_then_hint() -> None:
    error = IllegalRequestError("Result 'r' answers no call", rule="L042", path="messages.3.content.0", hint="Drop it")
    assert str(error) == "Result 'r' answers no call. At messages.3.content.0. Rule L042. Drop it."
    assert (error.rule, error.path) == ("L042", "messages.3.content.0")


def test_an_http_error_carries_what_a_retry_needs() -> None:
    error = ProviderHTTPError("The provider is overloaded", status=529, type="overloaded_error", retry_after=2.5)
    assert (error.status, error.type, error.retry_after) == (529, "overloaded_error", 2.5)
    assert str(error) == "The provider is overloaded."


def test_misuse_is_not_caught_as_anything_but_a_runtime_error() -> None:
    assert issubclass(UsageError, RuntimeError)
    assert not issubclass(ConfigError, RuntimeError)


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (CompositorError("x"), 1),
        (UsageError("x"), 2),
        (PermissionRuleError("x"), 2),
        (TranscriptGraphError("x"), 2),
        (SessionBusyError("x"), 1),
        (IllegalRequestError("x", rule="L001"), 1),
        (StreamProtocolError("x"), 4),
        (EnforcementError("x"), 5),
        (SandboxUnavailableError("x"), 5),
    ],
)
def test_each_error_ends_a_command_with_its_documented_code(error: CompositorError, exit_code: int) -> None:
    assert error.exit_code == exit_code


def test_the_exit_codes_are_the_documented_ones() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0,
        "FAILED": 1,
        "BAD_INPUT": 2,
        "NOTHING_SENT": 3,
        "PROVIDER": 4,
        "ENFORCEMENT": 5,
        "INTERRUPTED": 130,
        "TERMINATED": 143,
    }


def test_an_error_can_be_copied() -> None:
    error = ProviderHTTPError("No", status=400)
    assert copy.copy(error).status == 400


def test_a_subclass_with_its_own_keywords_survives_copying() -> None:
    class StrictError(CompositorError):
        code = "strict"

        def __init__(self, message: str, *, needed: int) -> None:
            super().__init__(message)
            self.needed = needed

    assert copy.copy(StrictError("x", needed=4)).needed == 4
