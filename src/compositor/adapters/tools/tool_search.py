"""ToolSearch: makes deferred tools usable by referring to them (wire page 6).

Performs the look-up. The ranking is `context/tools/search.py`. A result holds references alone: the service puts the definitions in their
place, and nothing of the prefix moves (R242, R243).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.context.tools.search import DEFAULT_RESULTS, MAX_RESULTS, ToolIndex
from compositor.ports import ToolScope
from compositor.types.blocks import ToolReferenceBlock
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .results import Problem, done, failed, read_input


class SearchInput(Struct, frozen=True, forbid_unknown_fields=True):
    query: str
    max_results: int = DEFAULT_RESULTS


class ToolSearchTool:
    """`deferred` gives the tools that the request holds deferred, under the names that the model knows."""

    definition: ToolDefinition = BUILTIN["ToolSearch"]

    def __init__(self, deferred: Callable[[], tuple[ToolDefinition, ...]]) -> None:
        self._deferred = deferred
        self._index = ToolIndex(())

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, SearchInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        tools = self._deferred()
        if tuple(sorted(tool.name for tool in tools)) != self._index.names:
            self._index = ToolIndex(tools)
        found = self._index.find(wanted.query, min(max(wanted.max_results, 1), MAX_RESULTS))
        structured = {"query": wanted.query, "matches": list(found), "total": len(tools)}
        shown = f"{display_call(call)}: {counted(len(found), 'tool')} of {len(tools):,}"
        if not found:
            text = f"None of the {len(tools):,} deferred tools fits. Try other words, or select:NAME with a name you were told."
            return done(call, text, display=shown, structured=structured)
        return done(call, tuple(map(ToolReferenceBlock, found)), display=shown, structured=structured)
