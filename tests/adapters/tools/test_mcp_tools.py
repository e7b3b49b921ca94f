"""The tools about MCP servers: resources in long lists and by folder, and waiting for servers that start slowly."""

from typing import Any

import anyio
import msgspec
import pytest

from compositor.adapters.tools.mcp_resources import MAX_LISTED, ListMcpResourcesTool, ReadMcpResourceDirTool
from compositor.adapters.tools.mcp_wait import WaitForMcpServersTool
from compositor.errors import ToolServerError
from compositor.types.json import raw_json
from compositor.types.servers import ServerListing, ServerPrompt, ServerResource
from compositor.types.tools import OutcomeKind, ToolCall


class Shelf:
    """Servers that hold these addresses."""

    def __init__(self, *addresses: str) -> None:
        self.found = tuple(ServerResource(server="docs", uri=uri, name=uri.rpartition("/")[2]) for uri in addresses)
        self.waited: list[Any] = []

    async def resources(self, server: str | None = None) -> tuple[ServerResource, ...]:
        if server not in {None, "docs"}:
            raise ToolServerError(f"There is no MCP server {server!r}")
        return self.found

    async def read(self, server: str, uri: str, folder: str) -> str:
        raise NotImplementedError

    async def settle(self, seconds: float, names: Any = None) -> None:
        self.waited.append((seconds, names))
        if names and "nowhere" in names:
            raise ToolServerError("There is no MCP server 'nowhere'", hint="Servers: docs, slow")

    async def listings(self) -> tuple[ServerListing, ...]:
        return (
            ServerListing(server="docs"),
            ServerListing(server="slow", problem="it is still starting", starting=True),
        )


def use(tool: Any, session: Any, **fields: Any):
    call = ToolCall(id="t", name=tool.definition.name, input=raw_json(fields))
    return anyio.run(tool.run, call, session.scope)


def test_a_long_list_of_resources_is_cut_with_a_number(session: Any) -> None:
    shelf = Shelf(*(f"file:///d/{number}" for number in range(MAX_LISTED + 5)))
    text = use(ListMcpResourcesTool(shelf), session).content
    assert len(text.splitlines()) == MAX_LISTED + 1
    assert text.endswith("[5 more are left out; look below an address with ReadMcpResourceDirTool.]")


@pytest.mark.parametrize("uri", ["file:///d", "file:///d/"])
def test_below_an_address_stand_its_own_resources_and_counted_folders(session: Any, uri: str) -> None:
    shelf = Shelf("file:///d/a.md", "file:///d/deep/b.md", "file:///d/deep/er/c.md", "file:///other/d.md", "file:///dx")
    outcome = use(ReadMcpResourceDirTool(shelf), session, server="docs", uri=uri)
    assert outcome.content == "file:///d/deep/ (2 resources)\ndocs file:///d/a.md: a.md"
    assert msgspec.json.decode(bytes(outcome.structured))["folders"] == {"file:///d/deep/": 2}


def test_nothing_below_an_address_and_an_unknown_server_are_told(session: Any) -> None:
    tool = ReadMcpResourceDirTool(Shelf("file:///d/a.md"))
    assert use(tool, session, server="docs", uri="db://x").content == "Nothing stands below 'db://x'."
    unknown = use(tool, session, server="nowhere", uri="db://x")
    assert unknown.kind is OutcomeKind.FAILED
    assert "nowhere" in unknown.content


def test_waiting_says_what_became_of_each_server(session: Any) -> None:
    shelf = Shelf()
    tool = WaitForMcpServersTool(shelf)
    assert use(tool, session).content == "docs: 0 tools\nslow: it is still starting"
    assert use(tool, session, servers=["docs"], timeout_ms=500).content == "docs: 0 tools"
    assert shelf.waited == [(30.0, None), (0.5, ("docs",))]
    unknown = use(tool, session, servers=["nowhere"])
    assert unknown.kind is OutcomeKind.FAILED
    assert "Servers: docs, slow" in unknown.content


def test_a_prompt_is_a_command_without_blanks() -> None:
    prompt = ServerPrompt(server="my docs", name="sum up", arguments=("city", "state"), required=("city",))
    assert prompt.command == "/mcp__my_docs__sum_up"
    assert prompt.usage == "/mcp__my_docs__sum_up CITY [STATE]"
