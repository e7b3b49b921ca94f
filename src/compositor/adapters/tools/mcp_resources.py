"""The tools for resources of MCP servers: which there are, and what one of them holds.

Performs the asking through a small port of its own; how a server is reached is the business of `adapters/mcp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct, to_builtins

from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.ports import ToolScope
from compositor.types.blocks import ResultContent
from compositor.types.servers import ServerResource
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .results import Problem, done, failed, read_input


class Resources(Protocol):
    """The servers, as far as resources go. Both raise an error whose text is one sentence for the model."""

    async def resources(self, server: str | None = None) -> tuple[ServerResource, ...]: ...

    async def read(self, server: str, uri: str, folder: str) -> str | tuple[ResultContent, ...]: ...


MAX_LISTED: Final = 200
"""Resources that one list shows."""


class ListInput(Struct, frozen=True, forbid_unknown_fields=True):
    server: str | None = None


class DirInput(Struct, frozen=True, forbid_unknown_fields=True):
    server: str
    uri: str


class ReadInput(Struct, frozen=True, forbid_unknown_fields=True):
    server: str
    uri: str


class _ResourceTool:
    def __init__(self, servers: Resources) -> None:
        self._servers = servers

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()


class ListMcpResourcesTool(_ResourceTool):
    definition: ToolDefinition = BUILTIN["ListMcpResourcesTool"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, ListInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        try:
            found = await self._servers.resources(wanted.server)
        except Exception as problem:  # noqa: BLE001 - whatever a server does is this call's failure and no one else's
            return failed(call, str(problem))
        text = _shown([_line(resource) for resource in found]) or "There are no resources."
        structured: dict[str, Any] = {"resources": to_builtins(found)}
        return done(
            call, text, display=f"{display_call(call)}: {counted(len(found), 'resource')}", structured=structured
        )


class ReadMcpResourceDirTool(_ResourceTool):
    definition: ToolDefinition = BUILTIN["ReadMcpResourceDirTool"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, DirInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        try:
            found = await self._servers.resources(wanted.server)
        except Exception as problem:  # noqa: BLE001 - whatever a server does is this call's failure and no one else's
            return failed(call, str(problem))
        here, folders = _below(wanted.uri, found)
        lines = [f"{address} ({counted(number, 'resource')})" for address, number in sorted(folders.items())]
        text = _shown([*lines, *map(_line, here)]) or f"Nothing stands below {wanted.uri!r}."
        structured = {"server": wanted.server, "uri": wanted.uri, "resources": to_builtins(here), "folders": folders}
        shown = f"{display_call(call)}: {counted(len(here) + len(folders), 'item')}"
        return done(call, text, display=shown, structured=structured)


class ReadMcpResourceTool(_ResourceTool):
    definition: ToolDefinition = BUILTIN["ReadMcpResourceTool"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, ReadInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        try:
            content = await self._servers.read(wanted.server, wanted.uri, scope.output_dir)
        except Exception as problem:  # noqa: BLE001 - whatever a server does is this call's failure and no one else's
            return failed(call, str(problem))
        structured = {"server": wanted.server, "uri": wanted.uri}
        return done(call, content or "(the resource is empty)", display=display_call(call), structured=structured)


def _below(uri: str, resources: Iterable[ServerResource]) -> tuple[list[ServerResource], dict[str, int]]:
    """The resources right below an address, and how many stand below each address that goes deeper."""
    start = uri if uri.endswith("/") else f"{uri}/"
    here: list[ServerResource] = []
    folders: dict[str, int] = {}
    for resource in resources:
        rest = resource.uri.removeprefix(start)
        if rest == resource.uri or not rest:
            continue
        first, slash, _ = rest.partition("/")
        if slash:
            folders[f"{start}{first}/"] = folders.get(f"{start}{first}/", 0) + 1
        else:
            here.append(resource)
    return here, folders


def _shown(lines: Sequence[str]) -> str:
    more = len(lines) - MAX_LISTED
    note = [f"[{more:,} more are left out; look below an address with ReadMcpResourceDirTool.]"] if more > 0 else []
    return "\n".join([*lines[:MAX_LISTED], *note])


def _line(resource: ServerResource) -> str:
    about = " ".join(part for part in (resource.name, resource.description) if part)
    kind = f" ({resource.mime_type})" if resource.mime_type else ""
    return f"{resource.server} {resource.uri}{kind}: {about}"
