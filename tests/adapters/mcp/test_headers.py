"""Headers of a connection: those of the entry, those that a helper prints, and a helper that fails."""

import os
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters.mcp import transports
from compositor.adapters.mcp.transports import ServerSurroundings, headers_of
from compositor.errors import ToolServerError
from compositor.types.servers import McpServer, ServerScope, ServerTransport

pytestmark = pytest.mark.anyio


def server(helper: str) -> McpServer:
    return McpServer(
        name="web",
        scope=ServerScope.USER,
        file="x",
        transport=ServerTransport.HTTP,
        url="https://example.org/mcp",
        headers={"X-A": "1", "X-B": "2"},
        headers_helper=helper,
    )


def around(folder: Path) -> ServerSurroundings:
    env = {**os.environ, "SOME_API_KEY": "secret"}
    return ServerSurroundings(roots=(str(folder),), home=str(folder), env=env)


async def test_what_the_helper_prints_wins_and_it_knows_whom_it_is_for(tmp_path: Path) -> None:
    helper = 'printf \'{"X-B": "%s", "X-C": "%s%s"}\' "$CLAUDE_CODE_MCP_SERVER_NAME" "$CLAUDE_CODE_MCP_SERVER_URL" "$SOME_API_KEY"'
    found = await headers_of(server(helper), around(tmp_path))
    assert found == {"X-A": "1", "X-B": "web", "X-C": "https://example.org/mcp"}
    assert await headers_of(server(""), around(tmp_path)) == {"X-A": "1", "X-B": "2"}


@pytest.mark.parametrize(
    ("helper", "reason"),
    [
        ("echo secret; exit 3", "ended with the code 3"),
        ("echo nothing", "no JSON object of strings"),
        ("echo '[1]'", "no JSON object of strings"),
        ("sleep 60", "took too long"),
        ("yes", "printed too much"),
    ],
)
async def test_a_helper_that_fails_is_the_reason_and_nothing_it_said_is_told(
    tmp_path: Path, monkeypatch: Any, helper: str, reason: str
) -> None:
    if "sleep" in helper:
        monkeypatch.setattr(transports, "HELPER_SECONDS", 0.3)
    with pytest.raises(ToolServerError, match=reason) as found:
        await headers_of(server(helper), around(tmp_path))
    assert "secret" not in str(found.value)
