"""Runs handlers of hooks that are a tool of an MCP server of the session.

Performs the call and says what came back; what it means stands in `policy/hook_output.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from compositor.errors import ToolServerError
from compositor.policy.hook_handlers import Hook, fill_input
from compositor.policy.hook_output import Ended, HookRun
from compositor.ports import HandlerWay

if TYPE_CHECKING:
    from compositor.adapters.mcp.servers import McpServers


def served(servers: McpServers | None) -> HandlerWay:
    """The way for the servers of a session; without any, no such handler can be started."""

    async def run(hook: Hook, payload: bytes) -> HookRun:
        if servers is None:
            return HookRun(ended=Ended.NOT_STARTED, stderr=f"there is no MCP server {hook.server!r}")
        from compositor.adapters.mcp.results import text_of

        given = fill_input(hook.input, json.loads(payload))
        try:
            connection = servers.connection(hook.server)
            await connection.settled()
            offered = connection.offer.tools if connection.offer else ()
            if all(tool.name != hook.tool for tool in offered):
                problem = f"the MCP server {hook.server!r} offers no tool {hook.tool!r}"
                return HookRun(ended=Ended.NOT_STARTED, stderr=problem)
            result = await connection.call(
                lambda client: client.call_tool(hook.tool, given, read_timeout_seconds=hook.seconds)
            )
        except ToolServerError as lost:
            return HookRun(ended=Ended.NOT_STARTED, stderr=str(lost))
        said = text_of(result.content)
        if result.is_error:
            return HookRun(ended=Ended.EXITED, code=1, stderr=said)
        return HookRun(ended=Ended.EXITED, stdout=said)

    return run
