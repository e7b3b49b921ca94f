"""Looks up what the mentions of a prompt mean, and hands it over: files, lines of files, folders, patterns, pictures, pages, resources, agents.

Performs the reading, with the tools that read for the model: the same limits and the same table of files seen hold. A rule that denies reading
holds here too (F23), and what was asked for and is not there is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import msgspec
from anyio import to_thread
from msgspec import Struct

from compositor.adapters.tools.glob import GlobTool
from compositor.adapters.tools.read import ReadTool
from compositor.adapters.tools.search import find_ripgrep
from compositor.context.attachments.expansion import LISTING_CHARACTERS, MENTION_CHARACTERS
from compositor.context.attachments.mentions import Mention, Reading, find_mentions
from compositor.context.freshness.file_table import FileTable
from compositor.ports import ToolScope
from compositor.types.attachments import (
    Attachment,
    FileAttachment,
    ListingAttachment,
    MediaAttachment,
    TextAttachment,
)
from compositor.types.blocks import ResultContent
from compositor.types.collected import Collected, Moment, Occasion
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.json import raw_json
from compositor.types.servers import ServerResource
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

ALL_CHARACTERS = 2 * MENTION_CHARACTERS
"""Characters of everything that one prompt mentions."""

_PATTERN = frozenset("*?[")


class Resources(Protocol):
    """The servers, as far as resources go."""

    async def resources(self, server: str | None = None) -> tuple[ServerResource, ...]: ...

    async def read(self, server: str, uri: str, folder: str) -> str | tuple[ResultContent, ...]: ...


class Ways(Struct, frozen=True, kw_only=True):
    """What a mention can lead to. `agents` gives the names of agents that can be started, `servers` the MCP servers with their names."""

    table: FileTable
    scope: Callable[[], ToolScope]
    may_read: Callable[[str], bool]
    agents: Callable[[], Iterable[str]] = tuple
    servers: Resources | None = None
    server_names: Callable[[], Iterable[str]] = tuple


class _Held(Struct, frozen=True):
    """A mention of something that must not be read."""

    path: str


class MentionCollector:
    def __init__(self, ways: Ways) -> None:
        self._ways = ways

    async def collect(self, moment: Moment) -> Collected:
        """What the mentions of a submission mean; nothing after a batch."""
        if moment.occasion is not Occasion.SUBMISSION:
            return Collected()
        seen = FileTable()
        notes: list[Attachment] = []
        remarks: list[Diagnostic] = []
        left = ALL_CHARACTERS
        for mention in find_mentions(moment.prompt):
            found = await self._resolve(mention, seen)
            if isinstance(found, _Held):
                remarks.append(_held_back(found.path, mention))
                found = _problem(mention, "a rule denies reading it")
            if found is None:
                if mention.is_quoted:
                    found = _problem(mention, "nothing of that name is there")
                remarks += _not_found(mention)
            if found is None:
                continue
            size = len(msgspec.json.encode(found)) if not isinstance(found, MediaAttachment) else 0
            if size > left:
                found = _problem(mention, "what the prompt mentions is too long as a whole; read it")
            left -= min(size, left)
            notes.append(found)
        views = seen.views()
        return Collected(
            attachments=tuple(notes), diagnostics=tuple(remarks), taken=lambda: self._ways.table.seed(views)
        )

    async def _resolve(self, mention: Mention, seen: FileTable) -> Attachment | _Held | None:
        """The first reading that means something."""
        agent = self._agent(mention)
        if agent is not None:
            return agent
        for reading in mention.readings:
            found = await self._resource(reading, mention) or await self._path(reading, mention, seen)
            if found is not None:
                return found
        return None

    def _agent(self, mention: Mention) -> TextAttachment | None:
        names = set(self._ways.agents())
        for reading in mention.readings:
            name = reading.name.removesuffix(" (agent)").removeprefix("agent-")
            if name in names and (name != reading.name or not self._exists(name)):
                text = f"The prompt names the agent {name!r}: have it do this, with the Agent tool."
                return TextAttachment(kind="agent_mention", name=name, text=text)
        return None

    def _exists(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self._ways.scope().cwd, name))  # noqa: PTH118  the name may be absolute

    async def _resource(self, reading: Reading, mention: Mention) -> Attachment | None:
        server, colon, uri = reading.name.partition(":")
        servers = self._ways.servers
        if servers is None or not colon or not uri or server not in set(self._ways.server_names()):
            return None
        content = await servers.read(server, uri, self._ways.scope().output_dir)
        if isinstance(content, str):
            return FileAttachment(
                kind="mcp_resource",
                path=f"{server}:{uri}",
                text=content[:MENTION_CHARACTERS],
                total=content.count("\n") + 1,
                named=mention.typed,
            )
        return MediaAttachment(
            kind="mcp_resource", path=f"{server}:{uri}", content=_blocks(content), named=mention.typed
        )

    async def _path(self, reading: Reading, mention: Mention, seen: FileTable) -> Attachment | _Held | None:
        scope = self._ways.scope()
        tool = ReadTool(seen)
        given: dict[str, object] = {"file_path": reading.name}
        if reading.first:
            given |= {"offset": reading.first, "limit": reading.last - reading.first + 1}
        call = ToolCall(id="mention", name="Read", input=raw_json(given))
        touched = tool.paths(call, scope)
        if not touched:
            return None
        if not all(map(self._ways.may_read, touched)):
            return _Held(touched[0]) if await to_thread.run_sync(os.path.exists, touched[-1]) else None
        if await to_thread.run_sync(os.path.isdir, touched[-1]):
            return await to_thread.run_sync(_folder, touched[0], mention, self._ways.may_read)
        if not await to_thread.run_sync(os.path.exists, touched[-1]):
            return await self._pattern(reading, mention, scope) if _PATTERN & set(reading.name) else None
        return _as_attachment(await tool.run(call, scope), touched[0], mention)

    async def _pattern(self, reading: Reading, mention: Mention, scope: ToolScope) -> Attachment | None:
        tool = GlobTool(self._ways.may_read, find_ripgrep)
        call = ToolCall(id="mention", name="Glob", input=raw_json({"pattern": reading.name}))
        outcome = await tool.run(call, scope)
        names = _fields(outcome).get("filenames", [])
        if outcome.kind is not OutcomeKind.DONE or not names:
            return None
        return _names(reading.name, sorted(names), mention)


def _as_attachment(outcome: ToolOutcome, path: str, mention: Mention) -> Attachment:
    if outcome.kind is not OutcomeKind.DONE:
        return _problem(mention, str(outcome.content))
    if not isinstance(outcome.content, str):
        return MediaAttachment(kind="file", path=path, content=_blocks(outcome.content), named=mention.typed)
    shown = _fields(outcome).get("file", {})
    text = shown.get("content")
    if not isinstance(text, str) or not shown.get("totalLines"):
        return TextAttachment(kind="file", path=path, text=f"The prompt names {mention.typed}:\n{outcome.content}")
    return FileAttachment(
        kind="file", path=path, text=text, first=shown["startLine"], total=shown["totalLines"], named=mention.typed
    )


def _blocks(content: Iterable[ResultContent]) -> tuple[Any, ...]:
    return tuple(content)


def _fields(outcome: ToolOutcome) -> dict[str, Any]:
    found = None if outcome.structured is None else msgspec.json.decode(outcome.structured)
    return found if isinstance(found, dict) else {}


def _folder(path: str, mention: Mention, may_read: Callable[[str], bool]) -> Attachment:
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        return _problem(mention, error.strerror or str(error))
    names = [entry.name + ("/" if entry.is_dir() else "") for entry in entries if may_read(str(Path(path, entry.name)))]
    return _names(path, names, mention)


def _names(place: str, names: list[str], mention: Mention) -> ListingAttachment:
    kept: list[str] = []
    size = 0
    for name in names:
        size += len(name) + 1
        if size > LISTING_CHARACTERS:
            break
        kept.append(name)
    return ListingAttachment(kind="directory", path=place, names=tuple(kept), total=len(names), named=mention.typed)


def _problem(mention: Mention, reason: str) -> TextAttachment:
    return TextAttachment(
        kind="mention_problem", text=f"The prompt names {mention.typed}, which is not here: {reason}."
    )


def _not_found(mention: Mention) -> tuple[Diagnostic, ...]:
    """A bare word that looks like no path stays plain text, and nothing is said of it."""
    name = mention.readings[0].name
    if not mention.is_quoted and "/" not in name and "." not in name:
        return ()
    message = f"{mention.typed} names nothing that is there; it stays plain text"
    return (Diagnostic("mention.missing", message, severity=Severity.INFO, step="collect"),)


def _held_back(path: str, mention: Mention) -> Diagnostic:
    message = f"{mention.typed} was held back: a rule denies reading it"
    return Diagnostic("mention.held_back", message, where=path, step="collect")
