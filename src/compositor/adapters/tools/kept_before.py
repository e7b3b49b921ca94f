"""A tool whose files are kept before it changes them.

Decides nothing: the tool does what it does, and what it may touch is the gate's decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anyio import to_thread

from compositor.ports import Tool, ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome


class KeptBefore:
    """`tool`, with `keep` called on the paths of a call before it runs; `keep` never raises."""

    def __init__(self, tool: Tool, keep: Callable[[Iterable[str]], None]) -> None:
        self._tool = tool
        self._keep = keep

    @property
    def definition(self) -> ToolDefinition:
        return self._tool.definition

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        return self._tool.paths(call, scope)

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        await to_thread.run_sync(self._keep, self._tool.paths(call, scope))
        return await self._tool.run(call, scope)
