"""One MCP server over the whole session: connect, list, notice changes and loss, connect again when it is needed.

Performs the connection. What the server offered last stays known while it is away, so that nothing the model was told changes with the
state of a connection (F14). Never decides what the model is told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
from msgspec import Struct

from compositor.errors import ToolServerError
from compositor.types.servers import McpServer

from .transports import ServerSurroundings, open_client

if TYPE_CHECKING:
    import httpx2
    import mcp_types
    from mcp import Client

START_SECONDS: Final = 30.0
"""How long a server may take to connect and list its tools (`MCP_TIMEOUT`)."""

_MAX_PAGES: Final = 100

Result = TypeVar("Result")


class Offer(Struct, frozen=True, kw_only=True):
    """What a server offers, as it said it."""

    tools: tuple[mcp_types.Tool, ...] = ()
    prompts: tuple[mcp_types.Prompt, ...] = ()
    has_resources: bool = False
    instructions: str = ""


class ServerConnection:
    """`keep` runs as a task for as long as the session; the other methods may be called from any task."""

    def __init__(
        self,
        server: McpServer,
        around: ServerSurroundings,
        *,
        start_seconds: float = START_SECONDS,
        elicit: Callable[[str, Any], Awaitable[Any]] | None = None,
        auth: httpx2.Auth | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.server = server
        self.offer: Offer | None = None
        self.problem: str | None = None
        self._around = around
        self._start_seconds = start_seconds
        self._elicit = elicit
        self._auth = auth
        self._changed = changed
        self._client: Client | None = None
        self._starting = False
        self._wanted = anyio.Event()
        self._wanted.set()
        self._settled = anyio.Event()
        self._lost = anyio.Event()
        self._stale = anyio.Event()

    @property
    def is_connected(self) -> bool:
        return self._client is not None

    async def settled(self) -> None:
        """Wait until the attempt to connect that is under way has come to an end."""
        await self._settled.wait()

    async def keep(self) -> None:
        """Connect whenever it is wanted, until cancelled. Never raises for what a server does."""
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            self._starting = True
            try:
                await self._stay_connected()
            except Exception as problem:  # noqa: BLE001 - whatever a server or its transport does costs this server only
                self.problem = self.problem or describe(problem)
            self._client = None
            # A loss settles nothing: whoever waits by now waits for the next attempt.
            if self._starting:
                self._settled.set()
            self._changed()

    async def call(self, action: Callable[[Client], Awaitable[Result]]) -> Result:
        """Do something with the connected client, connecting again first where it is away. Raises `ToolServerError`, and what `action` does."""
        import mcp_types
        from mcp import MCPError

        client = await self._connected()
        try:
            return await action(client)
        except MCPError as problem:
            if problem.code == mcp_types.CONNECTION_CLOSED:
                self._lose("the connection was closed")
                raise ToolServerError(self._away()) from problem
            raise
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError) as problem:
            self._lose(describe(problem))
            raise ToolServerError(self._away()) from problem

    async def _connected(self) -> Client:
        if self._client is None:
            if self._settled.is_set():
                self._settled, self.problem = anyio.Event(), None
                self._wanted.set()
            with anyio.move_on_after(self._start_seconds + 1):
                await self._settled.wait()
        if self._client is None:
            raise ToolServerError(self._away())
        return self._client

    def _away(self) -> str:
        return f"The MCP server {self.server.name!r} is not available: {self.problem or 'it did not start in time'}"

    def _lose(self, reason: str) -> None:
        self.problem = reason
        self._client = None
        self._lost.set()

    async def _stay_connected(self) -> None:
        await anyio.to_thread.run_sync(_import_sdk)
        self._lost, self._stale = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as starting:
                starting.deadline = anyio.current_time() + self._start_seconds
                async with open_client(
                    self.server, self._around, on_message=self._note_message, elicit=self._elicitor(), auth=self._auth
                ) as client:
                    self.offer = await read_offer(client)
                    starting.deadline = float("inf")
                    self.problem, self._client, self._starting = None, client, False
                    self._settled.set()
                    self._changed()
                    tasks.start_soon(self._listen, client)
                    tasks.start_soon(self._reload, client)
                    await self._lost.wait()
                    tasks.cancel_scope.cancel()
            if starting.cancelled_caught:
                raise TimeoutError(f"it was not ready after {self._start_seconds:g} s")

    def _elicitor(self) -> Any:
        if self._elicit is None:
            return None
        ask = self._elicit

        async def answer(_context: Any, params: Any) -> Any:
            return await ask(self.server.name, params)

        return answer

    async def _note_message(self, message: Any) -> None:
        import mcp_types

        if isinstance(message, (mcp_types.ToolListChangedNotification, mcp_types.PromptListChangedNotification)):
            self._stale.set()

    async def _listen(self, client: Client) -> None:
        """Servers of the newer protocol tell changes on a stream of their own; older ones send them unasked."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        try:
            async with client.listen(tools_list_changed=True, prompts_list_changed=True) as events:
                async for _ in events:
                    self._stale.set()
        except (ListenNotSupportedError, MCPError, SubscriptionLost, TimeoutError):
            return

    async def _reload(self, client: Client) -> None:
        from mcp import MCPError

        while True:
            await self._stale.wait()
            self._stale = anyio.Event()
            try:
                self.offer = await read_offer(client)
            except (MCPError, ValueError) as problem:
                self.problem = describe(problem)
            self._changed()


async def read_offer(client: Client) -> Offer:
    """Everything a connected server offers; what it does not have it is not asked for."""
    has = client.server_capabilities
    tools = await pages(client.list_tools, "tools") if has.tools is not None else []
    prompts = await pages(client.list_prompts, "prompts") if has.prompts is not None else []
    return Offer(
        tools=tuple(tools),
        prompts=tuple(prompts),
        has_resources=has.resources is not None,
        instructions=client.instructions or "",
    )


def describe(problem: BaseException) -> str:
    """An error of a server or its transport in one line; of a group, its first member's."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    text = " ".join(str(problem).split()) or type(problem).__name__
    return text[:500]


async def pages(fetch: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    """Everything a listing holds, page by page."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await fetch(cursor=cursor)
        found.extend(getattr(page, field))
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _import_sdk() -> None:
    """Importing takes most of a second; in a thread, nothing waits for it."""
    import mcp  # noqa: F401
