"""What proves to a cloud who sends: the signature of AWS, the token of Google, both made by the official SDK's own functions.

Decides nothing. Needs the extras `bedrock` and `vertex`; both functions read files and may ask a server, so call them in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from compositor.config.secret import Secret
from compositor.errors import ProviderUnavailableError, UsageError

if TYPE_CHECKING:
    from .cloud_endpoints import Cloud

_SERVICES = {"bedrock": "bedrock-mantle", "bedrock-legacy": "bedrock"}


def aws_headers(cloud: Cloud, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """The headers with a signature (SigV4) over method, address, headers and body. Credentials are found as AWS programs find them."""
    try:
        import httpx2
        from anthropic.lib.aws._auth import get_auth_headers
    except ImportError as problem:
        raise UsageError("Bedrock needs the AWS library", hint="Install compositor[bedrock]") from problem
    if find_spec("boto3") is None:
        raise UsageError("Bedrock needs the AWS library", hint="Install compositor[bedrock]")
    try:
        signed: dict[str, str] = get_auth_headers(
            method="POST",
            url=url,
            headers=httpx2.Headers(dict(headers)),
            aws_access_key=None,
            aws_secret_key=None,
            aws_session_token=None,
            region=cloud.region,
            profile=cloud.profile,
            data=body,
            service_name=_SERVICES[cloud.platform.id],
        )
    except Exception as problem:  # the library has a tree of its own, one class a way to fail
        raise ProviderUnavailableError(f"The request to Bedrock could not be signed: {problem}") from problem
    return {name.lower(): value for name, value in signed.items()}


class GoogleToken:
    """A token of the application's default credentials, fetched once and again when it has expired."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._credentials: Any = None

    def __call__(self) -> Secret:
        try:
            from anthropic.lib.vertex._auth import load_auth, refresh_auth
        except ImportError as problem:
            raise UsageError("Vertex needs the Google library", hint="Install compositor[vertex]") from problem
        try:
            if self._credentials is None:
                self._credentials, _ = load_auth(project_id=self._project)
            if self._credentials.expired or not self._credentials.token:
                refresh_auth(self._credentials)
        except Exception as problem:  # the library has a tree of its own, one class a way to fail
            raise ProviderUnavailableError(f"No token for Vertex could be had: {problem}") from problem
        return Secret(str(self._credentials.token))
