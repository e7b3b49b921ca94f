"""The half of `compositor doctor` that looks at a project: instruction files, rules, hooks, servers, and recorded sessions.

Decides where it looks. Starts no server and runs no hook; reads transcripts of this project only.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from compositor.adapters.home import find_home, project_key
from compositor.errors import CompositorError
from compositor.insight.hazards import Hazard

# Findings of the memory report that are worth a visit, and their cure.
MEMORY_CURES: dict[str, str] = {
    "large": "move what concerns some files only into .claude/rules with `paths`, so that it is loaded when they are reached",
    "cut": "shorten it: only its beginning is loaded",
    "never matches": "mend the globs of `paths`, or remove the rule; `compositor memory` shows what it looked at",
    "duplicated": "keep one of the two",
    "contradiction": "make the two agree: both are sent, and which the model follows is not known",
    "broken": "mend it as the finding says",
    "circular": "take one of the imports out",
    "refused": "move the file into the project, or approve the import with `compositor memory`",
}


def project_hazards(cwd: str) -> Iterator[Hazard]:
    """Everything that could be better in this project, with its cure. Never raises: what cannot be looked at is a hazard itself."""
    for look in (_memory, _rules, _hooks, _recorded):
        try:
            yield from look(cwd)
        except CompositorError as problem:
            yield Hazard(what=look.__name__.strip("_"), detail=str(problem), cure="mend it first, then look again")


def _memory(cwd: str) -> Iterator[Hazard]:
    from compositor.adapters.memory_report import MemoryDesk
    from compositor.config.flags import Flags

    for found in MemoryDesk.open(cwd, Flags(), os.environ).report().findings:
        if found.kind in MEMORY_CURES:
            yield Hazard(
                what=f"memory: {found.kind}", detail=f"{found.path}: {found.detail}", cure=MEMORY_CURES[found.kind]
            )


def _rules(cwd: str) -> Iterator[Hazard]:
    from compositor.config.flags import Flags
    from compositor.opened import Opening, open_session

    opened = open_session(Opening(flags=Flags(), project=cwd, environ=dict(os.environ)))
    for note in opened.diagnostics:
        if note.code.startswith("permission."):
            cure = note.hint or "`compositor permissions test` shows what a rule matches"
            yield Hazard(what="rule", detail=f"{note.message} ({note.where})", cure=cure)


def _hooks(cwd: str) -> Iterator[Hazard]:
    from compositor.adapters.settings_files import find_places, load_settings
    from compositor.policy.hooks import plan_hooks

    plan = plan_hooks(load_settings(find_places(cwd, os.environ)))
    for note in plan.diagnostics:
        yield Hazard(what="hook", detail=f"{note.message} ({note.where})", cure=note.hint or "mend its entry")
    for hook in plan.hooks:
        missing = _missing_program(hook.command, cwd)
        if missing:
            detail = f"{hook.event}: {missing!r} is not there ({hook.file})"
            cure = f"install it or mend the command; `compositor hooks test {hook.event}` tries it"
            yield Hazard(what="hook", detail=detail, cure=cure)


def _missing_program(command: str, cwd: str) -> str:
    """The program that a plain command line begins with, when it can be told that it is not there."""
    try:
        first = next(
            iter(shlex.split(command.replace("$CLAUDE_PROJECT_DIR", cwd).replace("${CLAUDE_PROJECT_DIR}", cwd))), ""
        )
    except ValueError:
        return ""
    if not first or re.search(r"[$`=;&|<>(){}*?~]", first) or first in _BUILT_IN:
        return ""
    found = (Path(cwd) / first).exists() if "/" in first else shutil.which(first) is not None
    return "" if found else first


def _recorded(cwd: str) -> Iterator[Hazard]:
    from compositor.adapters.mcp.files import load_servers
    from compositor.adapters.replay.reading import find_transcripts, replay_files
    from compositor.adapters.settings_files import find_places, load_settings
    from compositor.insight.hazards import find_hazards

    home, places = find_home(os.environ), find_places(cwd, os.environ)
    config = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"
    folders = (config / re.sub(r"[^a-zA-Z0-9]", "-", cwd), home / "sessions" / project_key(cwd))
    files = find_transcripts([str(folder) for folder in folders if folder.is_dir()])
    said = load_settings(places).compositor.prices
    sessions = [one.session for one in replay_files(files, home=None, said=said) if one.session is not None]
    servers = {entry.name for entry in load_servers(places, home, os.environ).entries}
    yield from find_hazards(sessions, servers, _weights(home, folders[1], servers))


def _weights(home: Path, sessions: Path, servers: set[str]) -> dict[str, int]:
    """Tokens that the tools of each server take in a request, as the newest session of the project sent them; deferred ones take a line."""
    from compositor.adapters.sessions.heads import HeadStore
    from compositor.adapters.sessions.reading import read_transcript
    from compositor.context.tokens import estimate_tokens
    from compositor.context.wire.canonical import encode_tool

    newest = max(sessions.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, default=None)
    sends = () if newest is None else read_transcript(newest).journal.sends
    head = HeadStore(home).get(sends[-1].record.head_digest) if sends else None
    weights: dict[str, int] = {}
    for tool in () if head is None else head.tools:
        server = next((name for name in servers if tool.definition.name.startswith(f"mcp__{name}__")), None)
        if server is not None and not tool.definition.deferred:
            weights[server] = weights.get(server, 0) + estimate_tokens(encode_tool(tool.definition))
    return weights


_BUILT_IN = frozenset(
    "cd echo printf test true false exit set export if for while case [ [[ . source eval exec".split()
)
