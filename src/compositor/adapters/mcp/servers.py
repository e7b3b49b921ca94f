"""All MCP servers of a session: started side by side, asked by name, their tools as tools of the session.

Performs starting and calling. Names are given once and kept: a tool that went and came back is the same tool. What of this the model
is told, and when, is decided in `context/tools/deferral.py`.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

from compositor.context.tools.limits import RESULT_TOKENS
from compositor.context.tools.names import NameMap, map_names
from compositor.context.tools.schema import fit_definitions
from compositor.errors import ToolServerError
from compositor.ports import Tool
from compositor.types.blocks import ResultContent
from compositor.types.diagnostics import Diagnostic
from compositor.types.json import repair_text
from compositor.types.servers import McpServer, ServedTool, ServerListing, ServerPrompt, ServerResource
from compositor.types.tools import ToolDefinition

from .connection import START_SECONDS, ServerConnection, pages
from .results import MAX_TEXT, always_loads, blocks_of, cut_bytes, definition_of, limited, own_limit, real_name, text_of
from .tool import McpTool
from .transports import ServerSurroundings

FIRST_SECONDS: Final = 2.0
"""How long the first request waits for servers that are still starting; what comes later is told with a later request."""

CALL_SECONDS: Final = 28 * 3600.0
"""How long a call may take (`MCP_TOOL_TIMEOUT`)."""


class McpServers(Mapping[str, Tool]):
    """Legal name to tool. `running` starts and ends the servers; `known` are names given in an earlier part of the session."""

    def __init__(
        self,
        servers: Sequence[McpServer],
        around: ServerSurroundings,
        *,
        known: Mapping[str, str] | None = None,
        elicit: Callable[[str, Any], Awaitable[Any]] | None = None,
        auth: Callable[[McpServer], Any] = lambda _server: None,
        tokens: int = RESULT_TOKENS,
    ) -> None:
        env = around.env
        start = _milliseconds(env.get("MCP_TIMEOUT")) or START_SECONDS
        self._first_seconds = start if env.get("MCP_CONNECTION_NONBLOCKING") == "0" else FIRST_SECONDS
        self._call_seconds = _milliseconds(env.get("MCP_TOOL_TIMEOUT")) or CALL_SECONDS
        self._tokens = _positive(env.get("MAX_MCP_OUTPUT_TOKENS")) or tokens
        self._names = (
            NameMap({}, {}) if known is None else NameMap(dict(known), {wire: real for real, wire in known.items()})
        )
        self._tools: dict[str, McpTool] = {}
        self._fitted: dict[str, tuple[ToolDefinition, ...]] = {}
        self._waited = False
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self.connections = {
            server.name: ServerConnection(server, around, start_seconds=start, elicit=elicit, auth=auth(server))
            for server in servers
        }

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[McpServers]:
        """All servers connect at once, in the background; at the end all of them are ended."""
        async with anyio.create_task_group() as tasks:
            for connection in self.connections.values():
                tasks.start_soon(connection.keep)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    async def listings(self, seconds: float | None = None) -> tuple[ServerListing, ...]:
        """What every server offers now, by name. The first time, servers that are starting are waited for, but not for long."""
        if not self._waited:
            self._waited = True
            await self.settle(self._first_seconds if seconds is None else seconds)
        self._take_in()
        return tuple(self._listing(connection) for _, connection in sorted(self.connections.items()))

    async def settle(self, seconds: float = math.inf, names: Sequence[str] | None = None) -> None:
        """Wait until these servers, or all of them, have connected or failed, at most so long. Raises `ToolServerError` for an unknown one."""
        waiting = self.connections.values() if names is None else [self.connection(name) for name in names]
        with anyio.move_on_after(seconds):
            for connection in waiting:
                await connection.settled()

    def connection(self, server: str) -> ServerConnection:
        """Raises `ToolServerError` for a server that the session does not have."""
        if server not in self.connections:
            known = ", ".join(sorted(self.connections)) or "none"
            raise ToolServerError(f"There is no MCP server {server!r}", hint=f"Servers: {known}")
        return self.connections[server]

    async def resources(self, server: str | None = None) -> tuple[ServerResource, ...]:
        """The resources of one server, or of all that have any. Raises `ToolServerError` for the one."""
        found: list[ServerResource] = []
        for name, connection in sorted(self.connections.items()):
            if server in {None, name} and (server is not None or (connection.offer and connection.offer.has_resources)):
                listed = await connection.call(lambda client: pages(client.list_resources, "resources"))
                found.extend(_resource(name, resource) for resource in listed)
        if server is not None:
            self.connection(server)
        return tuple(found)

    async def read(self, server: str, uri: str, folder: str) -> str | tuple[ResultContent, ...]:
        """What a resource holds; a long text goes to a file in `folder`. Raises `ToolServerError` and the server's own errors."""
        import mcp_types

        result = await self.connection(server).call(lambda client: client.read_resource(uri))
        parts = [mcp_types.EmbeddedResource(type="resource", resource=content) for content in result.contents]
        content, _ = limited(
            blocks_of(parts), folder=folder, name=f"mcp-{server}", tokens=self._tokens, characters=None
        )
        return content

    def prompts(self) -> tuple[ServerPrompt, ...]:
        """The prompts of all servers, as commands."""
        return tuple(
            ServerPrompt(
                server=name,
                name=repair_text(prompt.name),
                description=repair_text(prompt.description or ""),
                arguments=tuple(argument.name for argument in prompt.arguments or ()),
                required=tuple(argument.name for argument in prompt.arguments or () if argument.required),
            )
            for name, connection in sorted(self.connections.items())
            for prompt in (connection.offer.prompts if connection.offer else ())
        )

    async def prompt(self, server: str, name: str, arguments: Sequence[str]) -> str:
        """The text of a prompt; `arguments` in the order in which the server declares them, the last one takes all that is left."""
        declared = next((prompt for prompt in self.prompts() if (prompt.server, prompt.name) == (server, name)), None)
        if declared is None:
            raise ToolServerError(f"The MCP server {server!r} has no prompt {name!r}")
        missing = [wanted for wanted in declared.arguments[len(arguments) :] if wanted in declared.required]
        if missing:
            raise ToolServerError(f"The prompt {declared.command} needs {', '.join(missing)}", hint=declared.usage)
        last = len(declared.arguments) - 1
        words = [*arguments[:last], " ".join(arguments[last:])] if len(arguments) > last >= 0 else list(arguments)
        given = dict(zip(declared.arguments, words, strict=False))
        result = await self.connection(server).call(lambda client: client.get_prompt(name, given))
        return text_of(message.content for message in result.messages)

    async def run_command(self, command: str, arguments: Sequence[str]) -> str | None:
        """The text of a prompt that is called as a command, by its name with or without the slash; `None` for no prompt of any server.

        Raises `ToolServerError`, and what the server answers instead.
        """
        wanted = f"/{command.removeprefix('/')}"
        found = next((prompt for prompt in self.prompts() if prompt.command == wanted), None)
        return None if found is None else await self.prompt(found.server, found.name, arguments)

    def _take_in(self) -> None:
        """Definitions and names of what is offered now. A tool once taken in stays, whatever its server says later (R247)."""
        notes: list[Diagnostic] = []
        for name, connection in self.connections.items():
            offered = connection.offer.tools if connection.offer else ()
            fitted, problems = fit_definitions(definition_of(tool, name) for tool in offered)
            notes.extend(problems)
            self._fitted[name] = fitted
        real = {tool.name for tools in self._fitted.values() for tool in tools}
        self._names = map_names({*real, *self._names.wire}, known=self._names.wire)
        for name, connection in self.connections.items():
            raw = {real_name(name, tool): tool for tool in (connection.offer.tools if connection.offer else ())}
            for definition in self._fitted[name]:
                wire = self._names.wire[definition.name]
                known = self._tools.get(wire)
                self._tools[wire] = McpTool(
                    definition if known is None else known.definition,
                    raw[definition.name].name,
                    connection,
                    seconds=connection.server.timeout or self._call_seconds,
                    tokens=self._tokens,
                    characters=own_limit(raw[definition.name]),
                )
        self.diagnostics = tuple(notes)

    def _listing(self, connection: ServerConnection) -> ServerListing:
        offer, name = connection.offer, connection.server.name
        loads = {real_name(name, tool) for tool in (offer.tools if offer else ()) if always_loads(tool)}
        return ServerListing(
            server=name,
            tools=tuple(
                ServedTool(tool, self._names.wire[tool.name], connection.server.always_load or tool.name in loads)
                for tool in self._fitted[name]
            ),
            instructions=cut_bytes(repair_text(offer.instructions), MAX_TEXT) if offer else "",
            problem=None if connection.is_connected else connection.problem or "it is still starting",
            starting=not connection.is_connected and connection.problem is None,
        )


def _resource(server: str, resource: Any) -> ServerResource:
    return ServerResource(
        server=server,
        uri=str(resource.uri),
        name=repair_text(resource.name),
        description=repair_text(resource.description or ""),
        mime_type=resource.mime_type or "",
    )


def _milliseconds(text: str | None) -> float | None:
    number = _positive(text)
    return None if number is None else number / 1000


def _positive(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and int(text) > 0 else None
