"""Single choices: who wins where flag, variable, setting and profile disagree."""

import json
from typing import Any

import pytest

from compositor.config.choices import (
    asked_ttl,
    choose_effort,
    choose_model,
    choose_output,
    choose_platform,
    choose_thinking,
)
from compositor.config.environment import read_environment
from compositor.config.flags import Flags
from compositor.config.layer import Level, parse_layer
from compositor.config.profile import Effort, ThinkingKind, default_model, find_profile
from compositor.config.settings import Settings, merge_layers
from compositor.errors import ConfigError
from compositor.types.request import Ttl


def settings(value: dict[str, Any]) -> Settings:
    return merge_layers([parse_layer(json.dumps(value).encode(), level=Level.USER, file="u.json", base="/b")])


@pytest.mark.parametrize(
    ("flag", "variable", "setting", "filler", "model", "source"),
    [
        ("haiku", "opus", "sonnet", "fable", "claude-haiku-5-5", "--model"),
        (None, "opus", "sonnet", "fable", "claude-opus-5-5", "ANTHROPIC_MODEL"),
        (None, None, "sonnet", "fable", "claude-sonnet-5-5", "the setting 'model'"),
        (None, None, None, "fable", "claude-fable-5-1", "ANTHROPIC_DEFAULT_MODEL"),
        (None, None, None, None, default_model(), "the default"),
    ],
)
def test_the_model(
    flag: str | None, variable: str | None, setting: str | None, filler: str | None, model: str, source: str
) -> None:
    variables = {"ANTHROPIC_MODEL": variable, "ANTHROPIC_DEFAULT_MODEL": filler}
    environment = read_environment({name: value for name, value in variables.items() if value})
    choice = choose_model(Flags(model=flag), environment, settings({"model": setting} if setting else {}))
    assert (choice.value.model, choice.source) == (model, source)


@pytest.mark.parametrize("allowed", [["opus"], ["claude-opus-5-5"], ["haiku", "opus"]])
def test_a_model_has_to_be_among_the_available_ones(allowed: list[str]) -> None:
    narrow = settings({"availableModels": allowed})
    assert choose_model(Flags(model="claude-opus-5-5"), read_environment({}), narrow).value.model == "claude-opus-5-5"
    with pytest.raises(ConfigError, match="'sonnet'") as caught:
        choose_model(Flags(model="sonnet"), read_environment({}), narrow)
    assert caught.value.path == "u.json"
    # A default gives way instead: nobody chose it.
    assert choose_model(Flags(), read_environment({}), narrow).value.model == find_profile(allowed[0]).model


def test_a_family_allows_its_older_models() -> None:
    narrow = settings({"availableModels": ["opus"]})
    assert choose_model(Flags(model="claude-opus-4-6"), read_environment({}), narrow).value.model == "claude-opus-4-6"


def test_an_empty_list_of_models_leaves_the_default_alone() -> None:
    narrow = settings({"availableModels": []})
    assert choose_model(Flags(), read_environment({}), narrow).value.model == default_model()
    with pytest.raises(ConfigError, match="the default model"):
        choose_model(Flags(model="opus"), read_environment({}), narrow)


def test_the_platform() -> None:
    gateway = {"ANTHROPIC_BASE_URL": "https://gw.example"}
    own = settings({"compositor": {"platform": "openai-compatible"}})
    assert choose_platform(Flags(platform="vertex"), gateway, own).id == "vertex"
    assert choose_platform(Flags(), gateway, own).id == "openai-compatible"
    assert choose_platform(Flags(), gateway, settings({})).id == "gateway"
    assert choose_platform(Flags(), {}, settings({})).id == "claude-api"


@pytest.mark.parametrize(
    ("flag", "variable", "setting", "effort"),
    [
        (Effort.LOW, "high", "max", Effort.LOW),
        (None, "xhigh", "max", Effort.XHIGH),
        (None, None, "max", Effort.MAX),
        (None, None, None, Effort.MEDIUM),
    ],
)
def test_the_effort(flag: Effort | None, variable: str | None, setting: str | None, effort: Effort) -> None:
    environment = read_environment({"CLAUDE_CODE_EFFORT_LEVEL": variable} if variable else {})
    profile = find_profile("claude-opus-5-5").profile
    choice = choose_effort(
        Flags(effort=flag), environment, settings({"effortLevel": setting} if setting else {}), profile
    )
    assert (choice.value, choice.diagnostics) == (effort, ())


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("claude-opus-4-6", Effort.XHIGH, Effort.HIGH),
        ("claude-opus-4-6", Effort.MAX, Effort.MAX),
        ("claude-opus-4-5", Effort.MAX, Effort.HIGH),
        ("claude-haiku-4-5", Effort.LOW, None),
        ("somebody-elses-model", Effort.HIGH, None),
    ],
)
def test_an_effort_the_model_does_not_have_is_lowered_and_said(model: str, asked: Effort, sent: Effort | None) -> None:
    profile = find_profile(model).profile
    choice = choose_effort(Flags(effort=asked), read_environment({}), settings({}), profile)
    assert choice.value is sent
    assert [note.code for note in choice.diagnostics] == ([] if sent is asked else ["contract.effort"])


@pytest.mark.parametrize(
    ("model", "variables", "setting", "kind", "budget"),
    [
        ("claude-opus-5-5", {}, None, ThinkingKind.ADAPTIVE, None),
        ("claude-opus-4-8", {}, None, ThinkingKind.ADAPTIVE, None),
        ("claude-opus-4-6", {}, None, ThinkingKind.ADAPTIVE, None),
        ("claude-opus-5-5", {"MAX_THINKING_TOKENS": "5000"}, None, ThinkingKind.ADAPTIVE, None),
        ("claude-opus-5-5", {"CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING": "1"}, None, ThinkingKind.ADAPTIVE, None),
        (
            "claude-opus-4-6",
            {"CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING": "1", "MAX_THINKING_TOKENS": "5000"},
            None,
            ThinkingKind.ENABLED,
            5000,
        ),
        ("claude-opus-4-5", {}, None, None, None),
        ("claude-opus-4-5", {"MAX_THINKING_TOKENS": "2048"}, None, ThinkingKind.ENABLED, 2048),
        ("claude-opus-4-5", {}, True, ThinkingKind.ENABLED, 4096),
        ("claude-opus-4-8", {}, False, None, None),
        ("claude-opus-5", {}, False, ThinkingKind.DISABLED, None),
        ("claude-opus-5", {"MAX_THINKING_TOKENS": "0"}, None, ThinkingKind.DISABLED, None),
        ("claude-sonnet-5-5", {"CLAUDE_CODE_DISABLE_THINKING": "1"}, None, ThinkingKind.BETWEEN_TOOLS, None),
        ("somebody-elses-model", {}, None, None, None),
        ("somebody-elses-model", {}, False, None, None),
    ],
)
def test_thinking(
    model: str, variables: dict[str, str], setting: bool | None, kind: ThinkingKind | None, budget: int | None
) -> None:
    value = {} if setting is None else {"alwaysThinkingEnabled": setting}
    choice = choose_thinking(read_environment(variables), settings(value), find_profile(model).profile, Effort.HIGH)
    assert (choice.value.kind, choice.value.budget, choice.diagnostics) == (kind, budget, ())


@pytest.mark.parametrize(
    ("model", "effort"),
    [
        ("claude-opus-5-5", Effort.LOW),
        ("claude-fable-5-1", Effort.HIGH),
        ("claude-opus-5", Effort.XHIGH),
        ("claude-sonnet-5-5", Effort.MAX),
    ],
)
def test_thinking_that_cannot_be_off_stays_on_and_is_said(model: str, effort: Effort) -> None:
    off = read_environment({"CLAUDE_CODE_DISABLE_THINKING": "1"})
    choice = choose_thinking(off, settings({}), find_profile(model).profile, effort)
    assert choice.value.kind is None
    assert [note.code for note in choice.diagnostics] == ["contract.thinking"]


@pytest.mark.req("R381")
def test_the_output_cap() -> None:
    opus, haiku = find_profile("claude-opus-5-5").profile, find_profile("claude-haiku-4-5").profile
    none = read_environment({})
    assert choose_output(Flags(), none, opus).value == 8_000
    variable = read_environment({"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "20000"})
    assert choose_output(Flags(), variable, opus).value == 20_000
    assert choose_output(Flags(max_output_tokens=30_000), variable, opus).value == 30_000
    capped = choose_output(Flags(max_output_tokens=100_000), none, haiku)
    assert capped.value == 64_000
    assert [note.code for note in capped.diagnostics] == ["contract.max-output"]


@pytest.mark.parametrize(
    ("variables", "value", "ttl"),
    [
        ({}, {}, None),
        ({}, {"promptCacheTtl": "1h"}, Ttl.LONG),
        ({}, {"promptCacheTtl": "1h", "compositor": {"promptCacheTtl": "5m"}}, Ttl.SHORT),
        ({"ENABLE_PROMPT_CACHING_1H": "1"}, {"promptCacheTtl": "5m"}, Ttl.LONG),
        ({"ENABLE_PROMPT_CACHING_1H": "1", "FORCE_PROMPT_CACHING_5M": "1"}, {}, Ttl.SHORT),
    ],
)
def test_the_lifetime_of_markers(variables: dict[str, str], value: dict[str, Any], ttl: Ttl | None) -> None:
    assert asked_ttl(read_environment(variables), settings(value)) is ttl
