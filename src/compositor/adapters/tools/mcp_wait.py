"""WaitForMcpServers: lets the model wait for servers that start slowly, where no tool search would find their tools later.

Performs the waiting. What their tools become in the next request is decided in `context/tools/deferral.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from msgspec import Struct

from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.errors import ToolServerError
from compositor.ports import ToolScope
from compositor.types.servers import ServerListing
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .results import Problem, done, failed, read_input

WAIT_MS: Final = 30_000


class Starting(Protocol):
    """The servers, as far as their start goes. `settle` raises `ToolServerError` for a name that there is none of."""

    async def settle(self, seconds: float, names: Sequence[str] | None = None) -> None: ...

    async def listings(self) -> tuple[ServerListing, ...]: ...


class WaitInput(Struct, frozen=True, forbid_unknown_fields=True):
    servers: tuple[str, ...] | None = None
    timeout_ms: int = WAIT_MS


class WaitForMcpServersTool:
    definition: ToolDefinition = BUILTIN["WaitForMcpServers"]

    def __init__(self, servers: Starting) -> None:
        self._servers = servers

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, WaitInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        try:
            await self._servers.settle(wanted.timeout_ms / 1000, wanted.servers)
        except ToolServerError as unknown:
            return failed(call, str(unknown))
        found = [
            one for one in await self._servers.listings() if wanted.servers is None or one.server in wanted.servers
        ]
        structured: dict[str, Any] = {
            "servers": [{"name": one.server, "problem": one.problem, "tools": len(one.tools)} for one in found]
        }
        text = "\n".join(map(_line, found))
        return done(call, text, display=f"{display_call(call)}: {counted(len(found), 'server')}", structured=structured)


def _line(listing: ServerListing) -> str:
    state = counted(len(listing.tools), "tool") if listing.problem is None else listing.problem
    return f"{listing.server}: {state}"
