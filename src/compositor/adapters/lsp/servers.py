"""The language servers of a session, by the files they are for.

Decides which server a file belongs to. None is started before it is asked something.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from compositor.errors import ToolServerError
from compositor.types.languages import LanguageServer

from .connection import LanguageConnection


class LanguageServers:
    """`running` starts and ends them; of two for one ending the first by name is asked."""

    def __init__(self, servers: tuple[LanguageServer, ...], root: str, home: str, env: Mapping[str, str]) -> None:
        self.connections = tuple(LanguageConnection(server, root, home, env) for server in servers)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[LanguageServers]:
        """They wait to be needed; at the end all of them are ended."""
        async with anyio.create_task_group() as tasks:
            for connection in self.connections:
                tasks.start_soon(connection.keep)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    def for_file(self, path: str) -> LanguageConnection:
        """Raises `ToolServerError` for a file that no server is for."""
        ending = Path(path).suffix.lower()
        for connection in self.connections:
            if ending in connection.server.languages:
                return connection
        known = sorted({one for connection in self.connections for one in connection.server.languages})
        raise ToolServerError(
            f"No language server is for files like {path!r}", hint=f"There are some for {', '.join(known)}"
        )
