"""A server of the official SDK over HTTP whose list of tools grows when it is told to. The port is its argument."""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("growing", instructions="Call grow to get more tools.")


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Adds a tool of that name."""
    server.add_tool(lambda text: f"{name}: {text}", name=name, description=f"Repeats a text for {name}.")
    await ctx.notify_tools_changed()
    return f"{name} is there"


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Counts, and says how far it is."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
    return f"counted to {to}"


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
