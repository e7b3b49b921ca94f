"""Where MCP servers are configured, and what a person approved of them.

Performs the reading, and writes only the product's own files; `.mcp.json` is written when a person asks for it by name. Which
entry counts is decided in `config/mcp_servers.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from compositor.adapters.files import FileProblem, read_file
from compositor.adapters.home import private_folder, write_private
from compositor.adapters.settings_files import SettingsPlaces
from compositor.config.mcp_servers import ServerEntry, parse_servers
from compositor.errors import ConfigError
from compositor.types.diagnostics import Diagnostic
from compositor.types.servers import ServerScope

LARGEST_FILE: Final = 16 * 1024 * 1024
PROJECT_FILE: Final = ".mcp.json"
_OWN_FILE: Final = "mcp.json"
_APPROVALS: Final = "mcp-approvals.json"


class ConfiguredServers(Struct, frozen=True, kw_only=True):
    """Every entry of every file that counts; a damaged file has a diagnostic instead."""

    entries: tuple[ServerEntry, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def load_servers(
    places: SettingsPlaces,
    home: Path,
    environ: Mapping[str, str],
    *,
    given: tuple[str, ...] = (),
    strict: bool = False,
    sources: tuple[str, ...] = ("user", "project", "local"),
) -> ConfiguredServers:
    """All entries. `given` are values of `--mcp-config` (files or inline JSON), with `strict` the only ones.

    A managed file is the only source where it exists, even an empty one. `sources` are the levels that are read. Raises
    `ConfigError` for a `given` file that cannot be read: a person named it.
    """
    managed = list(_managed(places))
    if managed:
        return _joined(managed)
    parts = [_given(value, places.cwd) for value in given]
    if not strict:
        parts += _files(places, home, environ, sources)
    return _joined(parts)


def own_file(home: Path) -> Path:
    """The product's own list of servers, for all projects and for single ones."""
    return home / _OWN_FILE


def read_own(path: Path) -> dict[str, Any]:
    """The JSON object in `path`, an empty one where there is no file. Raises `ConfigError` for a damaged one."""
    found = read_file(str(path), LARGEST_FILE)
    if isinstance(found, FileProblem):
        if found.is_missing:
            return {}
        raise ConfigError(found.message, path=str(path))
    try:
        value = json.loads(found.data)
    except ValueError as problem:
        raise ConfigError(f"The file is no JSON: {problem}", path=str(path)) from None
    if not isinstance(value, dict):
        raise ConfigError("The file holds no JSON object", path=str(path))
    return value


def write_own(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a list of servers. In the product's home it is private: entries may hold credentials."""
    data = json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
    if path.name == PROJECT_FILE:
        path.write_bytes(data)
        return
    private_folder(path.parent)
    write_private(path, data)


def read_approvals(home: Path, project: str) -> frozenset[str]:
    """Digests of the entries that a person approved for this project."""
    found = read_own(home / _APPROVALS).get(project)
    return frozenset(digest for digest in found if isinstance(digest, str)) if isinstance(found, list) else frozenset()


def add_approval(home: Path, project: str, digest: str) -> None:
    """Remember an approval: it is for this entry, in this project, and ends with the first change of either."""
    path = home / _APPROVALS
    known = read_own(path)
    write_own(path, {**known, project: sorted({*read_approvals(home, project), digest})})


def _managed(places: SettingsPlaces) -> Iterator[ConfiguredServers]:
    for directory in places.managed:
        found = _read(Path(directory) / "managed-mcp.json", ServerScope.MANAGED)
        if found is not None:
            yield found


def _files(
    places: SettingsPlaces, home: Path, environ: Mapping[str, str], sources: tuple[str, ...]
) -> Iterator[ConfiguredServers]:
    state = _state_file(environ)
    own = own_file(home)
    wanted: list[tuple[str, Path | None, ServerScope, str | None]] = [
        ("local", own, ServerScope.LOCAL, places.cwd),
        ("local", state, ServerScope.LOCAL, places.cwd),
        ("project", Path(places.root) / PROJECT_FILE, ServerScope.PROJECT, None),
        ("user", own, ServerScope.USER, None),
        ("user", state, ServerScope.USER, None),
    ]
    for level, path, scope, project in wanted:
        if level in sources and path is not None:
            found = _read(path, scope, project)
            if found is not None:
                yield found


def _state_file(environ: Mapping[str, str]) -> Path | None:
    """The global state file of the Claude Code family; read, never written."""
    folder = environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME")
    return Path(folder) / ".claude.json" if folder else None


def _read(path: Path, scope: ServerScope, project: str | None = None) -> ConfiguredServers | None:
    """The entries of a file, `None` where there is no file."""
    found = read_file(str(path), LARGEST_FILE)
    if isinstance(found, FileProblem):
        if found.is_missing:
            return None
        return ConfiguredServers(diagnostics=(Diagnostic("mcp.file", found.message, str(path), step="mcp.servers"),))
    entries, notes = parse_servers(found.data, scope=scope, file=str(path), project=project)
    return ConfiguredServers(entries=entries, diagnostics=notes)


def _given(value: str, cwd: str) -> ConfiguredServers:
    if value.lstrip().startswith("{"):
        entries, notes = parse_servers(value.encode(), scope=ServerScope.FLAG, file="--mcp-config")
        return ConfiguredServers(entries=entries, diagnostics=notes)
    path = Path(cwd) / Path(value).expanduser()
    found = _read(path, ServerScope.FLAG)
    if found is None:
        raise ConfigError("The file that '--mcp-config' names does not exist", path=str(path))
    return found


def _joined(parts: list[ConfiguredServers]) -> ConfiguredServers:
    return ConfiguredServers(
        entries=tuple(entry for part in parts for entry in part.entries),
        diagnostics=tuple(note for part in parts for note in part.diagnostics),
    )
