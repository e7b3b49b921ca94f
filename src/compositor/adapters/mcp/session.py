"""The MCP servers of one session: found in the files, approved, and made ready to run.

Performs the reading and building. Which entry counts and which may run is decided in `config/mcp_servers.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compositor.adapters.settings_files import SettingsPlaces
from compositor.config.flags import SOURCES, Flags
from compositor.config.mcp_servers import Approvals, ServerChoice, choose_servers
from compositor.config.settings import Settings
from compositor.config.trust import Trust
from compositor.context.tools.limits import RESULT_TOKENS
from compositor.types.diagnostics import Diagnostic
from compositor.types.request import HeadTool
from compositor.types.servers import Exchange, McpServer

from .files import load_servers, read_approvals

if TYPE_CHECKING:
    from .servers import McpServers


def find_servers(
    places: SettingsPlaces,
    home: Path,
    variables: Mapping[str, str],
    *,
    flags: Flags,
    settings: Settings,
    trust: Trust,
    interactive: bool,
) -> ServerChoice:
    """The servers that a session in `places.cwd` starts, and the others with the reason. Raises `ConfigError` for a file of `--mcp-config`."""
    sources = SOURCES if flags.setting_sources is None else flags.setting_sources
    found = load_servers(
        places,
        home,
        variables,
        given=flags.mcp_config,
        strict=flags.strict_mcp_config,
        sources=tuple(level.value for level in sources),
    )
    approvals = Approvals(digests=read_approvals(home, places.cwd), trust=trust, interactive=interactive)
    choice = choose_servers(found.entries, settings, variables, approvals)
    waiting = tuple(
        Diagnostic(
            "mcp.pending",
            f"The MCP server {refused.name!r} is not started: {refused.reason}",
            where=refused.file,
            step="mcp.servers",
            hint=f"Approve it with 'compositor mcp approve {refused.name}'",
        )
        if refused.pending
        else Diagnostic(
            "mcp.refused",
            f"The MCP server {refused.name!r} is not started: {refused.reason}",
            where=refused.file,
            step="mcp.servers",
        )
        for refused in choice.refused
    )
    return ServerChoice(
        servers=choice.servers,
        refused=choice.refused,
        diagnostics=(*found.diagnostics, *choice.diagnostics, *waiting),
    )


def make_servers(
    servers: Iterable[McpServer],
    *,
    roots: tuple[str, ...],
    home: str,
    env: Mapping[str, str],
    told: Iterable[HeadTool] = (),
    elicit: Callable[[str, Any], Awaitable[Any]] | None = None,
    auth: Callable[[McpServer], Any] | None = None,
    tokens: int = RESULT_TOKENS,
    exchange: Exchange | None = None,
) -> McpServers:
    """The servers, not started yet. `told` are the tools an earlier part of the session was told: they keep their names.

    `tokens` is the most that one result may cost; `MAX_MCP_OUTPUT_TOKENS` wins. `auth` gives what an HTTP server is sent; without it, tokens that were stored before.
    """
    from .login import stored_auth
    from .servers import McpServers
    from .transports import ServerSurroundings

    return McpServers(
        tuple(servers),
        ServerSurroundings(roots=roots, home=home, env=env, exchange=exchange),
        known={
            tool.origin.source.name: tool.definition.name
            for tool in told
            if tool.origin.source.name.startswith("mcp__")
        },
        elicit=elicit,
        tokens=tokens,
        auth=auth or (lambda server: stored_auth(server, Path(home))),
    )
