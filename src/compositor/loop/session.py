"""The conversation of a session as a value: what was said, as a prefix, and how it becomes the next request.

Decides how events become entries and how a request is journaled. Ids and times come in from outside; nothing is stored here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from compositor.context.cache.forecast import Forecast
from compositor.context.finish import finish
from compositor.context.head import compile_head
from compositor.context.messages.lanes import lanes_of
from compositor.context.messages.legality import WireContext
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.context.wire.assemble import AssembledMessage
from compositor.types.attachments import Attachment
from compositor.types.blocks import ContentBlock, DocumentBlock, ImageBlock, TextBlock, ToolResultBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, Origin, TranscriptEntry, UserEntry
from compositor.types.gathering import Gathered
from compositor.types.journal import SendRecord, SentEntry
from compositor.types.json import raw_json
from compositor.types.provenance import Lane
from compositor.types.request import Compiled, HeadParts, RequestOptions
from compositor.types.snapshot import Facts, PrefixEvent
from compositor.types.tools import ToolOutcome
from compositor.types.usage import Usage


class Stamp(Struct, frozen=True):
    """What the outside gives each entry: an id and a time."""

    uuid: str
    time: str


class Conversation(Struct, frozen=True, kw_only=True):
    """Prefix and request options. `record` and `compile_next` never change it."""

    prefix: Prefix
    options: RequestOptions

    @property
    def leaf(self) -> str | None:
        """The newest entry: the parent of whatever comes next."""
        return self.prefix.leaf


def record(conversation: Conversation, entries: Sequence[TranscriptEntry]) -> Conversation:
    """The conversation with these entries behind it."""
    return msgspec.structs.replace(conversation, prefix=extend(conversation.prefix, entries))


def compile_next(conversation: Conversation) -> Compiled:
    """The request that asks for the next answer. Raises `IllegalRequestError` when there is nothing legal to send."""
    options = conversation.options
    if options.diagnostics is not None:
        asked = raw_json({"previous_message_id": last_message_id(conversation.prefix)})
        options = msgspec.structs.replace(options, diagnostics=asked)
    return finish(conversation.prefix, options)


def last_message_id(prefix: Prefix) -> str | None:
    """The id of the newest answer: what the service compares the next request with (wire page 4.8)."""
    for entry in reversed(prefix.tail.entries):
        if isinstance(entry, AssistantEntry):
            return entry.message_id
    return None


def renew_head(
    conversation: Conversation,
    parts: HeadParts,
    options: RequestOptions,
    event: PrefixEvent,
    model: tuple[Facts, WireContext] | None = None,
) -> Conversation:
    """The same conversation behind another head: a prefix event (law 2), which names other betas as well (R283). Lanes stay as they were sent (R222).

    `model` are the facts of another model and what its service takes; what was refused in this session stays refused.
    """
    if options.betas != conversation.options.betas:
        before, now = (", ".join(one.betas) or "none" for one in (conversation.options, options))
        event = msgspec.structs.replace(event, cause=f"{event.cause}; betas {before} before, {now} now")
    prefix = conversation.prefix
    facts, wire = prefix.facts, prefix.wire
    lanes = {**lanes_of(prefix.settled), **facts.lanes}
    facts = msgspec.structs.replace(facts, lanes=lanes)
    if model is not None:
        kept = {name: getattr(facts, name) for name in _KEPT_FACTS}
        facts, wire = msgspec.structs.replace(model[0], **kept), model[1]
    start = empty_prefix(compile_head(parts), facts, wire, (*prefix.events, event))
    fresh = msgspec.structs.replace(extend(start, tuple(prefix.entries)), leaf=prefix.leaf)
    return Conversation(prefix=fresh, options=options)


_KEPT_FACTS = ("lanes", "latches", "refused_images", "cleared")
"""What a session learned, whichever model it speaks to."""


def begin_anew(
    conversation: Conversation, parts: HeadParts, options: RequestOptions, event: PrefixEvent
) -> Conversation:
    """An empty conversation behind a new head: what was said before stays in the transcript. What was refused stays refused."""
    prefix = conversation.prefix
    facts = msgspec.structs.replace(prefix.facts, lanes={}, cleared=frozenset())
    return Conversation(
        prefix=empty_prefix(compile_head(parts), facts, prefix.wire, (*prefix.events, event)), options=options
    )


def prompt_entry(
    text: str,
    *,
    stamp: Stamp,
    parent: str | None,
    origin: Origin = Origin.HUMAN,
    media: tuple[ImageBlock | DocumentBlock, ...] = (),
) -> UserEntry:
    """What a person typed, as an entry, and what was put into it; one of the two may be empty."""
    content = (*((TextBlock(text),) if text or not media else ()), *media)
    return UserEntry(uuid=stamp.uuid, parent=parent, time=stamp.time, content=content, origin=origin)


def answer_entry(
    *,
    stamp: Stamp,
    parent: str | None,
    message_id: str,
    model: str,
    content: tuple[ContentBlock, ...],
    stop_reason: str | None,
    usage: Usage | None,
    prefix_digest: str,
) -> AssistantEntry:
    """An answer of the model, bound to the prefix that produced it (R423)."""
    return AssistantEntry(
        uuid=stamp.uuid,
        parent=parent,
        time=stamp.time,
        message_id=message_id,
        model=model,
        content=content,
        stop_reason=stop_reason,
        usage=usage,
        prefix_digest=prefix_digest,
    )


def message_entry(
    message: AssembledMessage, *, stamp: Stamp, parent: str | None, model: str, prefix_digest: str
) -> AssistantEntry:
    """An answer as it arrived, as an entry."""
    return answer_entry(
        stamp=stamp,
        parent=parent,
        message_id=message.id,
        model=model,
        content=message.content,
        stop_reason=message.stop_reason,
        usage=message.usage,
        prefix_digest=prefix_digest,
    )


def results_entry(outcomes: Sequence[ToolOutcome], *, stamp: Stamp, parent: str | None) -> UserEntry:
    """All outcomes of a batch as the next user message, in call order (L55, L59)."""
    blocks = tuple(
        ToolResultBlock(outcome.call_id, outcome.content, is_error=True if outcome.is_error else None)
        for outcome in outcomes
    )
    return UserEntry(
        uuid=stamp.uuid, parent=parent, time=stamp.time, content=blocks, origin=Origin.UNCLASSIFIED, is_meta=True
    )


def note_entries(
    notes: Sequence[Attachment], *, stamp: Callable[[], Stamp], parent: str | None
) -> tuple[AttachmentEntry, ...]:
    """Notes as entries behind `parent`, each naming the one before it."""
    entries: list[AttachmentEntry] = []
    for note in notes:
        mark = stamp()
        entries.append(AttachmentEntry(uuid=mark.uuid, parent=parent, time=mark.time, attachment=note))
        parent = mark.uuid
    return tuple(entries)


def send_record(
    conversation: Conversation,
    compiled: Compiled,
    *,
    request_id: str,
    time: str,
    profile: str,
    forecast: Forecast | None = None,
    gathered: tuple[Gathered, ...] = (),
) -> SendRecord:
    """The journal's record of a request about to be sent. `sent` lists what no earlier request settled."""
    prefix = conversation.prefix
    lanes = lanes_of(prefix.tail.chunks)
    return SendRecord(
        request_id=request_id,
        time=time,
        head_digest=prefix.head.digest,
        view_digest=compiled.view_digest,
        size=compiled.size,
        leaf=prefix.leaf,
        sent=tuple(SentEntry(entry.uuid, lanes.get(entry.uuid, Lane.CONVERSATION)) for entry in prefix.tail.entries),
        markers=compiled.markers,
        options=compiled.options,
        profile=profile,
        events=prefix.events if not len(prefix.settled) else (),
        latches=tuple(sorted(prefix.facts.latches)),
        refused_images=tuple(sorted(prefix.facts.refused_images)),
        cleared=tuple(sorted(prefix.facts.cleared)),
        forecast_read=None if forecast is None else forecast.read,
        forecast_written=None if forecast is None else forecast.written,
        gathered=gathered,
    )
