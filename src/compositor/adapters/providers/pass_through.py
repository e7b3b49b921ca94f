"""A way through to a model service that writes every exchange down: an ASGI application for a port of this machine.

Performs the passing on: bytes go out and come back as they are. Credentials go through and are never written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import httpx2

from .pairs import Pair, make_pair, write_pair

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_NOT_PASSED = frozenset(
    {
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "keep-alive",
        "trailer",
        "upgrade",
        "accept-encoding",
    }
)
_NOT_RETURNED = frozenset({"connection", "content-length", "transfer-encoding", "keep-alive", "content-encoding"})


class PassThrough:
    """`upstream` is the address without a path's version, as in ANTHROPIC_BASE_URL; `heard` is told of each stored pair."""

    def __init__(
        self,
        upstream: str,
        folder: Path,
        heard: Callable[[Pair], None],
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._upstream = upstream.rstrip("/")
        self._folder = folder
        self._heard = heard
        self._transport = transport
        self._count = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._pass(scope, receive, send)

    async def _pass(self, scope: Message, receive: Receive, send: Send) -> None:
        self._count += 1
        number, method, path = self._count, scope["method"], scope["path"]
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        body = await _body(receive)
        query = scope.get("query_string", b"").decode("latin-1")
        url = f"{self._upstream}{path}" + (f"?{query}" if query else "")
        passed = {name: value for name, value in headers.items() if name not in _NOT_PASSED}
        passed |= {"accept-encoding": "identity", "host": urlsplit(self._upstream).netloc}
        answered: list[bytes] = []
        timeout = httpx2.Timeout(connect=5.0, read=600.0, write=60.0, pool=5.0)
        try:
            async with (
                httpx2.AsyncClient(transport=self._transport, timeout=timeout, follow_redirects=False) as client,
                client.stream(method, url, headers=passed, content=body) as response,
            ):
                await send(_start(response.status_code, response.headers))
                async for piece in response.aiter_raw():
                    answered.append(piece)
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                status, said = response.status_code, dict(response.headers)
        except httpx2.HTTPError as problem:
            status, said = 502, {"content-type": "text/plain"}
            if not answered:
                answered.append(f"{urlsplit(self._upstream).netloc} gave no answer: {problem}".encode())
                await send(_start(status, said))
                await send({"type": "http.response.body", "body": answered[0], "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        pair = make_pair(number, (method, path, headers, body), (status, said, b"".join(answered)))
        write_pair(self._folder, pair)
        self._heard(pair)


def _start(status: int, headers: Any) -> Message:
    kept = [(name.lower(), value) for name, value in dict(headers).items() if name.lower() not in _NOT_RETURNED]
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in kept],
    }


async def _body(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
