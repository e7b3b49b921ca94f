"""The language servers of a session, from the setting `compositor.languageServers`.

Decides which entry is one. Only settings of a person or an organization name them (`keys.py`): an entry starts a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compositor.types.diagnostics import Diagnostic
from compositor.types.json import raw_json
from compositor.types.languages import LanguageServer

KEY = "compositor.languageServers"


def choose_language_servers(entries: Mapping[str, Any]) -> tuple[tuple[LanguageServer, ...], tuple[Diagnostic, ...]]:
    """The servers by name; an entry that is none costs only itself."""
    found: list[LanguageServer] = []
    notes: list[Diagnostic] = []
    for name, entry in sorted(entries.items()):
        server = _server(name, entry)
        if isinstance(server, LanguageServer):
            found.append(server)
        else:
            message = f"The language server {name!r} is not used: {server}"
            notes.append(Diagnostic("lsp.entry", message, where=KEY, step="settings"))
    return tuple(found), tuple(notes)


def _server(name: str, entry: Mapping[str, Any]) -> LanguageServer | str:
    """The server, or why the entry is none."""
    command, args = entry.get("command"), entry.get("args", [])
    languages, env = entry.get("extensionToLanguage"), entry.get("env", {})
    if not isinstance(command, str) or not command:
        return "it has no 'command'"
    if not _is_texts(languages) or not languages or not all(ending.startswith(".") for ending in languages):
        return "its 'extensionToLanguage' is no object from endings such as '.py' to language ids"
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        return "its 'args' are no list of strings"
    if not _is_texts(env):
        return "its 'env' is no object of strings"
    timeout = entry.get("startupTimeout", 30_000)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0:
        return "its 'startupTimeout' is no number of milliseconds"
    return LanguageServer(
        name=name,
        command=command,
        args=tuple(args),
        env=env,
        languages={ending.lower(): language for ending, language in languages.items()},
        options=raw_json(entry.get("initializationOptions") or {}),
        seconds=timeout / 1000,
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
