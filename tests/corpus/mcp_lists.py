"""The recorded tool lists of real MCP servers, as the definitions that a session would make of them."""

import json
import os
from pathlib import Path

from compositor.context.tools.schema import fit_definitions
from compositor.types.diagnostics import Diagnostic
from compositor.types.json import raw_json
from compositor.types.tools import ToolDefinition, ToolOrigin

FOLDER = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")).resolve() / "mcp"


def raw_tools() -> tuple[ToolDefinition, ...]:
    """Every recorded tool under its real name, schema and description as the server gave them, deferred."""
    return tuple(
        ToolDefinition(
            name=f"mcp__{path.name.removesuffix('.tools.json')}__{tool['name']}",
            description=tool.get("description", ""),
            input_schema=raw_json(tool["inputSchema"]),
            origin=ToolOrigin.MCP,
            deferred=True,
        )
        for path in sorted(FOLDER.glob("*.tools.json"))
        for tool in json.loads(path.read_text("utf-8"))["tools"]
    )


def recorded_tools() -> tuple[tuple[ToolDefinition, ...], tuple[Diagnostic, ...]]:
    """The same with legal schemas."""
    return fit_definitions(raw_tools())
