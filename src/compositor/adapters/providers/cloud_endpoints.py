"""Where the clouds are and who speaks to them: read from the variables that their own programs use.

Decides which variables count and which of them are missing. Never opens a connection and never looks for credentials itself: that is `signing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from compositor.config.platforms import Platform, base_url
from compositor.config.secret import Secret
from compositor.errors import ConfigError

from .credentials import Endpoint, checked_secret, resolve_endpoint

CLOUDS = frozenset({"bedrock", "bedrock-legacy", "vertex", "foundry"})


class Cloud(Struct, frozen=True, kw_only=True):
    """One cloud. `endpoint` has its base address and the user's own headers; `place` fills the path.

    `region` and `profile` choose AWS credentials, `key` stands in place of them. `signs`: each request is signed or carries a token that is fetched; `trusts_gateway`: neither, a
    gateway on the way does it.
    """

    platform: Platform
    endpoint: Endpoint
    region: str = ""
    profile: str | None = None
    place: Mapping[str, str] = {}
    key: Secret | None = None
    trusts_gateway: bool = False
    signs: bool = True

    @property
    def is_ready(self) -> bool:
        """Whether something can be sent: signed, with a key, or past a gateway that signs for us."""
        return self.signs or self.key is not None or self.endpoint.has_credentials or self.trusts_gateway


def resolve_cloud(platform: Platform, environment: Mapping[str, str]) -> Cloud:
    """The cloud that the environment describes. Raises `ConfigError` that names what is missing."""
    return {
        "bedrock": _mantle,
        "bedrock-legacy": _bedrock,
        "vertex": _vertex,
        "foundry": _foundry,
    }[platform.id](platform, environment)


def _mantle(platform: Platform, environment: Mapping[str, str]) -> Cloud:
    base = _given(environment, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL").removesuffix("/anthropic")
    region = _region(environment, needed=not base)
    return _aws(platform, environment, base or f"https://bedrock-mantle.{region}.api.aws", region)


def _bedrock(platform: Platform, environment: Mapping[str, str]) -> Cloud:
    base = _given(environment, "ANTHROPIC_BEDROCK_BASE_URL")
    region = _region(environment, needed=not base)
    return _aws(platform, environment, base or f"https://bedrock-runtime.{region}.amazonaws.com", region)


def _aws(platform: Platform, environment: Mapping[str, str], base: str, region: str) -> Cloud:
    key = _secret(environment, "AWS_BEARER_TOKEN_BEDROCK")
    return Cloud(
        platform=platform,
        endpoint=_endpoint(environment, base, key),
        region=region,
        profile=_given(environment, "AWS_PROFILE") or None,
        key=key,
        trusts_gateway=_is_on(environment, "CLAUDE_CODE_SKIP_BEDROCK_AUTH"),
        signs=key is None and not _is_on(environment, "CLAUDE_CODE_SKIP_BEDROCK_AUTH"),
    )


def _vertex(platform: Platform, environment: Mapping[str, str]) -> Cloud:
    location = _needed(environment, "CLOUD_ML_REGION", "The region of Vertex is not set", "us-east5")
    project = _needed(environment, "ANTHROPIC_VERTEX_PROJECT_ID", "The project of Vertex is not set", "my-project")
    host = f"{location}-aiplatform.googleapis.com"
    if location in {"us", "eu"}:
        host = f"aiplatform.{location}.rep.googleapis.com"
    elif location == "global":
        host = "aiplatform.googleapis.com"
    base = _given(environment, "ANTHROPIC_VERTEX_BASE_URL").removesuffix("/v1")
    return Cloud(
        platform=platform,
        endpoint=_endpoint(environment, base or f"https://{host}", None),
        place={"project": project, "location": location},
        trusts_gateway=_is_on(environment, "CLAUDE_CODE_SKIP_VERTEX_AUTH"),
        signs=not _is_on(environment, "CLAUDE_CODE_SKIP_VERTEX_AUTH"),
    )


def _foundry(platform: Platform, environment: Mapping[str, str]) -> Cloud:
    base = _given(environment, "ANTHROPIC_FOUNDRY_BASE_URL").removesuffix("/anthropic")
    if not base:
        resource = _needed(
            environment, "ANTHROPIC_FOUNDRY_RESOURCE", "The resource of Foundry is not set", "my-resource"
        )
        base = f"https://{resource}.services.ai.azure.com"
    key = _secret(environment, "ANTHROPIC_FOUNDRY_API_KEY")
    endpoint = _endpoint(environment, base, None)
    if key is not None:
        both = (("x-api-key", key), ("api-key", key))
        endpoint = msgspec.structs.replace(endpoint, headers=(*endpoint.headers, *both))
    return Cloud(platform=platform, endpoint=endpoint, key=key, signs=False)


def _endpoint(environment: Mapping[str, str], base: str, bearer: Secret | None) -> Endpoint:
    """The base address, the user's own headers, and a bearer token. Keys of the first-party service never go to a cloud."""
    base_url({"ANTHROPIC_BASE_URL": base})
    own = {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_CUSTOM_HEADERS": environment.get("ANTHROPIC_CUSTOM_HEADERS", "")}
    found = resolve_endpoint(own)
    return msgspec.structs.replace(found, url=base.rstrip("/"), auth_token=bearer)


def _given(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip().rstrip("/")


def _region(environment: Mapping[str, str], *, needed: bool) -> str:
    region = _given(environment, "AWS_REGION") or _given(environment, "AWS_DEFAULT_REGION")
    if needed or not region:
        return region or _needed(environment, "AWS_REGION", "The region of Bedrock is not set", "us-east-1")
    return region


def _needed(environment: Mapping[str, str], name: str, message: str, example: str) -> str:
    value = _given(environment, name)
    if not value or "/" in value:
        raise ConfigError(message, key=name, expected=f"a name like {example}", hint=f"Set {name}")
    return value


def _secret(environment: Mapping[str, str], name: str) -> Secret | None:
    return checked_secret(environment.get(name, "").strip(), name)


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").lower() in {"1", "true", "yes", "on"}
