"""The Messages API over HTTP: exactly the bytes it is given, one answer as it arrives.

Decides nothing about the answer: no retry, no redirect, no decoding beyond a compression that somebody in between added.
Implements `ports.ModelTransport`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from compositor._version import __version__
from compositor.errors import ProviderUnavailableError, UsageError

from .credentials import Endpoint
from .key_command import KeyCommand

if TYPE_CHECKING:
    import ssl

    import httpx2

# One write is watched by one timeout; a long body on a slow line must make progress, not be quick.
_SLICE = 65_536
_UNAUTHORIZED = 401


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds without progress. `read` also bounds the wait for the first byte of an answer."""

    connect: float = 5.0
    read: float = 600.0
    write: float = 60.0


class AnthropicResponse:
    """An answer whose headers have arrived. `headers` has lower-case names."""

    def __init__(self, response: httpx2.Response, host: str) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        self._host = host

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises `ProviderUnavailableError` when the connection is lost on the way."""
        with _translated(self._host):
            async for chunk in self._response.aiter_bytes():
                yield chunk


class AnthropicTransport:
    """One service, one pool of connections. Close it, or use it as an asynchronous context manager.

    `transport` replaces the network (the emulator, a test). `keys` prints a key where the endpoint has none.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        timeouts: Timeouts | None = None,
        keys: KeyCommand | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._host = urlsplit(endpoint.url).netloc
        self._transport = transport
        self._timeouts = timeouts or Timeouts()
        self._keys = keys
        self._client: httpx2.AsyncClient | None = None

    @asynccontextmanager
    async def send(
        self, headers: Sequence[tuple[str, str]], body: Iterable[bytes], size: int
    ) -> AsyncIterator[AnthropicResponse]:
        """Post exactly `body` (`size` bytes in all). Raises `ProviderUnavailableError` when no answer came."""
        given = self.joined(headers, size)
        if self._keys is None:
            async with self.post(self._endpoint.url, given, body, size) as response:
                yield response
            return
        pieces = list(body)
        async with self.post(self._endpoint.url, [*given, *await _key_headers(self._keys)], pieces, size) as response:
            if response.status != _UNAUTHORIZED:
                yield response
                return
        # The key may have been taken back while it was held: asked for once more (wire page 8).
        self._keys.forget()
        async with self.post(self._endpoint.url, [*given, *await _key_headers(self._keys)], pieces, size) as response:
            yield response

    @asynccontextmanager
    async def post(
        self, url: str, headers: Sequence[tuple[str, str]], body: Iterable[bytes], size: int
    ) -> AsyncIterator[AnthropicResponse]:
        """Post to any address of the service with these headers and no others of ours."""
        client = self._open()
        request = client.build_request("POST", url, headers=headers, content=_sliced(body, size))
        with _translated(self._host):
            response = await client.send(request, stream=True)
        try:
            yield AnthropicResponse(response, self._host)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def __aenter__(self) -> AnthropicTransport:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _open(self) -> httpx2.AsyncClient:
        import httpx2  # heavy; a run that sends nothing does not need it

        if self._client is None:
            times = self._timeouts
            self._client = httpx2.AsyncClient(
                transport=self._transport,
                verify=_trust_nothing() if self._endpoint.url.startswith("http:") else True,
                follow_redirects=False,
                timeout=httpx2.Timeout(connect=times.connect, read=times.read, write=times.write, pool=times.connect),
            )
        return self._client

    def joined(self, headers: Sequence[tuple[str, str]], size: int) -> list[tuple[str, str]]:
        """Ours, then the user's, then the credentials; a later one replaces an earlier one, only betas add up."""
        joined = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": f"compositor/{__version__}",
            **{name.lower(): value for name, value in headers},
        }
        for name, secret in self._endpoint.headers + self._endpoint.auth_headers():
            both = name == "anthropic-beta" and name in joined
            joined[name] = f"{joined[name]},{secret.reveal()}" if both else secret.reveal()
        return [*joined.items(), ("content-length", str(size))]


def _trust_nothing() -> ssl.SSLContext:
    """For an address without TLS: reading the trusted certificates would cost a fifth of the way to the first byte, and none is looked at."""
    import ssl  # comes with the client

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def _key_headers(keys: KeyCommand) -> tuple[tuple[str, str], ...]:
    """A printed key goes both ways: gateways look for a bearer, the service for a key of its own."""
    key = await keys.current()
    return (("x-api-key", key.reveal()), ("authorization", f"Bearer {key.reveal()}"))


async def _sliced(body: Iterable[bytes], size: int) -> AsyncIterator[bytes]:
    left = size
    for piece in body:
        left -= len(piece)
        if left < 0:
            break
        for start in range(0, len(piece), _SLICE):
            yield piece[start : start + _SLICE]
    if left:
        raise UsageError(f"The request's body is not {size} bytes long, as its content-length says")


@contextmanager
def _translated(host: str) -> Iterator[None]:
    """The library's errors as ours, one sentence each."""
    import httpx2  # heavy, see above

    try:
        yield
    except httpx2.LocalProtocolError as problem:
        raise UsageError(f"The request to {host!r} does not hold together: {problem}") from problem
    except httpx2.ConnectTimeout as problem:
        raise ProviderUnavailableError(f"{host!r} did not accept a connection in time") from problem
    except httpx2.TimeoutException as problem:
        raise ProviderUnavailableError(f"{host!r} was silent for too long") from problem
    except httpx2.ConnectError as problem:
        raise ProviderUnavailableError(f"No connection to {host!r} could be made: {_reason(problem)}") from problem
    except (httpx2.RequestError, httpx2.StreamError) as problem:
        raise ProviderUnavailableError(f"The connection to {host!r} was lost: {_reason(problem)}") from problem


def _reason(problem: Exception) -> str:
    return str(problem).strip() or type(problem).__name__
