"""Variables: their forms, and who may set them."""

import json

import pytest

from compositor.config.environment import HARMLESS, join_environment, read_environment
from compositor.config.layer import Layer, Level, parse_layer
from compositor.config.profile import Effort
from compositor.config.settings import merge_layers
from compositor.config.trust import Trust
from compositor.errors import ConfigError


def layer(level: Level, env: dict[str, str], *, shared: bool = False) -> Layer:
    data = json.dumps({"env": env}).encode()
    return parse_layer(data, level=level, file=f"{level}.json", base="/b", shared=shared)


def test_settings_override_the_shell_and_an_empty_value_takes_away() -> None:
    settings = merge_layers(
        [layer(Level.USER, {"A": "user", "B": "user", "GONE": ""}), layer(Level.LOCAL, {"B": "local"})]
    )
    joined = join_environment({"A": "shell", "GONE": "shell", "KEPT": "shell"}, settings, Trust.UNTRUSTED)
    assert joined.variables == {"A": "user", "B": "local", "KEPT": "shell"}
    assert joined.diagnostics == ()


def test_managed_variables_win() -> None:
    settings = merge_layers([layer(Level.MANAGED, {"A": "policy"}), layer(Level.CLI, {"A": "cli"})])
    assert join_environment({"A": "shell"}, settings, Trust.TRUSTED).variables == {"A": "policy"}


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_CUSTOM_HEADERS", "HTTPS_PROXY", "PATH", "LD_PRELOAD"]
)
def test_a_repository_nobody_vouched_for_moves_no_key_and_runs_no_program(name: str) -> None:
    settings = merge_layers([layer(Level.PROJECT, {name: "evil", "MAX_THINKING_TOKENS": "5000"}, shared=True)])
    joined = join_environment({name: "mine"}, settings, Trust.UNTRUSTED)
    assert joined.variables == {name: "mine", "MAX_THINKING_TOKENS": "5000"}
    assert [(note.code, note.where) for note in joined.diagnostics] == [("settings.untrusted-env", "project.json:1")]
    assert "evil" not in repr(joined.diagnostics)
    assert join_environment({name: "mine"}, settings, Trust.TRUSTED).variables[name] == "evil"


def test_what_is_harmless_names_no_credential_address_or_program() -> None:
    for name in HARMLESS:
        assert not any(part in name for part in ("KEY", "URL", "PATH", "PROXY", "HEADER", "SHELL", "HELPER", "PRELOAD"))
        assert not name.endswith("_TOKEN")


def test_the_printed_form_holds_no_value() -> None:
    joined = join_environment({"KEY": "sk-secret"}, merge_layers([]), Trust.TRUSTED)
    assert "sk-secret" not in repr(joined)


def test_an_empty_environment_says_nothing() -> None:
    environment = read_environment({})
    assert environment.model is None
    assert environment.credential is None
    assert environment.disable_git_instructions is None


def test_the_forms_of_variables() -> None:
    environment = read_environment(
        {
            "ANTHROPIC_MODEL": " opus ",
            "ANTHROPIC_BETAS": "a, b",
            "CLAUDE_CODE_EFFORT_LEVEL": "High",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "16000",
            "MAX_THINKING_TOKENS": "0",
            "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "0",
            "DISABLE_PROMPT_CACHING": "yes",
        }
    )
    assert environment.model == "opus"
    assert environment.betas == ("a", "b")
    assert environment.effort is Effort.HIGH
    assert environment.max_output_tokens == 16_000
    assert environment.max_thinking_tokens == 0
    assert environment.disable_git_instructions is False
    assert environment.disable_caching


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "0"),
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "many"),
        ("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "-1"),
        ("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "1e6"),
        ("MAX_THINKING_TOKENS", "٣"),
        ("CLAUDE_CODE_EFFORT_LEVEL", "huge"),
        ("CLAUDE_CODE_MAX_TURNS", "9" * 40),
    ],
)
def test_a_variable_without_meaning_stops_the_run(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name) as caught:
        read_environment({name: value})
    assert caught.value.exit_code == 2


def test_the_effort_variable_can_leave_the_choice_to_the_model() -> None:
    assert read_environment({"CLAUDE_CODE_EFFORT_LEVEL": "auto"}).effort is None


def test_credentials_are_known_but_not_shown() -> None:
    environment = read_environment({"ANTHROPIC_API_KEY": "sk-key", "ANTHROPIC_AUTH_TOKEN": "sk-token"})
    assert environment.credential is not None
    assert (environment.credential.kind, environment.credential.variable) == ("auth_token", "ANTHROPIC_AUTH_TOKEN")
    assert environment.credential.secret.reveal() == "sk-token"
    assert "sk-" not in repr(environment)
    only_key = read_environment({"ANTHROPIC_API_KEY": "sk-key", "ANTHROPIC_AUTH_TOKEN": " "})
    assert only_key.credential is not None
    assert only_key.credential.kind == "api_key"
