"""What runs beside an agent for as long as its session: MCP servers, and commands in the background.

Performs starting and ending. Nothing of it outlives the session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from compositor.ports import Interviewer
from compositor.types.request import HeadTool
from compositor.types.servers import McpServer

from .tools.background import Background

if TYPE_CHECKING:
    from .mcp.servers import McpServers


class Services(Struct, frozen=True):
    servers: McpServers | None
    background: Background


@asynccontextmanager
async def run_services(
    servers: tuple[McpServer, ...],
    *,
    roots: tuple[str, ...],
    home: str,
    env: Mapping[str, str],
    told: tuple[HeadTool, ...] = (),
    interviewer: Interviewer | None = None,
) -> AsyncIterator[Services]:
    """The services of one session; servers start in the background. `told` are tools that an earlier part of the session was told."""
    background = Background()
    async with AsyncExitStack() as stack:
        stack.callback(background.close)
        running = None
        if servers:
            from .mcp.elicitation import elicitor
            from .mcp.session import make_servers

            elicit = None if interviewer is None else elicitor(interviewer)
            running = make_servers(servers, roots=roots, home=home, env=env, told=told, elicit=elicit)
            await stack.enter_async_context(running.running())
        yield Services(running, background)
