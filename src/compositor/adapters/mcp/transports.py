"""How a server is reached: its process, or its address, as a client of the official SDK.

Decides environment, headers and redirections to a log. Never decides whether a server may be reached.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from compositor._version import __version__
from compositor.adapters.home import open_private, private_folder
from compositor.adapters.tools.environment import child_environment
from compositor.types.servers import Exchange, McpServer, ServerTransport

from .program import program_streams

if TYPE_CHECKING:
    import httpx2
    from mcp import Client


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


def _transport(server: McpServer, around: ServerSurroundings, auth: httpx2.Auth | None) -> Any:
    if server.transport is ServerTransport.STDIO:
        return _stdio(server, around)
    if server.transport is ServerTransport.PROGRAM:
        return program_streams(server.name, around.exchange)
    if server.transport is ServerTransport.SSE:
        from mcp.client.sse import sse_client

        return sse_client(server.url, headers=dict(server.headers), auth=auth)
    return _http(server, auth)


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
async def _http(server: McpServer, auth: httpx2.Auth | None) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    # A stream may stay silent for long; everything else may not.
    timeout = httpx2.Timeout(30.0, read=300.0)
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), auth=auth, timeout=timeout) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams
