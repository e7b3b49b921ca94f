"""A server that lives in the program which started a run: its messages go through that program (agent-SDK protocol, `mcp_message`).

Performs the carrying, each message on its own, so that a long call holds up no other. Decides nothing about what may be called.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio

from compositor.errors import CompositorError
from compositor.types.servers import Exchange

_INTERNAL_ERROR = -32603


@asynccontextmanager
async def program_streams(server: str, exchange: Exchange | None) -> AsyncIterator[Any]:
    """The two streams of a client of that server, as the official SDK has them. Raises `OSError` when no program is there."""
    if exchange is None:
        raise OSError("no program that serves it started this run")
    import mcp_types
    from mcp.shared.message import SessionMessage

    answers, read = anyio.create_memory_object_stream[Any](0)
    write, messages = anyio.create_memory_object_stream[Any](0)

    async def deliver(message: dict[str, Any]) -> None:
        try:
            answer = await exchange(server, message)
        except CompositorError as problem:
            error = {"code": _INTERNAL_ERROR, "message": str(problem)}
            answer = {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
        if "id" not in message:
            return
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await answers.send(_parsed(answer))

    def _parsed(answer: Mapping[str, Any]) -> Any:
        try:
            return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_python(answer, by_name=False))
        except ValueError as problem:
            return problem

    async def carry() -> None:
        async for sent in messages:
            tasks.start_soon(deliver, sent.message.model_dump(mode="json", by_alias=True, exclude_unset=True))

    async with read, write, answers, messages, anyio.create_task_group() as tasks:
        tasks.start_soon(carry)
        yield read, write
        tasks.cancel_scope.cancel()
