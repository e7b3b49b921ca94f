"""Model facts: every figure of the reference, and the names that lead to a profile."""

import pytest

from compositor.config.profile import (
    Effort,
    FastMode,
    ThinkingDefault,
    ThinkingKind,
    default_model,
    find_profile,
    known_aliases,
    known_profiles,
)

# The ids that the public SDK knows.
IDS = """
claude-fable-5-2 claude-fable-5-1 claude-fable-5 claude-mythos-5-2 claude-mythos-5-1 claude-mythos-5 claude-mythos-preview
claude-opus-5-5 claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5 claude-sonnet-5-5
claude-sonnet-5 claude-sonnet-4-6 claude-sonnet-4-5 claude-haiku-5-5 claude-haiku-4-5
""".split()


def test_every_known_id_has_a_profile_of_its_own() -> None:
    assert sorted(profile.id for profile in known_profiles()) == sorted(IDS)
    for name in IDS:
        found = find_profile(name)
        assert (found.model, found.profile.id, found.diagnostics) == (name, name, ())


@pytest.mark.parametrize(
    ("name", "model", "profile", "long_context"),
    [
        ("opus", "claude-opus-5-5", "claude-opus-5-5", False),
        ("sonnet", "claude-sonnet-5-5", "claude-sonnet-5-5", False),
        ("haiku", "claude-haiku-5-5", "claude-haiku-5-5", False),
        ("fable", "claude-fable-5-1", "claude-fable-5-1", False),
        ("default", default_model(), default_model(), False),
        ("OPUS", "claude-opus-5-5", "claude-opus-5-5", False),
        ("opus[1m]", "claude-opus-5-5", "claude-opus-5-5", True),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5", "claude-sonnet-4-5", True),
        ("claude-sonnet-4-5[1M]", "claude-sonnet-4-5", "claude-sonnet-4-5", True),
        (" claude-sonnet-4-6 [1m]", "claude-sonnet-4-6", "claude-sonnet-4-6", True),
        ("claude-opus-4-5-20251101", "claude-opus-4-5-20251101", "claude-opus-4-5", False),
        ("claude-opus-4-5@20251101", "claude-opus-4-5@20251101", "claude-opus-4-5", False),
        ("anthropic/claude-opus-4-8", "anthropic/claude-opus-4-8", "claude-opus-4-8", False),
        ("anthropic.claude-haiku-5-5", "anthropic.claude-haiku-5-5", "claude-haiku-5-5", False),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "claude-sonnet-4-5",
            False,
        ),
    ],
)
@pytest.mark.req("R024")
def test_names_are_normalized(name: str, model: str, profile: str, long_context: bool) -> None:
    found = find_profile(name)
    assert (found.model, found.profile.id, found.long_context) == (model, profile, long_context)


@pytest.mark.req("R024")
def test_an_unknown_model_gets_the_conservative_profile_and_a_diagnostic() -> None:
    found = find_profile("my-proxy/next-model[1m]")
    assert found.model == "my-proxy/next-model"
    assert found.long_context
    assert [note.code for note in found.diagnostics] == ["model.unknown"]
    profile = found.profile
    assert not profile.is_known
    assert (profile.window, profile.max_output) == (200_000, 32_000)
    # What is safe everywhere: nothing optional is sent, nothing settled is changed.
    assert (profile.thinking.kinds, profile.efforts, profile.system_role) == ((), (), ())
    assert profile.binds_thinking
    assert not profile.prefill


def test_a_prefix_of_a_known_name_is_not_that_model() -> None:
    assert not find_profile("claude-opus-5-55").profile.is_known
    assert not find_profile("claude-opus").profile.is_known
    assert not find_profile("").profile.is_known


def test_an_alias_that_means_more_than_it_does_here_says_so() -> None:
    assert [note.code for note in find_profile("opusplan").diagnostics] == ["model.alias"]


def test_every_alias_leads_to_a_known_model() -> None:
    assert {"opus", "sonnet", "haiku", "fable", "default"} <= set(known_aliases())
    assert all(find_profile(model).profile.is_known for model in known_aliases().values())


# Window and output cap in thousands of tokens (wire page 9.3).
SIZES = {
    **dict.fromkeys(IDS, (1_000_000, 128_000)),
    "claude-opus-4-5": (200_000, 64_000),
    "claude-sonnet-4-5": (200_000, 64_000),
    "claude-haiku-4-5": (200_000, 64_000),
}


@pytest.mark.parametrize("name", IDS)
def test_window_and_output(name: str) -> None:
    profile = find_profile(name).profile
    assert (profile.window, profile.max_output) == SIZES[name]


A, E, B, D = ThinkingKind.ADAPTIVE, ThinkingKind.ENABLED, ThinkingKind.BETWEEN_TOOLS, ThinkingKind.DISABLED
ALWAYS, ON, OFF = ThinkingDefault.ALWAYS, ThinkingDefault.ON, ThinkingDefault.OFF

# Accepted kinds and default (wire page 9.4).
THINKING = {
    "claude-fable-5-1": ({A}, ALWAYS),
    "claude-fable-5": ({A}, ALWAYS),
    "claude-mythos-5-1": ({A}, ALWAYS),
    "claude-mythos-5": ({A}, ALWAYS),
    "claude-mythos-preview": ({A, E}, ALWAYS),
    "claude-opus-5-5": ({A}, ALWAYS),
    "claude-opus-5": ({A, D}, ON),
    "claude-opus-4-8": ({A, D}, OFF),
    "claude-opus-4-7": ({A, D}, OFF),
    "claude-opus-4-6": ({A, E, D}, OFF),
    "claude-opus-4-5": ({E, D}, OFF),
    "claude-sonnet-5-5": ({A, B}, ON),
    "claude-sonnet-5": ({A, D}, ON),
    "claude-sonnet-4-6": ({A, E, D}, OFF),
    "claude-sonnet-4-5": ({E, D}, OFF),
    "claude-haiku-5-5": ({A}, ON),
    "claude-haiku-4-5": ({E, D}, OFF),
}


@pytest.mark.parametrize("name", THINKING)
def test_thinking(name: str) -> None:
    thinking = find_profile(name).profile.thinking
    assert (set(thinking.kinds), thinking.default) == THINKING[name]


def test_the_effort_up_to_which_thinking_can_be_off() -> None:
    capped = {profile.id for profile in known_profiles() if profile.thinking.off_effort_cap is Effort.HIGH}
    assert capped == {"claude-opus-5", "claude-sonnet-5-5"}


def test_which_models_bind_thinking_to_the_prefix() -> None:
    confirmed = {
        profile.id for profile in known_profiles() if profile.binds_thinking and "binds_thinking" not in profile.doubts
    }
    assert confirmed == {"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5"}


def test_default_effort() -> None:
    medium = {profile.id for profile in known_profiles() if profile.default_effort is Effort.MEDIUM}
    none = {profile.id for profile in known_profiles() if profile.default_effort is None}
    assert medium == {"claude-opus-5-5", "claude-haiku-5-5"}
    assert none == {"claude-sonnet-4-5", "claude-haiku-4-5"}
    for profile in known_profiles():
        assert (profile.default_effort is None) == (profile.efforts == ())
        assert profile.default_effort is None or profile.default_effort in profile.efforts


# Minimum cacheable tokens (wire page 4.3).
CACHE_MINIMUM = {
    512: {"claude-fable-5", "claude-fable-5-1", "claude-mythos-5", "claude-mythos-5-1"}
    | {"claude-opus-5", "claude-opus-5-5", "claude-sonnet-5-5"},
    1024: {"claude-opus-4-8", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5"},
    2048: {"claude-opus-4-7", "claude-mythos-preview"},
    4096: {"claude-opus-4-6", "claude-opus-4-5", "claude-haiku-4-5"},
    None: {"claude-haiku-5-5", "claude-fable-5-2", "claude-mythos-5-2"},
}


@pytest.mark.parametrize("tokens", CACHE_MINIMUM)
def test_cache_minimum(tokens: int | None) -> None:
    assert {profile.id for profile in known_profiles() if profile.cache_minimum == tokens} == CACHE_MINIMUM[tokens]


def test_where_a_system_message_is_legal() -> None:
    models = {profile.id for profile in known_profiles() if "claude-api" in profile.system_role}
    assert models == {
        *("claude-fable-5", "claude-fable-5-1", "claude-mythos-5", "claude-mythos-5-1"),
        *("claude-opus-4-8", "claude-opus-5", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"),
    }
    assert all("foundry" not in profile.system_role for profile in known_profiles())


def test_only_the_models_before_4_6_take_a_prefill() -> None:
    models = {profile.id for profile in known_profiles() if profile.prefill}
    assert models == {"claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"}


def test_forced_tool_choice() -> None:
    refused = {profile.id for profile in known_profiles() if not profile.forced_tools}
    assert {"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-mythos-preview"} <= refused
    assert "claude-opus-5" not in refused


def test_sampling_is_closed_from_4_7_on() -> None:
    models = {profile.id for profile in known_profiles() if profile.sampling}
    assert models == {
        *("claude-opus-4-6", "claude-opus-4-5", "claude-sonnet-4-6", "claude-sonnet-4-5", "claude-haiku-4-5"),
    }


def test_the_new_version_reaches_bedrock_only_with_4_7() -> None:
    assert find_profile("claude-opus-4-7").profile.version_on("bedrock") == "2026-10-21"
    assert find_profile("claude-opus-4-6").profile.version_on("bedrock") == "2023-06-01"
    assert find_profile("claude-opus-4-6").profile.version_on("claude-api") == "2026-10-21"


def test_fast_mode() -> None:
    by_mode = {mode: {profile.id for profile in known_profiles() if profile.fast is mode} for mode in FastMode}
    assert by_mode[FastMode.PLAIN] == {"claude-fable-5-2", "claude-mythos-5-2", "claude-opus-5-5"}
    assert by_mode[FastMode.BETA] == {"claude-opus-5", "claude-opus-4-8"}


def test_every_profile_says_where_it_comes_from_and_what_is_doubtful() -> None:
    for profile in known_profiles():
        assert profile.source
        assert len(profile.date) == len("2026-11-30")
        assert profile.verified == (profile.doubts == ())
        assert set(profile.doubts) <= set(profile.__struct_fields__)
        assert profile.images.max_tokens == (4784 if profile.images.long_edge == 2576 else 1568)
        assert 2 <= profile.chars_per_token <= 4
