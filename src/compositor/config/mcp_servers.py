"""Which MCP servers a session uses: entries of all files, merged by name, expanded, approved (project-conventions 7.1).

Decides which entry of a name counts and whether its server may be started. Never opens a file and starts nothing. Servers of a
repository run programs on this machine, so they wait for an approval unless the folder is trusted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from msgspec import Struct

from compositor.errors import SettingsError
from compositor.types.diagnostics import Diagnostic
from compositor.types.servers import McpServer, ServerScope, ServerTransport

from .jsontext import parse_document
from .layer import Layer, Level
from .settings import Settings
from .trust import Trust

RESERVED: Final = frozenset({"workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"})
PRECEDENCE: Final = tuple(ServerScope)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_STEP = "mcp.servers"


class ServerEntry(Struct, frozen=True, kw_only=True):
    """One entry of one file, as it was written."""

    name: str
    scope: ServerScope
    file: str
    value: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """sha256 hex of the entry: an approval is for this and no other."""
        return hashlib.sha256(json.dumps([self.name, self.value], sort_keys=True).encode()).hexdigest()


class Refused(Struct, frozen=True, kw_only=True):
    """A configured server that is not used. `pending`: a person could approve it."""

    name: str
    scope: ServerScope
    file: str
    reason: str
    pending: bool = False
    digest: str = ""


class ServerChoice(Struct, frozen=True, kw_only=True):
    """The servers to start, sorted by name, and the others with the reason."""

    servers: tuple[McpServer, ...] = ()
    refused: tuple[Refused, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class Approvals(Struct, frozen=True, kw_only=True):
    """Who vouched for what: digests a person approved, and whether nobody is there to ask in a trusted folder."""

    digests: frozenset[str] = frozenset()
    trust: Trust = Trust.UNTRUSTED
    interactive: bool = False


def parse_servers(
    data: bytes, *, scope: ServerScope, file: str, project: str | None = None
) -> tuple[tuple[ServerEntry, ...], tuple[Diagnostic, ...]]:
    """The entries of a file: its `mcpServers`, or with `project` those under `projects[project]`. A file that is no JSON has none."""
    try:
        top: Any = parse_document(data, file).value
    except SettingsError as problem:
        return (), (_note("mcp.file", f"The MCP servers of this file are not used: {problem.message}", file),)
    if project is not None:
        top = _mapping(_mapping(top).get("projects")).get(project)
    servers = _mapping(_mapping(top).get("mcpServers"))
    found, notes = [], []
    for name, value in servers.items():
        if isinstance(value, Mapping):
            found.append(ServerEntry(name=name, scope=scope, file=file, value=value))
        else:
            notes.append(_note("mcp.entry", f"The MCP server {name!r} is no JSON object", file))
    return tuple(found), tuple(notes)


def choose_servers(
    entries: Iterable[ServerEntry], settings: Settings, variables: Mapping[str, str], approvals: Approvals
) -> ServerChoice:
    """The winning entry of each name, expanded and approved. `variables` fill `${NAME}` in what an entry says."""
    servers: list[McpServer] = []
    refused: list[Refused] = []
    notes: list[Diagnostic] = []
    for entry in _winners(entries):
        server = _server(entry, variables, notes)
        if isinstance(server, str):
            refused.append(_refusal(entry, server))
            continue
        objection = _objection(server, settings) or _rejection(entry, settings)
        if objection is not None:
            refused.append(_refusal(entry, objection))
        elif _is_approved(entry, settings, approvals):
            servers.append(server)
        else:
            refused.append(_refusal(entry, "it comes with the repository and nobody approved it", pending=True))
    return ServerChoice(servers=tuple(servers), refused=tuple(refused), diagnostics=tuple(notes))


def expand(text: str, variables: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """`${VAR}` and `${VAR:-default}` replaced; the names that are not set and have no default stay as they stand."""
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        name: str = match[1]
        default: str | None = match[2]
        found = variables.get(name, default)
        if found is None:
            missing.append(name)
            return match[0]
        return found

    return _VARIABLE.sub(value, text), tuple(missing)


def _winners(entries: Iterable[ServerEntry]) -> list[ServerEntry]:
    """Whole entries, never field by field; sorted by name."""
    best: dict[str, ServerEntry] = {}
    for entry in sorted(entries, key=lambda entry: PRECEDENCE.index(entry.scope)):
        best.setdefault(entry.name, entry)
    return [best[name] for name in sorted(best)]


def _server(entry: ServerEntry, variables: Mapping[str, str], notes: list[Diagnostic]) -> McpServer | str:
    """The entry as a server, or why it is none."""
    value = entry.value
    if entry.name in RESERVED:
        return "its name is reserved"
    kind = value.get("type", "stdio" if "command" in value else None)
    if kind is None and "url" in value:
        return "it has a url without a type; say http or sse"
    if kind not in tuple(ServerTransport):
        return f"its type {kind!r} is not one of stdio, http, sse"
    transport = ServerTransport(kind)
    if transport is ServerTransport.PROGRAM and entry.scope is not ServerScope.FLAG:
        return "a server of the type 'sdk' lives in the program that starts a run, which alone can name it"
    needed = {ServerTransport.STDIO: "command", ServerTransport.PROGRAM: "type"}.get(transport, "url")
    if not isinstance(value.get(needed), str) or not value[needed]:
        return f"a server of the type {kind!r} needs a {needed!r}"
    missing: list[str] = []

    def text(raw: object) -> str:
        expanded, unset = expand(str(raw), variables)
        missing.extend(unset)
        return expanded

    timeout = value.get("timeout")
    args = value.get("args")
    server = McpServer(
        name=entry.name,
        scope=entry.scope,
        file=entry.file,
        transport=transport,
        command=text(value.get("command", "")),
        args=tuple(text(word) for word in (args if isinstance(args, list) else ())),
        env={str(name): text(raw) for name, raw in _mapping(value.get("env")).items()},
        url=text(value.get("url", "")),
        headers={str(name): text(raw) for name, raw in _mapping(value.get("headers")).items()},
        headers_helper=text(value.get("headersHelper") or ""),
        timeout=timeout / 1000 if isinstance(timeout, (int, float)) and timeout > 0 else None,
        always_load=value.get("alwaysLoad") is True,
        digest=entry.digest,
    )
    for name in dict.fromkeys(missing):
        message = f"The MCP server {entry.name!r} names the variable {name!r}, which is not set"
        notes.append(_note("mcp.variable", message, entry.file))
    return server


def _objection(server: McpServer, settings: Settings) -> str | None:
    """What the lists of allowed and denied servers say. A denial of any level counts."""
    for layer, row in _rows(settings, "deniedMcpServers"):
        if _fits(server, row):
            return f"it is denied by {layer.file}"
    managed_only = settings.values.get("allowManagedMcpServersOnly") is True
    allowed = [
        row for layer, row in _rows(settings, "allowedMcpServers") if layer.level is Level.MANAGED or not managed_only
    ]
    if (allowed or _is_set(settings, "allowedMcpServers")) and not any(_fits(server, row) for row in allowed):
        return "it is not among the allowed MCP servers"
    return None


def _rows(settings: Settings, key: str) -> Iterator[tuple[Layer, Mapping[str, Any]]]:
    for layer in settings.layers:
        for row in layer.values.get(key, ()):
            if isinstance(row, Mapping):
                yield layer, row


def _is_set(settings: Settings, key: str) -> bool:
    return any(key in layer.values for layer in settings.layers)


def _fits(server: McpServer, row: Mapping[str, Any]) -> bool:
    if "serverCommand" in row:
        return list(row["serverCommand"]) == [server.command, *server.args]
    if "serverUrl" in row:
        return bool(server.url) and fnmatchcase(server.url, str(row["serverUrl"]))
    return row.get("serverName") == server.name


def _rejection(entry: ServerEntry, settings: Settings) -> str | None:
    """A rejection of a repository's server wins, whichever file it stands in."""
    if entry.scope is not ServerScope.PROJECT:
        return None
    for layer in settings.layers:
        if entry.name in layer.values.get("disabledMcpjsonServers", ()):
            return f"it is rejected by {layer.file}"
    return None


def _is_approved(entry: ServerEntry, settings: Settings, approvals: Approvals) -> bool:
    """Only a repository's servers need an approval; where nobody can be asked, trust in the folder is enough."""
    if entry.scope is not ServerScope.PROJECT or entry.digest in approvals.digests:
        return True
    if approvals.trust is Trust.TRUSTED and not approvals.interactive:
        return True
    return _is_enabled(entry.name, settings, approvals.trust)


def _is_enabled(name: str, settings: Settings, trust: Trust) -> bool:
    """An approval that came with the repository counts only in a trusted folder."""
    layers = [layer for layer in settings.layers if trust is Trust.TRUSTED or not layer.shared]
    return any(
        layer.values.get("enableAllProjectMcpServers") is True or name in layer.values.get("enabledMcpjsonServers", ())
        for layer in layers
    )


def _refusal(entry: ServerEntry, reason: str, *, pending: bool = False) -> Refused:
    return Refused(
        name=entry.name, scope=entry.scope, file=entry.file, reason=reason, pending=pending, digest=entry.digest
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _note(code: str, message: str, where: str) -> Diagnostic:
    return Diagnostic(code, message, where=where, step=_STEP)
