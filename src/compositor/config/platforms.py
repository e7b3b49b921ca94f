"""Where requests go, as data: the platforms, what each of them can do, and the betas each of them takes.

Decides which platform an environment means and which beta a body field needs there. The facts stand in
`profiles/platforms.json` and `profiles/betas.json`. Never speaks to one.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from compositor.errors import ConfigError

from .data import read_data


class Ability(enum.StrEnum):
    """Something a platform may or may not do (wire page 10)."""

    CACHING = "caching"
    AUTOMATIC_CACHING = "automatic_caching"
    IMAGE_URL = "image_url"
    COUNT_TOKENS = "count_tokens"
    BATCHES = "batches"
    MODELS_API = "models_api"
    SERVER_TOOLS = "server_tools"
    STRUCTURED_OUTPUTS = "structured_outputs"
    DIAGNOSTICS = "diagnostics"
    RATELIMIT_HEADERS = "ratelimit_headers"
    WORKSPACE_HEADER = "workspace_header"
    FAST = "fast"
    ON_DEMAND_COMPACTION = "on_demand_compaction"


class Platform(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One platform: limits in bytes (`image_limit` of the encoded image).

    `version_in`, `betas_in` and `model_in` tell where these three travel. `scopes` are the values that a cache marker may say (R086).
    """

    id: str
    name: str
    api: Literal["messages", "chat-completions"]
    path: str
    version_in: Literal["header", "body", "none"]
    betas_in: Literal["header", "body", "none"]
    model_in: Literal["body", "path"]
    stream: Literal["sse", "aws"]
    body_limit: int
    image_limit: int
    cache_isolation: Literal["workspace", "organization", "unknown"]
    abilities: frozenset[Ability]
    source: str
    date: str
    verified: bool
    scopes: tuple[str, ...] = ()

    def has(self, ability: Ability) -> bool:
        return ability in self.abilities


class Beta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A beta header that a body field needs, and the platforms that take the pair."""

    name: str
    field: str
    platforms: frozenset[str]


DEFAULT_BASE_URL = "https://api.anthropic.com"
DEFAULT_PLATFORM = "claude-api"
FIRST_PARTY = frozenset({DEFAULT_PLATFORM})
"""Platforms that the maker of the models runs itself."""
GATEWAY = "gateway"


def find_platform(name: str) -> Platform:
    """The platform of that id. Raises `ConfigError` that lists the known ones."""
    platform = _platforms().get(name)
    if platform is None:
        raise ConfigError(
            f"There is no platform {name!r}",
            key="platform",
            expected=", ".join(_platforms()),
            got=name,
            hint=f"Known platforms: {', '.join(_platforms())}",
        )
    return platform


def known_platforms() -> tuple[Platform, ...]:
    return tuple(_platforms().values())


def beta_for(field: str) -> Beta | None:
    """The beta that a body field needs, `None` where it needs none."""
    return next((beta for beta in _betas() if beta.field == field), None)


def platform_of(environment: Mapping[str, str]) -> str:
    """The platform id that environment variables choose: a cloud switch, else the host of `ANTHROPIC_BASE_URL`."""
    for variable, platform in _CLOUD_SWITCHES:
        if environment.get(variable, "").lower() in _YES:
            return platform
    return DEFAULT_PLATFORM if _host(base_url(environment)).endswith(_FIRST_PARTY) else GATEWAY


def base_url(environment: Mapping[str, str]) -> str:
    """The address to send to, without a slash at its end. Raises `ConfigError` for what is no address of a server."""
    url = environment.get("ANTHROPIC_BASE_URL", "").strip() or DEFAULT_BASE_URL
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise _bad_url("is no address") from None
    if not usable:
        raise _bad_url("is no http or https address with a host")
    if parts.username is not None or parts.password is not None:
        raise _bad_url("holds a user name or password")
    return url.rstrip("/")


_YES = frozenset({"1", "true", "yes", "on"})
_CLOUD_SWITCHES = (
    ("CLAUDE_CODE_USE_BEDROCK", "bedrock"),
    ("CLAUDE_CODE_USE_VERTEX", "vertex"),
    ("CLAUDE_CODE_USE_FOUNDRY", "foundry"),
)
_FIRST_PARTY = ".anthropic.com"


def _host(url: str) -> str:
    return f".{urlsplit(url).hostname}"


def _bad_url(what: str) -> ConfigError:
    # The value itself is not repeated: an address is where people leave passwords.
    return ConfigError(
        f"The value of 'ANTHROPIC_BASE_URL' {what}",
        key="ANTHROPIC_BASE_URL",
        expected="an address such as https://gateway.example/anthropic",
        hint="Set ANTHROPIC_BASE_URL to a plain http or https address; credentials have variables of their own",
    )


class _PlatformFile(Struct, frozen=True, forbid_unknown_fields=True):
    platforms: tuple[Platform, ...]


class _BetaFile(Struct, frozen=True, forbid_unknown_fields=True):
    betas: tuple[Beta, ...]


@functools.cache
def _platforms() -> dict[str, Platform]:
    decoded = msgspec.json.decode(read_data("profiles/platforms.json"), type=_PlatformFile)
    return {platform.id: platform for platform in decoded.platforms}


@functools.cache
def _betas() -> tuple[Beta, ...]:
    return msgspec.json.decode(read_data("profiles/betas.json"), type=_BetaFile).betas
