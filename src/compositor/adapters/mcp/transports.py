"""How a server is reached: its process, or its address, as a client of the official SDK.

Decides environment, headers and redirections to a log. Never decides whether a server may be reached.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from compositor._version import __version__
from compositor.adapters.home import open_private, private_folder
from compositor.adapters.tools.environment import child_environment
from compositor.adapters.tools.process import Ending, run_process
from compositor.errors import ToolServerError
from compositor.types.servers import Exchange, McpServer, ServerTransport

from .program import program_streams

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

HELPER_SECONDS: Final = 10.0
MAX_HEADERS: Final = 64 * 1024
"""Bytes that a helper may print."""


class ServerSurroundings(Struct, frozen=True, kw_only=True):
    """What servers are told of the session. `roots` are real directories, the working directory first; `home` is the product's own; `exchange` reaches servers in the program that started the run."""

    roots: tuple[str, ...]
    home: str
    env: Mapping[str, str]
    exchange: Exchange | None = None


@asynccontextmanager
async def open_client(
    server: McpServer,
    around: ServerSurroundings,
    *,
    on_message: Any,
    elicit: Any | None,
    auth: httpx2.Auth | None,
) -> AsyncIterator[Client]:
    """A connected client; the process or connection ends with the context. Raises whatever the SDK raises."""
    import mcp_types
    from mcp import Client

    async def list_roots(context: Any) -> mcp_types.ListRootsResult:  # noqa: ARG001  # the callback is called by name
        roots = [
            mcp_types.Root.model_validate({"uri": Path(root).as_uri(), "name": Path(root).name})
            for root in around.roots
        ]
        return mcp_types.ListRootsResult(roots=roots)

    client = Client(
        _transport(server, around, auth),
        list_roots_callback=list_roots,
        message_handler=on_message,
        elicitation_callback=elicit,
        client_info=mcp_types.Implementation(name="compositor", version=__version__),
        cache=None,
    )
    async with client:
        yield client


def log_path(home: str, server: str) -> Path:
    """Where what a server says on its standard error is kept."""
    safe = "".join(char if char.isalnum() or char in "-_" else "_" for char in server)[:64]
    return Path(home, "logs", f"mcp-{safe}.log")


async def headers_of(server: McpServer, around: ServerSurroundings) -> dict[str, str]:
    """The headers of a connection: those of the entry, and those that its helper prints now, which win.

    Raises `ToolServerError` for a helper that fails, is too slow or prints something else.
    """
    if not server.headers_helper:
        return dict(server.headers)
    names = {"CLAUDE_CODE_MCP_SERVER_NAME": server.name, "CLAUDE_CODE_MCP_SERVER_URL": server.url}
    output = bytearray()

    def take(data: bytes) -> bool:
        output.extend(data)
        return len(output) <= MAX_HEADERS

    end = await run_process(
        ("/bin/sh", "-c", server.headers_helper),
        cwd=around.roots[0],
        env={**child_environment(around.env), **names},
        seconds=HELPER_SECONDS,
        output=take,
        errors=lambda _data: True,
    )
    if end.ending is not Ending.EXITED or end.code != 0:
        how = f"ended with the code {end.code}" if end.ending is Ending.EXITED else "took too long or printed too much"
        raise ToolServerError(f"its headersHelper {how}")
    try:
        found = msgspec.json.decode(bytes(output), type=dict[str, str])
    except msgspec.MsgspecError as problem:
        raise ToolServerError("its headersHelper printed no JSON object of strings") from problem
    return {**server.headers, **found}


def _transport(server: McpServer, around: ServerSurroundings, auth: httpx2.Auth | None) -> Any:
    if server.transport is ServerTransport.STDIO:
        return _stdio(server, around)
    if server.transport is ServerTransport.PROGRAM:
        return program_streams(server.name, around.exchange)
    return _sse(server, around, auth) if server.transport is ServerTransport.SSE else _http(server, around, auth)


@asynccontextmanager
async def _stdio(server: McpServer, around: ServerSurroundings) -> AsyncIterator[Any]:
    import os

    from mcp.client.stdio import StdioServerParameters, stdio_client

    cwd = around.roots[0]
    parameters = StdioServerParameters(
        command=server.command,
        args=list(server.args),
        env={**child_environment(around.env), **server.env, "CLAUDE_PROJECT_DIR": cwd},
        cwd=cwd,
    )
    path = log_path(around.home, server.name)
    private_folder(Path(around.home), "logs")
    descriptor = open_private(path, os.O_WRONLY | os.O_TRUNC)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as log:
        async with stdio_client(parameters, errlog=log) as streams:
            yield streams


@asynccontextmanager
async def _sse(server: McpServer, around: ServerSurroundings, auth: httpx2.Auth | None) -> AsyncIterator[Any]:
    from mcp.client.sse import sse_client

    async with sse_client(server.url, headers=await headers_of(server, around), auth=auth) as streams:
        yield streams


@asynccontextmanager
async def _http(server: McpServer, around: ServerSurroundings, auth: httpx2.Auth | None) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    # A stream may stay silent for long; everything else may not.
    timeout, headers = httpx2.Timeout(30.0, read=300.0), await headers_of(server, around)
    async with (
        httpx2.AsyncClient(headers=headers, auth=auth, timeout=timeout) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams
