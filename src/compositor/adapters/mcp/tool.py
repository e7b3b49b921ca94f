"""One tool of an MCP server as a tool of the session.

Performs the call and turns every end of it into an outcome: result, error of the tool, loss of the server, time limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from msgspec import ValidationError

from compositor.adapters.tools.results import done, failed
from compositor.context.tools.display import display_call, one_line
from compositor.errors import ToolServerError
from compositor.ports import ToolScope
from compositor.types.blocks import TextBlock
from compositor.types.json import decode_json
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .connection import ServerConnection, describe
from .results import blocks_of, limited, structured_of

if TYPE_CHECKING:
    import mcp_types

PROGRESS_SECONDS: Final = 1.0
"""Between two lines about the progress of a call."""


class McpTool:
    """`remote` is the server's own name of the tool; `seconds` its time limit, `tokens` and `characters` the limits of a result."""

    def __init__(
        self,
        definition: ToolDefinition,
        remote: str,
        connection: ServerConnection,
        *,
        seconds: float,
        tokens: int,
        characters: int | None,
    ) -> None:
        self.definition = definition
        self._remote = remote
        self._connection = connection
        self._seconds = seconds
        self._tokens = tokens
        self._characters = characters

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        from mcp import MCPError
        from mcp_types import REQUEST_TIMEOUT

        progress = ProgressLines(scope.report)
        try:
            result = await self._connection.call(
                lambda client: client.call_tool(
                    self._remote,
                    decode_json(bytes(call.input)),
                    read_timeout_seconds=self._seconds,
                    progress_callback=progress,
                )
            )
        except ToolServerError as lost:
            return failed(call, str(lost), structured={"error": "server lost"})
        except MCPError as problem:
            timed_out = f" It ran longer than {self._seconds:g} s." if problem.code == REQUEST_TIMEOUT else ""
            return failed(
                call, f"The MCP server {self._connection.server.name!r} refused the call: {problem}.{timed_out}"
            )
        except (ValueError, RuntimeError, ValidationError) as problem:
            return failed(
                call, f"The answer of the MCP server {self._connection.server.name!r} is not valid: {describe(problem)}"
            )
        return await to_thread.run_sync(self._outcome, call, result, scope)

    def _outcome(self, call: ToolCall, result: mcp_types.CallToolResult, scope: ToolScope) -> ToolOutcome:
        content, path = limited(
            blocks_of(result.content),
            folder=scope.output_dir,
            name=f"{self.definition.name}-{call.id}",
            tokens=self._tokens,
            characters=self._characters,
        )
        structured: dict[str, Any] = structured_of(result, path)
        shown = f"{display_call(call)}: {'failed' if result.is_error else 'done'}"
        if result.is_error:
            return failed(call, _only_text(content), display=shown, structured=structured)
        return done(call, content or "(no output)", display=shown, structured=structured)


class ProgressLines:
    """Takes what a server tells of its progress and reports a line of it, at most one a second."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._next = 0.0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        now = anyio.current_time()
        if now < self._next:
            return
        self._next = now + PROGRESS_SECONDS
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        self._report(one_line(f"{share}: {message}" if message else share))


def _only_text(content: str | tuple[Any, ...]) -> str:
    """Beside an error only text may stand (L63)."""
    text = content if isinstance(content, str) else "\n".join(b.text for b in content if isinstance(b, TextBlock))
    return text or "The tool failed and said nothing."
