"""A model behind a cloud's own address, behind the port that speaks the Messages API.

Decides nothing: the request is translated by `context/wire/cloud.py`, signed by `signing.py` and sent by the same transport as any other. Tried against
servers of this machine that check address, headers, body and signature; never against the clouds themselves. Implements `ports.ModelTransport`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType

from anyio import to_thread

from compositor.context.wire.cloud import to_cloud

from .anthropic import AnthropicResponse, AnthropicTransport
from .cloud_endpoints import Cloud
from .signing import GoogleToken, aws_headers


class EventStreamResponse:
    """An answer in the binary event stream of AWS, handed on as the server-sent events that it wraps."""

    def __init__(self, response: AnthropicResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = {**response.headers, "content-type": "text/event-stream"}
        self._response = response

    async def chunks(self) -> AsyncIterator[bytes]:
        from anthropic.lib.bedrock._stream_decoder import AWSEventStreamDecoder  # an extra, and heavy

        async for event in AWSEventStreamDecoder().aiter_bytes(self._response.chunks()):
            yield f"event: {event.event}\ndata: {event.data}\n\n".encode()


class CloudTransport:
    """`inner` sends; its endpoint is the base address of the cloud."""

    def __init__(self, inner: AnthropicTransport, cloud: Cloud) -> None:
        self._inner = inner
        self._cloud = cloud
        self._token = GoogleToken(cloud.place.get("project", ""))

    @asynccontextmanager
    async def send(
        self, headers: Sequence[tuple[str, str]], body: Iterable[bytes], size: int
    ) -> AsyncIterator[AnthropicResponse | EventStreamResponse]:
        """Post `body` in the cloud's form, signed. Raises `ProviderUnavailableError` when it cannot be signed and when no answer came."""
        cloud, data = self._cloud, b"".join(body)
        del size  # the translated body has a size of its own
        request = to_cloud(data, headers, cloud.platform, cloud.place)
        url = cloud.endpoint.url + request.path
        sent = dict(self._inner.joined(request.headers, len(request.body)))
        if cloud.signs and cloud.platform.id == "vertex":
            token = await to_thread.run_sync(self._token)
            sent["authorization"] = f"Bearer {token.reveal()}"
        elif cloud.signs:
            sent.update(await to_thread.run_sync(aws_headers, cloud, url, sent, request.body))
        async with self._inner.post(url, list(sent.items()), [request.body], len(request.body)) as response:
            streamed = "vnd.amazon.eventstream" in response.headers.get("content-type", "")
            yield EventStreamResponse(response) if streamed else response

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> CloudTransport:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
