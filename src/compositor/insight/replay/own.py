"""A transcript of our own as the requests it was made of: the journal says what was sent and how it went.

Decides nothing about breaks; the events that the journal names (R424) become their evidence.
"""

from __future__ import annotations

import hashlib

from compositor.context.attachments.render import attachment_text
from compositor.context.cache.attribution import Verdict
from compositor.context.transcript.codec import Damaged, SessionHeader, decode_line
from compositor.types.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, UserEntry
from compositor.types.journal import OutcomeRecord, SendOutcome, SendRecord
from compositor.types.json import raw_json
from compositor.types.snapshot import EventName, PrefixEvent

from .foreign import seconds
from .records import weight
from .rows import Cause, Event, Request, Session


class OwnReplay:
    """Feed it lines with `add`; `finish` gives the session."""

    def __init__(self) -> None:
        self._header: SessionHeader | None = None
        self._pending: dict[str, tuple[int, SendRecord]] = {}
        self._requests: list[Request] = []
        self._heads: list[str] = []
        self._events: list[Event] = []
        self._sources: dict[str, int] = {}
        self._calls: dict[str, str] = {}
        self._number = self._size = self._damaged = self._messages = self._blocks = 0

    def add(self, data: bytes) -> None:
        """Take one line of the file, with its line break."""
        self._number += 1
        self._size += len(data)
        match decode_line(data, line=self._number):
            case Damaged():
                self._damaged += 1
            case SessionHeader() as header:
                self._header = self._header or header
            case SendRecord() as send:
                self._pending[send.request_id] = (self._number, send)
            case OutcomeRecord(outcome=SendOutcome.ANSWERED) as outcome:
                self._answered(outcome)
            case PrefixEvent() as event:
                self._events.append(_named(event))
            case UserEntry() | AssistantEntry() | AttachmentEntry() as entry:
                self._spoken(entry)
            case _:
                pass

    def finish(self, path: str) -> Session:
        """The session; breaks are found by `breaks.py`."""
        header = self._header
        return Session(
            path=path,
            session_id="" if header is None else header.session_id,
            project="" if header is None else header.cwd,
            format="own",
            lines=self._number,
            size=self._size,
            requests=tuple(self._requests),
            sources=dict(self._sources),
            damaged=self._damaged,
        )

    def _answered(self, outcome: OutcomeRecord) -> None:
        line, send = self._pending.pop(outcome.request_id, (0, None))
        if send is None:
            return
        position, time = len(self._requests), seconds(send.time)
        before = self._requests[-1] if self._requests else None
        # An event stands on a line of its own and in the request that it moved.
        events = list(dict.fromkeys([*self._events, *map(_named, send.events)]))
        if self._heads and self._heads[-1] != send.head_digest and not events:
            events.append(Event(Cause.SYSTEM, "the compiled head (tools, system prompt, user context) is another one"))
        if outcome.verdict == Verdict.PREFIX_CHANGED.value and not events:
            events.append(Event(Cause.HISTORY, f"the journal's own verdict: {outcome.cause}"))
        self._events.clear()
        self._heads.append(send.head_digest)
        effort = send.options.output_config
        self._requests.append(
            Request(
                line=line,
                key=int.from_bytes(hashlib.blake2b(send.request_id.encode(), digest_size=7).digest()),
                time=time,
                lane="",
                model=send.options.model,
                effort="" if effort is None else bytes(effort).decode("utf-8", "replace"),
                usage=outcome.usage,
                follows=position - 1,
                previous=position - 1,
                messages=self._messages,
                estimated=round(send.size * _TOKENS_A_BYTE),
                blocks=self._blocks,
                idle=None if before is None or time is None or before.time is None else max(time - before.time, 0.0),
                events=tuple(events),
            )
        )

    def _spoken(self, entry: UserEntry | AssistantEntry | AttachmentEntry) -> None:
        if isinstance(entry, AttachmentEntry):
            text = attachment_text(entry.attachment)
            self._count(f"attachment {entry.attachment.kind}", weight(text.encode("utf-8", "replace")))
            return
        role = "user" if isinstance(entry, UserEntry) else "assistant"
        for block in entry.content:
            data = bytes(raw_json(block)) if not isinstance(block, TextBlock) else block.text.encode("utf-8", "replace")
            match block:
                case TextBlock():
                    source = f"{role} text"
                case ThinkingBlock():
                    source = "thinking"
                case ToolUseBlock(id=call, name=name):
                    source, self._calls[call] = "call", name
                case ToolResultBlock(tool_use_id=call):
                    source = f"result of {self._calls.get(call, '?')}"
                case _:
                    source = "other"
            self._count(source, weight(data))

    def _count(self, source: str, tokens: int) -> None:
        self._sources[source] = self._sources.get(source, 0) + tokens
        self._messages += tokens
        self._blocks += 1


def _named(event: PrefixEvent) -> Event:
    cause = Cause.TOOLS if event.name is EventName.HEAD_REBUILD and "tool" in event.cause else _CAUSES[event.name]
    return Event(cause, f"{event.name.value}: {event.cause}")


_CAUSES = {
    EventName.CLEAR: Cause.CLEARING,
    EventName.COMPACT: Cause.COMPACTION,
    EventName.REWIND: Cause.HISTORY,
    EventName.WORKTREE: Cause.SYSTEM,
    EventName.HEAD_REBUILD: Cause.SYSTEM,
    EventName.MODEL_SWITCH: Cause.MODEL_SWITCH,
    EventName.COLD_CLEAN: Cause.CLEARING,
    EventName.PROVIDER_DEGRADE: Cause.SETTINGS,
    EventName.REFUSED_IMAGE: Cause.HISTORY,
}
_TOKENS_A_BYTE = 0.3
"""About what a byte of a request body is in tokens (`context/tokens.py` for English text and code)."""
