"""OAuth for MCP servers over HTTP: tokens in private files, and the one command that may open a browser.

Performs the flow of the official SDK. A session uses and refreshes what is stored; it never asks a person to log in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.abc

from compositor.adapters.home import private_folder, write_private
from compositor.errors import ToolServerError
from compositor.types.servers import McpServer, ServerTransport

if TYPE_CHECKING:
    import httpx2

CALLBACK_PATH: Final = "/callback"
LOGIN_SECONDS: Final = 300.0
_FOLDER: Final = "mcp-tokens"
_PAGE: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n"
    b"You are logged in. This window can be closed.\n"
)


class TokenFile:
    """Tokens and registration of one server, by its address, in a file that only its owner can read."""

    def __init__(self, home: Path, server: McpServer) -> None:
        host = urlsplit(server.url).hostname or "server"
        self._home = home
        self._path = home / _FOLDER / f"{host}-{server.digest[:16]}.json"

    @property
    def exists(self) -> bool:
        return self._path.is_file()

    async def get_tokens(self) -> Any:
        from mcp.shared.auth import OAuthToken

        found = self._read().get("tokens")
        return None if found is None else OAuthToken.model_validate(found)

    async def set_tokens(self, tokens: Any) -> None:
        self._write("tokens", tokens)

    async def get_client_info(self) -> Any:
        from mcp.shared.auth import OAuthClientInformationFull

        found = self._read().get("client")
        return None if found is None else OAuthClientInformationFull.model_validate(found)

    async def set_client_info(self, client_info: Any) -> None:
        self._write("client", client_info)

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, key: str, value: Any) -> None:
        private_folder(self._home, _FOLDER)
        known = {**self._read(), key: json.loads(value.model_dump_json(exclude_none=True))}
        write_private(self._path, json.dumps(known).encode())


def stored_auth(server: McpServer, home: Path) -> httpx2.Auth | None:
    """What a session sends a server: the stored tokens, renewed when they are old. `None` where nothing was stored."""
    storage = TokenFile(home, server)
    if server.transport is ServerTransport.STDIO or not storage.exists:
        return None

    async def refuse(_address: str) -> None:
        raise ToolServerError(f"it wants a login; run 'compositor mcp login {server.name}'")

    async def never() -> Any:
        raise ToolServerError("there is no login under way")

    return _provider(server, storage, "http://127.0.0.1/callback", refuse, never)


async def log_in(server: McpServer, home: Path, show: Callable[[str], None]) -> httpx2.Auth:
    """Auth that lets a person log in: `show` gets the address to open; the answer comes back to a port of this machine.

    The flow runs with the first request that is sent with it.
    """
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port: int = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610  # an address of a socket, no database

    async def redirect(address: str) -> None:
        show(address)

    async def callback() -> Any:
        with anyio.fail_after(LOGIN_SECONDS):
            async with listener:
                return await _answer(listener)

    return _provider(server, TokenFile(home, server), f"http://127.0.0.1:{port}{CALLBACK_PATH}", redirect, callback)


async def _answer(listener: Any) -> Any:
    """The code that the browser brings, from the first request to the right path."""
    from mcp.client.auth import AuthorizationCodeResult

    found: list[Any] = []
    async with anyio.create_task_group() as tasks:

        async def serve(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                line = (await stream.receive(65_536)).split(b"\r\n", 1)[0].decode("latin-1")
                target = urlsplit(line.split(" ")[1] if line.count(" ") == 2 else "/")
                fields = {name: values[0] for name, values in parse_qs(target.query).items()}
                if target.path != CALLBACK_PATH or "code" not in fields:
                    await stream.send(b"HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n")
                    return
                await stream.send(_PAGE)
                found.append(
                    AuthorizationCodeResult(code=fields["code"], state=fields.get("state"), iss=fields.get("iss"))
                )
                tasks.cancel_scope.cancel()

        await listener.serve(serve, tasks)
    return found[0]


def _provider(server: McpServer, storage: TokenFile, redirect_uri: str, redirect: Any, callback: Any) -> httpx2.Auth:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "compositor",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }
    )
    provider: httpx2.Auth = OAuthClientProvider(
        server_url=server.url,
        client_metadata=metadata,
        storage=storage,
        redirect_handler=redirect,
        callback_handler=callback,
    )
    return provider
