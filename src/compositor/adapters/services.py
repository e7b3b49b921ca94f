"""What runs beside an agent for as long as its session: MCP servers, and commands in the background.

Performs starting and ending. Nothing of it outlives the session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from compositor.context.tools.limits import RESULT_TOKENS
from compositor.ports import Interviewer
from compositor.types.languages import LanguageServer
from compositor.types.request import HeadTool
from compositor.types.servers import Exchange, McpServer

from .tools.background import Background

if TYPE_CHECKING:
    from .lsp.servers import LanguageServers
    from .mcp.servers import McpServers


class Services(Struct, frozen=True):
    """`spawn` starts something of our own beside the session."""

    servers: McpServers | None
    background: Background
    spawn: Callable[[Callable[[], Awaitable[None]]], None]
    languages: LanguageServers | None = None


@asynccontextmanager
async def run_services(
    servers: tuple[McpServer, ...],
    *,
    roots: tuple[str, ...],
    home: str,
    env: Mapping[str, str],
    told: tuple[HeadTool, ...] = (),
    interviewer: Interviewer | None = None,
    languages: tuple[LanguageServer, ...] = (),
    result_tokens: int = RESULT_TOKENS,
    exchange: Exchange | None = None,
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
            running = make_servers(
                servers,
                roots=roots,
                home=home,
                env=env,
                told=told,
                elicit=elicit,
                tokens=result_tokens,
                exchange=exchange,
            )
            await stack.enter_async_context(running.running())
        speaking = None
        if languages:
            from .lsp.servers import LanguageServers

            speaking = LanguageServers(languages, roots[0], home, env)
            await stack.enter_async_context(speaking.running())
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)

        def spawn(start: Callable[[], Awaitable[None]]) -> None:
            async def run() -> None:
                await start()

            tasks.start_soon(run)

        yield Services(running, background, spawn, speaking)
