"""MCP servers as values: how one is reached, and what it offers.

Decides the shapes that cross a folder line. Never connects to anything.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from .tools import ToolDefinition

Exchange: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Hands a JSON-RPC message to the server of a name and gives its answer. Raises `CompositorError` when there can be none."""

DEFERRED_TOOLS = "deferred_tools"
"""Subtype of the transcript's marker that holds the definitions of deferred tools as they were first sent (R247)."""


class ServerTransport(enum.StrEnum):
    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"
    PROGRAM = "sdk"
    """It lives in the program that started the run, which alone can name it."""


class ServerScope(enum.StrEnum):
    """Where a server was configured, highest first (project-conventions 7.1)."""

    MANAGED = "managed"
    FLAG = "flag"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"


class McpServer(Struct, frozen=True, kw_only=True):
    """One configured server, variables expanded. `timeout` of a call in seconds, `None` for the default.

    `headers_helper` is a command line that prints more headers as a JSON object, run for each connection. `digest` (sha256 hex) names the entry as it was written: what a person approved. `always_load` keeps its tools out of deferral.
    """

    name: str
    scope: ServerScope
    file: str
    transport: ServerTransport
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}
    headers_helper: str = ""
    timeout: float | None = None
    always_load: bool = False
    digest: str = ""

    def __repr__(self) -> str:
        # Arguments, variables, headers and the address may hold credentials.
        return f"McpServer({self.name!r}, {self.scope.value}, {self.transport.value})"


class ServedTool(Struct, frozen=True):
    """A tool of a server under its real name (`mcp__server__tool`), and the legal name that the model is told."""

    definition: ToolDefinition
    wire: str
    always_load: bool = False


class ServerListing(Struct, frozen=True, kw_only=True):
    """What a server offers at the moment. `problem` says why it cannot be used now; its `tools` are then the last ones known.

    `starting`: nobody knows yet what it has.
    """

    server: str
    tools: tuple[ServedTool, ...] = ()
    instructions: str = ""
    problem: str | None = None
    starting: bool = False


class ServerPrompt(Struct, frozen=True, kw_only=True):
    """A prompt that a server offers as a command (project-conventions 7.2). `arguments` in the server's order, `required` those of them it needs."""

    server: str
    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """How it is called: `/mcp__server__prompt`, with underscores for blanks."""
        return "_".join(f"/mcp__{self.server}__{self.name}".split())

    @property
    def usage(self) -> str:
        """The command with its arguments; those that may be missing in brackets."""
        words = (name.upper() if name in self.required else f"[{name.upper()}]" for name in self.arguments)
        return " ".join((self.command, *words))


class ServerResource(Struct, frozen=True, kw_only=True):
    server: str
    uri: str
    name: str
    description: str = ""
    mime_type: str = ""
