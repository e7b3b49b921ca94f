"""The stand-in as an ASGI application: for a port, or for a client that calls applications directly.

Performs the steps of a reply. Decides nothing about them; needs no web framework.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import anyio

from .core import Emulator
from .replies import Data, Pause, Recorded, Reply, Request, Reset, Stall

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class EmulatorApp:
    """`on_request` hears of each request when it was judged. `clock`: seconds that really passed; without it only the script moves time."""

    def __init__(
        self,
        emulator: Emulator,
        *,
        on_request: Callable[[Recorded], None] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._emulator = emulator
        self._on_request = on_request
        self._clock = clock
        self._last = clock() if clock else 0.0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._respond(scope, receive, send)

    async def _respond(self, scope: Message, receive: Receive, send: Send) -> None:
        request = Request(
            method=scope["method"],
            path=scope["path"],
            headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
            body=await _body(receive),
        )
        if self._clock is not None:
            now = self._clock()
            self._emulator.advance(now - self._last)
            self._last = now
        reply = self._emulator.answer(request)
        if self._on_request is not None:
            self._on_request(self._emulator.requests[-1])
        await _perform(reply, receive, send)


async def _perform(reply: Reply, receive: Receive, send: Send) -> None:
    if reply.steps and isinstance(reply.steps[0], Reset):
        _break(send)
        return
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    for step in reply.steps:
        match step:
            case Data():
                await send({"type": "http.response.body", "body": step.data, "more_body": True})
            case Pause():
                await anyio.sleep(step.seconds)
            case Stall():
                await _until_gone(receive)
                return
            case Reset():
                _break(send)
                return
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _break(send: Send) -> None:
    """Close the connection in the middle. The interface has no word for it, so the server's own object is used where there is one."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionResetError("a scripted fault")
    transport.abort()


async def _body(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return b"".join(pieces)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
