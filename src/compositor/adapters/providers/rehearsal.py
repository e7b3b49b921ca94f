"""Answers that were recorded, in place of the service: the n-th request gets the n-th answer.

Decides nothing about a request but how it differs from the recorded one, which is told. Nothing is sent anywhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import httpx2
import msgspec

from compositor.errors import UsageError
from compositor.insight.difference import body_elements, compare_bodies
from compositor.types.diagnostics import Diagnostic, Severity

from .pairs import Pair

_PIECE = 4_096


class RehearsalTransport(httpx2.AsyncBaseTransport):
    """Give it to the client in place of the network. `tell` hears of each request that is not the recorded one."""

    def __init__(self, pairs: Sequence[Pair], tell: Callable[[Diagnostic], None]) -> None:
        self._pairs = tuple(pairs)
        self._tell = tell
        self._next = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        number = self._next + 1
        if self._next == len(self._pairs):
            headers = {"content-type": "application/json", "x-should-retry": "false"}
            return httpx2.Response(501, headers=headers, content=_exhausted(number))
        pair = self._pairs[self._next]
        self._next += 1
        difference = _difference(bytes(pair.body), body)
        if difference:
            message = f"Request {number} is not the recorded one: {difference}"
            self._tell(Diagnostic("rehearsal.differs", message, severity=Severity.WARNING, step="rehearsal"))
        return httpx2.Response(pair.status, headers=pair.answer.headers, stream=_Pieces(pair.answer.body()))


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, data: bytes) -> None:
        self._data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._data), _PIECE):
            yield self._data[start : start + _PIECE]


def _difference(recorded: bytes, sent: bytes) -> str:
    """Where the two part, in a few words; empty when they are the same but for markers."""
    if recorded == sent:
        return ""
    try:
        before, now = msgspec.json.decode(recorded), msgspec.json.decode(sent)
        found = compare_bodies(body_elements(before), body_elements(now))
        back = found or compare_bodies(body_elements(now), body_elements(before))
    except (msgspec.MsgspecError, UsageError) as problem:
        return str(problem)
    if back is None:
        names = sorted(
            name for name in {*before, *now} - {"messages", "system", "tools"} if before.get(name) != now.get(name)
        )
        return f"its fields {', '.join(names)} differ" if names else ""
    return f"{back.path}: {back.cause}"


def _exhausted(number: int) -> bytes:
    message = f"the recording holds {number - 1} requests, and this is number {number}"
    return msgspec.json.encode({"type": "error", "error": {"type": "rehearsal_error", "message": message}})
