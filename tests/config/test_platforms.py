"""Platforms: what each can do, and which one an environment means."""

import pytest

from compositor.config.platforms import Ability, base_url, beta_for, find_platform, known_platforms, platform_of
from compositor.errors import ConfigError

IDS = ["claude-api", "claude-aws", "bedrock", "bedrock-legacy", "vertex", "foundry", "gateway", "openai-compatible"]

# Rows of the matrix (wire page 10): ability -> platforms that have it.
MATRIX = {
    Ability.COUNT_TOKENS: {"claude-api", "claude-aws", "bedrock", "vertex", "foundry"},
    Ability.BATCHES: {"claude-api", "claude-aws"},
    Ability.AUTOMATIC_CACHING: {"claude-api", "claude-aws", "bedrock", "vertex", "foundry"},
    Ability.DIAGNOSTICS: {"claude-api"},
    Ability.FAST: {"claude-api"},
    Ability.WORKSPACE_HEADER: {"claude-aws"},
    Ability.CACHING: set(IDS) - {"openai-compatible"},
}


def test_the_platforms() -> None:
    assert [platform.id for platform in known_platforms()] == IDS


@pytest.mark.parametrize("ability", MATRIX)
def test_the_matrix(ability: Ability) -> None:
    assert {platform.id for platform in known_platforms() if platform.has(ability)} == MATRIX[ability]


def test_limits_and_places() -> None:
    mib = 1024 * 1024
    assert find_platform("claude-api").body_limit == 32 * mib
    assert find_platform("bedrock-legacy").body_limit == 20 * mib
    assert find_platform("vertex").body_limit == 30 * mib
    assert find_platform("bedrock").image_limit == 5 * mib
    assert {platform.id for platform in known_platforms() if platform.version_in == "body"} == {
        "bedrock-legacy",
        "vertex",
    }
    assert find_platform("bedrock-legacy").stream == "aws"


def test_an_unknown_platform_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'clod-api'.*claude-api") as caught:
        find_platform("clod-api")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("environment", "platform"),
    [
        ({}, "claude-api"),
        ({"ANTHROPIC_BASE_URL": ""}, "claude-api"),
        ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com"}, "claude-api"),
        ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com/"}, "claude-api"),
        ({"ANTHROPIC_BASE_URL": "https://anthropic.com.evil.example"}, "gateway"),
        ({"ANTHROPIC_BASE_URL": "https://notanthropic.com"}, "gateway"),
        ({"ANTHROPIC_BASE_URL": "http://localhost:8080/v1"}, "gateway"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "bedrock"),
        ({"CLAUDE_CODE_USE_VERTEX": "true"}, "vertex"),
        ({"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_BASE_URL": "https://x.example"}, "foundry"),
        ({"CLAUDE_CODE_USE_BEDROCK": "0"}, "claude-api"),
    ],
)
def test_what_an_environment_means(environment: dict[str, str], platform: str) -> None:
    assert platform_of(environment) == platform


def test_the_address() -> None:
    assert base_url({}) == "https://api.anthropic.com"
    assert base_url({"ANTHROPIC_BASE_URL": " https://gw.example/anthropic/ "}) == "https://gw.example/anthropic"


@pytest.mark.parametrize(
    "url",
    ["gw.example", "ftp://gw.example", "https://", "https://[::1", "https://gw.example:99999", "file:///etc/passwd"],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_BASE_URL"):
        base_url({"ANTHROPIC_BASE_URL": url})


def test_an_address_with_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        base_url({"ANTHROPIC_BASE_URL": "https://user:sk-secret@gw.example"})
    assert "sk-secret" not in str(caught.value)


def test_betas_of_fields() -> None:
    fast, edits = beta_for("speed"), beta_for("context_management")
    assert fast is not None
    assert fast.name == "fast-mode-2026-02-01"
    assert edits is not None
    assert edits.name == "context-management-2025-06-27"
    assert beta_for("thinking") is None
