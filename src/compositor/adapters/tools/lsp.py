"""LSP: where a name is defined and used, what it is, what calls it, as a language server knows it.

Decides which request answers which operation and how places are shown. A place in a file that may not be read is not shown. How a server is
run is the business of `adapters/lsp`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from anyio import to_thread
from msgspec import Struct

from compositor.adapters.lsp.connection import LanguageConnection
from compositor.adapters.lsp.servers import LanguageServers
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.errors import ToolServerError
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .lsp_places import Places, column_in, read_source
from .paths import Target, find_target, show_path
from .results import Problem, done, failed, read_input

Operation = Literal[
    "goToDefinition",
    "goToImplementation",
    "findReferences",
    "hover",
    "documentSymbol",
    "workspaceSymbol",
    "incomingCalls",
    "outgoingCalls",
]

# The request of an operation, and the capability without which a server is not asked.
REQUESTS: Final[dict[str, tuple[str, str]]] = {
    "goToDefinition": ("textDocument/definition", "definitionProvider"),
    "goToImplementation": ("textDocument/implementation", "implementationProvider"),
    "findReferences": ("textDocument/references", "referencesProvider"),
    "hover": ("textDocument/hover", "hoverProvider"),
    "documentSymbol": ("textDocument/documentSymbol", "documentSymbolProvider"),
    "workspaceSymbol": ("workspace/symbol", "workspaceSymbolProvider"),
    "incomingCalls": ("callHierarchy/incomingCalls", "callHierarchyProvider"),
    "outgoingCalls": ("callHierarchy/outgoingCalls", "callHierarchyProvider"),
}


class LspInput(Struct, frozen=True, forbid_unknown_fields=True):
    operation: Operation
    filePath: str  # noqa: N815  (the documented name)
    line: int = 1
    character: int = 1
    query: str = ""


class LspTool:
    """`is_visible` says whether a place in a file (absolute path) may be shown."""

    definition: ToolDefinition = BUILTIN["LSP"]

    def __init__(self, servers: LanguageServers, is_visible: Callable[[str], bool] = lambda _path: True) -> None:
        self._servers = servers
        self._is_visible = is_visible

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        wanted = read_input(call, LspInput)
        target = wanted if isinstance(wanted, Problem) else find_target(wanted.filePath, scope)
        return target.touched if isinstance(target, Target) else ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, LspInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        target = find_target(wanted.filePath, scope)
        if isinstance(target, Problem):
            return failed(call, target.message)
        source = await to_thread.run_sync(read_source, target.real)
        if isinstance(source, Problem):
            return failed(call, source.message)
        try:
            return await self._ask(call, wanted, target.real, source, scope)
        except ToolServerError as problem:
            return failed(call, str(problem))

    async def _ask(self, call: ToolCall, wanted: LspInput, path: str, text: str, scope: ToolScope) -> ToolOutcome:
        server = self._servers.for_file(path)
        uri = await server.show(path, text)
        method, needed = REQUESTS[wanted.operation]
        if not server.capabilities.get(needed):
            return failed(call, f"The language server {server.server.name!r} cannot do {wanted.operation}.")
        found = await _result(server, wanted, method, uri, text)
        places = Places(self._is_visible, lambda path: show_path(path, scope), utf16=server.counts_utf16)
        lines = await to_thread.run_sync(places.shown, wanted.operation, found, uri)
        text_shown = "\n".join(lines) or f"{wanted.operation} found nothing there."
        structured = {"operation": wanted.operation, "filePath": path, "count": places.count, "hidden": places.hidden}
        shown = f"{display_call(call)}: {counted(places.count, 'result')}"
        return done(call, text_shown, display=shown, structured=structured)


async def _result(server: LanguageConnection, wanted: LspInput, method: str, uri: str, text: str) -> Any:
    """What the server says. Calls go by way of the item at the place."""
    if wanted.operation == "workspaceSymbol":
        return await server.ask(method, {"query": wanted.query})
    document = {"uri": uri}
    if wanted.operation == "documentSymbol":
        return await server.ask(method, {"textDocument": document})
    place = {
        "line": max(wanted.line - 1, 0),
        "character": column_in(text, wanted.line, wanted.character, utf16=server.counts_utf16),
    }
    params: dict[str, Any] = {"textDocument": document, "position": place}
    if wanted.operation == "findReferences":
        params["context"] = {"includeDeclaration": True}
    if not wanted.operation.endswith("Calls"):
        return await server.ask(method, params)
    items = await server.ask("textDocument/prepareCallHierarchy", params)
    calls: list[Any] = []
    for item in items if isinstance(items, list) else ():
        calls += await server.ask(method, {"item": item}) or []
    return calls
