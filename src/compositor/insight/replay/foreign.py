"""A transcript of the Claude Code family, line by line, as the requests it was made of.

Decides which request each answer belongs to and which earlier prompt its own begins with, along the parent links (project-conventions
10.3): so a subagent, a rewind or a second terminal is never taken for the request before. Holds one small value for each record, never
their texts.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

import msgspec

from compositor.types.usage import Usage

from .records import ABSENT, Block, Line, Message, Reported, blocks_of, object_of, read_line, weigh, weight
from .rows import Cause, Event, Request, Session
from .scale import Scale


class _Group:
    """Records that go out together: an answer with the results of its calls, or one record of another kind.

    `tokens` and `blocks` count everything up to its end; `request` is the newest request at or before it.
    """

    __slots__ = ("answer", "blocks", "request", "tokens")

    def __init__(self, tokens: int, blocks: int, request: int, *, answer: bool) -> None:
        self.tokens = tokens
        self.blocks = blocks
        self.request = request
        self.answer = answer


_ROOT = _Group(0, 0, -1, answer=False)


class _Lane:
    """What was seen in one conversation since its last request."""

    __slots__ = ("events", "last", "seen", "time")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.last = -1
        self.time: float | None = None
        self.seen: tuple[str | None, ...] = (None, None, None)


class ForeignReplay:
    """Feed it lines with `add`; `finish` gives the session."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._answers: dict[str, int] = {}
        self._answer_groups: dict[str, _Group] = {}
        self._calls: dict[str, str] = {}
        self._requests: list[Request] = []
        self._lanes: dict[str, _Lane] = {}
        self._sources: dict[str, int] = {}
        self._scale = Scale()
        self._number = 0
        self._size = 0
        self._damaged = 0
        self._session = ""
        self._project = ""

    def add(self, data: bytes) -> None:
        """Take one line of the file, with its line break."""
        self._number += 1
        self._size += len(data)
        line = read_line(data)
        if line is None:
            self._damaged += 1
            return
        self._session = self._session or line.session_id or ""
        self._project = self._project or line.cwd or ""
        if line.uuid and line.uuid not in self._groups:
            self._chain(line, line.uuid)

    def finish(self, path: str) -> Session:
        """The session; breaks are found by `breaks.py`."""
        return Session(
            path=path,
            session_id=self._session,
            project=self._project,
            format="foreign",
            lines=self._number,
            size=self._size,
            requests=tuple(self._requests),
            sources=self._sources,
            damaged=self._damaged,
        )

    def _chain(self, line: Line, uuid: str) -> None:
        parent = self._groups.get(line.parent_uuid or "", _ROOT)
        lane = self._lane(line)
        self._notice(line, lane)
        match line.type:
            case "assistant" if line.message is not None and not line.is_api_error_message:
                self._groups[uuid] = self._answer(line, line.message, parent, lane)
            case "user" if line.message is not None:
                self._groups[uuid] = self._spoken(line, line.message, parent)
            case "attachment":
                self._groups[uuid] = self._attached(line, parent, lane)
            case _:
                self._groups[uuid] = parent
        if line.type in {"user", "attachment"}:
            time = seconds(line.timestamp)
            lane.time = lane.time if time is None else time

    def _lane(self, line: Line) -> _Lane:
        name = line.agent_id or ("sidechain" if line.is_sidechain else "")
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = _Lane()
        return lane

    def _notice(self, line: Line, lane: _Lane) -> None:
        if line.subtype == "compact_boundary":
            details = object_of(line.compact_metadata)
            trigger, before = details.get("trigger", "?"), details.get("preTokens", "?")
            lane.events.append(Event(Cause.COMPACTION, f"compact boundary ({trigger}, {before} tokens before it)"))
        elif line.subtype == "microcompact_boundary":
            saved = object_of(line.microcompact_metadata).get("tokensSaved", "?")
            lane.events.append(Event(Cause.CLEARING, f"older tool results were cleared ({saved} tokens)"))
        seen = (line.version, line.session_id, line.cwd)
        if seen != lane.seen:
            self._moved(seen, lane)

    def _moved(self, seen: tuple[str | None, ...], lane: _Lane) -> None:
        """The client, the session or the directory is another one than before."""
        for at, (value, before) in enumerate(zip(seen, lane.seen, strict=True)):
            if value and before and value != before:
                cause, what = _CHANGED[at]
                lane.events.append(Event(cause, f"the {what} changed from {before} to {value}"))
        lane.seen = tuple(value or before for value, before in zip(seen, lane.seen, strict=True))

    def _spoken(self, line: Line, message: Message, parent: _Group) -> _Group:
        blocks = blocks_of(message)
        tokens = sum(self._count(block, line) for block in blocks)
        if parent.answer and any(block.type == "tool_result" for block in blocks):
            parent.tokens += tokens
            parent.blocks += len(blocks)
            return parent
        return _Group(parent.tokens + tokens, parent.blocks + len(blocks), parent.request, answer=False)

    def _attached(self, line: Line, parent: _Group, lane: _Lane) -> _Group:
        data = bytes(line.attachment)
        kind = str(object_of(line.attachment).get("type", "?")) if len(data) < _SMALL else "file"
        if b'"SessionStart:resume"' in data:
            lane.events.append(Event(Cause.RESUME, "the session was resumed (its start hook says so)"))
        tokens = 0 if kind in _NOT_SENT else weight(data)
        self._add(f"attachment {kind}", tokens)
        return _Group(parent.tokens + tokens, parent.blocks + bool(tokens), parent.request, answer=False)

    def _answer(self, line: Line, message: Message, parent: _Group, lane: _Lane) -> _Group:
        name = message.id or line.uuid or ""
        blocks = blocks_of(message)
        tokens = sum(self._count(block, line) for block in blocks)
        group = self._answer_groups.get(name)
        if group is None:
            position = self._request(line, message, parent, lane, name)
            group = _Group(parent.tokens, parent.blocks, position, answer=True)
            self._answer_groups[name] = group
        else:
            self._again(group.request, message.usage)
        group.tokens += tokens
        group.blocks += len(blocks)
        return group

    def _request(self, line: Line, message: Message, parent: _Group, lane: _Lane, name: str) -> int:
        """A new row; its position."""
        if message.model == "<synthetic>" or (message.usage is None and not message.model):
            return parent.request
        position = len(self._requests)
        begun = lane.time if lane.time is not None else seconds(line.timestamp)
        before = self._requests[lane.last].time if lane.last >= 0 else None
        usages = _usages(message.usage)
        follows = parent.request
        self._requests.append(
            Request(
                line=self._number,
                key=int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=7).digest()),
                time=begun,
                lane=line.agent_id or ("sidechain" if line.is_sidechain else ""),
                model=message.model or "?",
                effort="" if line.effort is ABSENT else bytes(line.effort).decode("utf-8", "replace").strip('"'),
                **usages,
                follows=follows,
                previous=lane.last,
                messages=parent.tokens,
                estimated=self._scale.estimate(follows, position, parent.tokens, message.model or "?"),
                blocks=parent.blocks,
                idle=None if begun is None or before is None else max(begun - before, 0.0),
                events=(*lane.events, *_service_events(message)),
            )
        )
        opening = usages["first"] or usages["usage"]
        if opening is not None:
            self._scale.learn(position, parent.tokens, opening.total_input, message.model or "?")
        lane.events.clear()
        lane.last = position
        return position

    def _again(self, position: int, usage: Reported | None) -> None:
        """A later record of the same answer: its counts are the fuller ones."""
        if usage is None or not 0 <= position < len(self._requests):
            return
        row = self._requests[position]
        if row.usage is None or usage.output_tokens > row.usage.output_tokens:
            self._requests[position] = msgspec.structs.replace(row, **_usages(usage))

    def _count(self, block: Block, line: Line) -> int:
        if block.type == "tool_use":
            self._calls[block.id] = block.name
        total = 0
        for source, tokens in weigh(block):
            named = source
            if source == "result":
                named = f"result of {self._calls.pop(block.tool_use_id, '?')}"
            elif source == "text":
                named = f"{line.type} text"
            self._add(named, tokens)
            total += tokens
        return total

    def _add(self, source: str, tokens: int) -> None:
        self._sources[source] = self._sources.get(source, 0) + tokens


def _usages(reported: Reported | None) -> dict[str, Usage | None]:
    if reported is None:
        return {"usage": None, "first": None, "last": None}
    rounds = [one for one in reported.iterations if one.total_input] if reported.iterations else []
    several = len(rounds) > 1
    usage = Usage(
        input_tokens=reported.input_tokens,
        output_tokens=reported.output_tokens,
        cache_creation_input_tokens=reported.cache_creation_input_tokens,
        cache_read_input_tokens=reported.cache_read_input_tokens,
        cache_creation=reported.cache_creation,
    )
    return {"usage": usage, "first": rounds[0] if several else None, "last": rounds[-1] if several else None}


def seconds(time: str | None) -> float | None:
    """An ISO 8601 time as seconds since 1970; `None` for anything else."""
    try:
        return datetime.fromisoformat(time).timestamp() if time else None
    except ValueError:
        return None


def _service_events(message: Message) -> tuple[Event, ...]:
    """What the service itself said about the cache (wire page 4.8) and about what it cleared (5)."""
    if message.diagnostics is ABSENT and message.context_management is ABSENT:
        return ()
    found: list[Event] = []
    reason = object_of(message.diagnostics).get("cache_miss_reason")
    kind = reason.get("type") if isinstance(reason, dict) else None
    if kind in _REASONS:
        found.append(Event(_REASONS[kind], f"the service's own diagnosis: {kind}"))
    edits = object_of(message.context_management).get("applied_edits")
    if isinstance(edits, list) and edits:
        names = ", ".join(str(edit.get("type", "?")) for edit in edits if isinstance(edit, dict))
        found.append(Event(Cause.CLEARING, f"the service cleared content ({names})"))
    return tuple(found)


_REASONS = {
    "model_changed": Cause.MODEL_SWITCH,
    "system_changed": Cause.SYSTEM,
    "tools_changed": Cause.TOOLS,
    "messages_changed": Cause.HISTORY,
}
_CHANGED = (
    (Cause.RESUME, "client's version"),
    (Cause.RESUME, "session id"),
    (Cause.SYSTEM, "working directory"),
)
_SMALL = 1_000_000
_NOT_SENT = frozenset({"hook_success", "hook_system_message", "command_permissions", "goal_status"})
