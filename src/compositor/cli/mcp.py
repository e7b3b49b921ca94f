"""`compositor mcp`: the MCP servers of a project: list, add, remove, approve, test, log in.

Decides how they read and which file a change goes to. Writes the product's own files; `.mcp.json` only with `--scope project`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compositor.adapters.home import find_home
from compositor.adapters.mcp.files import PROJECT_FILE, add_approval, own_file, read_own, write_own
from compositor.cli.options import project_folder
from compositor.errors import ConfigError, ExitCode, UsageError

if TYPE_CHECKING:
    from compositor.adapters.mcp.servers import McpServers
    from compositor.config.mcp_servers import ServerChoice
    from compositor.types.servers import McpServer

_PROJECT = click.option(
    "--project",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project directory; the current one by default.",
)
_SCOPE = click.option(
    "--scope",
    type=click.Choice(["local", "user", "project"]),
    default="local",
    show_default=True,
    help="local: you, in this project. user: you, everywhere. project: everyone, in .mcp.json.",
)


@click.group(name="mcp")
def command() -> None:
    """Show and change the MCP servers of a project."""


@command.command(name="list")
@_PROJECT
@click.option("--json", "as_json", is_flag=True, help="One JSON array.")
def list_command(project: Path | None, as_json: bool) -> None:  # noqa: FBT001
    """List the configured servers, with the reason for those that are not used. Starts none."""
    choice = _choice(project_folder(project))
    rows = [_row(server) for server in choice.servers]
    rows += [
        {"name": refused.name, "scope": refused.scope.value, "file": refused.file, "state": refused.reason}
        for refused in choice.refused
    ]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2))
        return
    for row in sorted(rows, key=lambda row: row["name"]):
        click.echo(f"{row['name']}  {row['scope']}  {row['state']}  ({row['file']})")
    for note in choice.diagnostics:
        click.echo(f"{note.message} ({note.where})", err=True)
    if not rows:
        click.echo("No MCP servers are configured. 'compositor mcp add NAME -- COMMAND' adds one.")


@command.command(name="add", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("target", nargs=-1, required=True)
@click.option("--transport", type=click.Choice(["stdio", "http", "sse"]), help="By default stdio, http for an address.")
@click.option(
    "--env", "-e", metavar="NAME=VALUE", multiple=True, help="A variable of a stdio server; ${VAR} is filled in later."
)
@click.option("--header", "-H", metavar="NAME: VALUE", multiple=True, help="A header for an HTTP server.")
@_SCOPE
@_PROJECT
def add_command(name: str, target: tuple[str, ...], **values: Any) -> None:
    """Add a server: NAME and an address, or NAME -- COMMAND [ARGUMENTS]."""
    env, headers = _pairs(values["env"], "=", "--env"), _pairs(values["header"], ":", "--header")
    entry = _entry(target, values["transport"], env, headers)
    cwd, scope = project_folder(values["project"]), values["scope"]
    path, servers = _servers(scope, cwd)
    if name in servers:
        raise UsageError(f"there is an MCP server {name!r} already", where=str(path), hint="Remove it first")
    _store(path, scope, cwd, {**servers, name: entry})
    click.echo(f"{name} was added to {path}. 'compositor mcp test {name}' tries it.")


@command.command(name="remove")
@click.argument("name")
@_SCOPE
@_PROJECT
def remove_command(name: str, scope: str, project: Path | None) -> None:
    """Remove a server from the list it was added to."""
    cwd = project_folder(project)
    path, servers = _servers(scope, cwd)
    if name not in servers:
        raise UsageError(f"there is no MCP server {name!r} in the scope {scope!r}", where=str(path))
    _store(path, scope, cwd, {key: value for key, value in servers.items() if key != name})
    click.echo(f"{name} was removed from {path}.")


@command.command(name="approve")
@click.argument("name")
@_PROJECT
def approve_command(name: str, project: Path | None) -> None:
    """Approve a server of this project's .mcp.json, as it stands there now."""
    cwd = project_folder(project)
    refused = next((one for one in _choice(cwd).refused if one.name == name and one.pending), None)
    if refused is None:
        raise UsageError(f"no MCP server {name!r} waits for an approval here", hint="See 'compositor mcp list'")
    add_approval(find_home(os.environ), cwd, refused.digest)
    click.echo(f"{name} is approved for {cwd}, until its entry in {refused.file} changes.")


@command.command(name="test")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON array.")
@_PROJECT
def test_command(name: str | None, as_json: bool, project: Path | None) -> int:  # noqa: FBT001
    """Start one server, or all, list what they offer, and end them again. Exit 1 when one cannot be used."""
    import anyio

    cwd = project_folder(project)
    chosen = [server for server in _choice(cwd).servers if name in {None, server.name}]
    if name is not None and not chosen:
        raise UsageError(f"there is no MCP server {name!r} that may be started here", hint="See 'compositor mcp list'")
    rows = anyio.run(_tested, _made(chosen, cwd)) if chosen else []
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2))
    for row in () if as_json else rows:
        click.echo(f"{row['name']}: {row['problem'] or _offer_line(row)}")
    return ExitCode.FAILED if any(row["problem"] for row in rows) else ExitCode.OK


@command.command(name="login")
@click.argument("name")
@_PROJECT
def login_command(name: str, project: Path | None) -> None:
    """Log in to an HTTP server with OAuth; the tokens are kept in a private file."""
    import anyio

    cwd = project_folder(project)
    server = next((one for one in _choice(cwd).servers if one.name == name and one.url), None)
    if server is None:
        raise UsageError(f"there is no MCP server {name!r} over HTTP here", hint="See 'compositor mcp list'")
    problem = anyio.run(_logged_in, server, cwd)
    if problem:
        raise ConfigError(f"The login failed: {problem}", path=server.file)
    click.echo(f"You are logged in to {name}.")


def _choice(cwd: str) -> ServerChoice:
    from compositor.adapters.mcp.session import find_servers
    from compositor.adapters.settings_files import find_places, load_settings
    from compositor.adapters.trust import foreign_settings, read_trust
    from compositor.config.environment import join_environment
    from compositor.config.flags import Flags

    places = find_places(cwd, os.environ)
    home = find_home(os.environ)
    settings = load_settings(places)
    trust = read_trust(home, places.root, foreign=foreign_settings(os.environ))
    variables = join_environment(os.environ, settings, trust).variables
    return find_servers(places, home, variables, flags=Flags(), settings=settings, trust=trust, interactive=True)


def _made(servers: list[McpServer], cwd: str, auth: Any = None) -> McpServers:
    from compositor.adapters.mcp.session import make_servers

    home = str(find_home(os.environ))
    return make_servers(servers, roots=(cwd,), home=home, env=dict(os.environ), auth=auth)


async def _tested(servers: McpServers) -> list[dict[str, Any]]:
    async with servers.running():
        await servers.settle()
        listings = await servers.listings()
        return [
            {
                "name": listing.server,
                "problem": listing.problem,
                "tools": [tool.definition.name for tool in listing.tools],
                "prompts": [prompt.name for prompt in servers.prompts() if prompt.server == listing.server],
                "instructions": listing.instructions,
            }
            for listing in listings
        ]


async def _logged_in(server: McpServer, cwd: str) -> str | None:
    from compositor.adapters.mcp.login import log_in

    def show(address: str) -> None:
        click.echo(f"Open this address to log in:\n{address}", err=True)
        click.launch(address)

    auth = await log_in(server, find_home(os.environ), show)
    rows = await _tested(_made([server], cwd, auth=lambda _server: auth))
    return rows[0]["problem"]  # type: ignore[no-any-return]


def _row(server: McpServer) -> dict[str, Any]:
    return {"name": server.name, "scope": server.scope.value, "file": server.file, "state": server.transport.value}


def _offer_line(row: dict[str, Any]) -> str:
    prompts = f", {len(row['prompts'])} prompts" if row["prompts"] else ""
    return f"{len(row['tools'])} tools{prompts}"


def _entry(
    target: tuple[str, ...], transport: str | None, env: dict[str, str], headers: dict[str, str]
) -> dict[str, Any]:
    is_address = target[0].startswith(("http://", "https://"))
    kind = transport or ("http" if is_address else "stdio")
    if kind == "stdio":
        if headers:
            raise UsageError("a stdio server takes no headers", hint="Give variables with --env")
        return {"command": target[0], "args": list(target[1:]), **({"env": env} if env else {})}
    if len(target) != 1 or not is_address:
        raise UsageError(f"a server over {kind!r} needs one address", hint="For example https://example.com/mcp")
    if env:
        raise UsageError("a server over HTTP takes no variables", hint="Give headers with --header")
    return {"type": kind, "url": target[0], **({"headers": headers} if headers else {})}


def _pairs(texts: tuple[str, ...], separator: str, option: str) -> dict[str, str]:
    pairs = [text.partition(separator) for text in texts]
    wrong = next((name for name, found, _ in pairs if not found or not name.strip()), None)
    if wrong is not None:
        raise UsageError(f"{option} {wrong!r} is no pair", hint=f"Write NAME{separator}VALUE")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _servers(scope: str, cwd: str) -> tuple[Path, dict[str, Any]]:
    """The file of a scope, and the servers in it."""
    path = Path(cwd, PROJECT_FILE) if scope == "project" else own_file(find_home(os.environ))
    top: Any = read_own(path)
    if scope == "local":
        top = top.get("projects", {}).get(cwd, {})
    found = top.get("mcpServers", {}) if isinstance(top, dict) else {}
    if not isinstance(found, dict):
        raise ConfigError("'mcpServers' is no JSON object", path=str(path))
    return path, found


def _store(path: Path, scope: str, cwd: str, servers: dict[str, Any]) -> None:
    whole = read_own(path)
    if scope == "local":
        projects = whole.get("projects", {})
        whole = {**whole, "projects": {**projects, cwd: {**projects.get(cwd, {}), "mcpServers": servers}}}
    else:
        whole = {**whole, "mcpServers": servers}
    write_own(path, json.loads(json.dumps(whole)))
