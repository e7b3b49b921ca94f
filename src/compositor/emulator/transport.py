"""The stand-in behind the HTTP client, in process: pieces arrive one by one, and faults look like those of a network.

Performs the steps of a reply. Decides nothing about them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import httpx2

from .core import Emulator
from .replies import Data, Pause, Reset, Stall, Step
from .replies import Request as CoreRequest


class EmulatorTransport(httpx2.AsyncBaseTransport):
    """Give it to an HTTP client in place of the network. The client's read timeout counts, as it would there."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        reply = self._emulator.answer(
            CoreRequest(
                method=request.method,
                path=request.url.path,
                headers={name.lower(): value for name, value in request.headers.items()},
                body=body,
            )
        )
        if isinstance(reply.steps[0], Reset):
            raise httpx2.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        stream = _StepStream(reply.steps, request)
        return httpx2.Response(reply.status, headers=list(reply.headers), stream=stream, request=request)


class _StepStream(httpx2.AsyncByteStream):
    def __init__(self, steps: tuple[Step, ...], request: httpx2.Request) -> None:
        self._steps = steps
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for step in self._steps:
            match step:
                case Data():
                    await anyio.lowlevel.checkpoint()
                    yield step.data
                case Pause():
                    await self._be_silent(step.seconds)
                case Stall():
                    await self._be_silent(float("inf"))
                case Reset():
                    raise httpx2.ReadError("Connection reset by peer", request=self._request)

    async def _be_silent(self, seconds: float) -> None:
        limit = self._request.extensions.get("timeout", {}).get("read")
        patience = float("inf") if limit is None else float(limit)
        await anyio.sleep(min(seconds, patience))
        if seconds > patience:
            raise httpx2.ReadTimeout("The read operation timed out", request=self._request)
