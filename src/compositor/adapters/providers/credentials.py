"""Where requests go and what proves who sends them: read from the environment, kept out of every printout.

Decides which variables count and what is wrong with them. Never opens a connection, never reads the process's own environment:
the caller passes it in.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from compositor.config.secret import Secret
from compositor.errors import ConfigError
from compositor.types.diagnostics import Diagnostic, Severity

DEFAULT_BASE_URL = "https://api.anthropic.com"
MESSAGES_PATH = "/v1/messages"


class Endpoint(Struct, frozen=True, kw_only=True):
    """One service, and how to speak to it.

    `url` is the whole address of the messages resource. `headers` are the user's own (ANTHROPIC_CUSTOM_HEADERS), lower-case
    names; their values may be secret too.
    """

    url: str
    api_key: Secret | None = None
    auth_token: Secret | None = None
    headers: tuple[tuple[str, Secret], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def has_credentials(self) -> bool:
        return self.api_key is not None or self.auth_token is not None

    def auth_headers(self) -> tuple[tuple[str, Secret], ...]:
        """`x-api-key` for the key, `Authorization: Bearer` for the token; both when both are set."""
        key = (("x-api-key", self.api_key),) if self.api_key else ()
        token = (("authorization", Secret(f"Bearer {self.auth_token.reveal()}")),) if self.auth_token else ()
        return (*key, *token)


def resolve_endpoint(environment: Mapping[str, str], path: str = MESSAGES_PATH) -> Endpoint:
    """The endpoint that ANTHROPIC_BASE_URL, _API_KEY, _AUTH_TOKEN and _CUSTOM_HEADERS describe; `path` is that of the resource.

    Empty variables count as unset. Raises `ConfigError` for an address that cannot be used and for a credential that cannot
    stand in a header; a bad line of custom headers is only left out.
    """
    base = urlsplit((environment.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL).strip())
    _check_base(base)
    api_key = _credential(environment, "ANTHROPIC_API_KEY")
    auth_token = _credential(environment, "ANTHROPIC_AUTH_TOKEN")
    headers, problems = _custom_headers(environment.get("ANTHROPIC_CUSTOM_HEADERS") or "")
    if base.scheme == "http" and not is_loopback(base.hostname or "") and (api_key or auth_token):
        problems += (
            Diagnostic(
                "provider.plain-http",
                f"The credentials go unencrypted to {base.hostname!r}",
                where="ANTHROPIC_BASE_URL",
                step="credentials",
                hint="Use an https address",
            ),
        )
    return Endpoint(
        url=base._replace(path=_joined(base.path.rstrip("/"), path), fragment="").geturl(),
        api_key=api_key,
        auth_token=auth_token,
        headers=headers,
        diagnostics=problems,
    )


def _joined(base: str, path: str) -> str:
    """Addresses of compatible servers are often given with the version that the resource begins with."""
    version = path[: path.index("/", 1)]
    return base.removesuffix(version) + path if path != MESSAGES_PATH else base + path


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, by its name or address alone (nothing is looked up)."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_base(base: SplitResult) -> None:
    problem = None
    if base.scheme not in {"http", "https"} or not base.hostname:
        problem = "it is no http or https address"
    elif base.username is not None or base.password is not None:
        problem = "it holds a user name or password, which would be printed with it"
    else:
        try:
            _ = base.port
        except ValueError:
            problem = "its port is no number up to 65535"
    if problem:
        # The address itself is not repeated: a password may stand in it.
        raise ConfigError(
            f"The address of the model service cannot be used: {problem}",
            key="ANTHROPIC_BASE_URL",
            expected="an address like https://gateway.example/anthropic",
            hint="Correct or unset ANTHROPIC_BASE_URL",
        )


def _credential(environment: Mapping[str, str], name: str) -> Secret | None:
    return checked_secret(environment.get(name, "").strip(), name)


def checked_secret(value: str, name: str) -> Secret | None:
    """A credential that can stand in a header; `None` for an empty one. Raises `ConfigError` that names `name` and never the value."""
    if not value:
        return None
    if not _HEADER_VALUE.fullmatch(value):
        raise ConfigError(
            "A credential holds a character that cannot stand in a header",
            key=name,
            hint="Set it again; a line break or a quote was probably copied with it",
        )
    return Secret(value)


def _custom_headers(text: str) -> tuple[tuple[tuple[str, Secret], ...], tuple[Diagnostic, ...]]:
    headers: list[tuple[str, Secret]] = []
    problems: list[Diagnostic] = []
    for number, line in enumerate(text.splitlines(), start=1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        reason = None
        if not line.strip():
            continue
        if not colon or not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            reason = "it is not of the form 'Name: value'"
        elif name.lower() in _OWN_HEADERS:
            reason = f"{name!r} is set by the product itself"
        if reason:
            problems.append(
                Diagnostic(
                    "provider.custom-header",
                    f"A custom header was left out: {reason}",
                    where=f"ANTHROPIC_CUSTOM_HEADERS:{number}",
                    severity=Severity.WARNING,
                    step="credentials",
                )
            )
        else:
            headers.append((name.lower(), Secret(value)))
    return tuple(headers), tuple(problems)


_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?|")
_OWN_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"}
)
