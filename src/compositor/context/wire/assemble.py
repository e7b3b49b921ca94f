"""Events to one answer: blocks by their stream index, usage, stop reason (wire page 7).

Decides what a stream adds up to, and which tool calls are whole. A call counts only when the message has ended (R014); one
whose input is no JSON object is cut and left out. Never repairs what the model said, never decides what happens next.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import assert_never

import msgspec
from msgspec import Raw, Struct

from compositor.errors import StreamProtocolError
from compositor.types.blocks import ContentBlock, ToolUseBlock, UnknownBlock
from compositor.types.json import decode_json
from compositor.types.persistent import Rope
from compositor.types.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    StreamEvent,
    StreamFailure,
    UnknownEvent,
)
from compositor.types.tools import ToolCall
from compositor.types.usage import Usage, add_usage

from .assemble_block import CutCall, JsonFields, PartialBlock, finish_block, json_fields, present, text_of


class AssembledMessage(Struct, frozen=True, kw_only=True):
    """What arrived. `stop_reason` is `None` while the message has not ended (no `message_stop`).

    `stop_details` is the service's raw object (a refusal's category), `diagnostics` its raw word on its cache (wire page 4.8). `notes` say what was left out, one sentence each.
    """

    id: str
    model: str
    content: tuple[ContentBlock, ...]
    stop_reason: str | None
    usage: Usage
    stop_details: Raw | None = None
    diagnostics: Raw | None = None
    cut: tuple[CutCall, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The complete tool calls, in order; none before the message has ended (R014), and none of an answer that the service broke off."""
        if self.stop_reason in _NEVER_RUN:
            return ()
        return tuple(
            ToolCall(id=block.id, name=block.name, input=block.input)
            for block in self.content
            if isinstance(block, ToolUseBlock)
        )


_TRUNCATING = ("max_tokens", "model_context_window_exceeded", "refusal")
_NEVER_RUN = (None, "refusal")


class PartialMessage(Struct, frozen=True):
    """An answer on its way. A value: `add` gives the next one. Amortized cost of `add`: the open blocks (mostly one)."""

    id: str = ""
    model: str = ""
    started: bool = False
    ended: bool = False
    closed: tuple[PartialBlock, ...] = ()
    open: tuple[PartialBlock, ...] = ()
    delta: JsonFields = {}
    usage: JsonFields = {}
    diagnostics: Raw | None = None
    notes: tuple[str, ...] = ()

    def add(self, event: StreamEvent) -> PartialMessage:
        """The message with `event` added. Raises `StreamProtocolError` for an event that cannot follow what came before."""
        match event:
            case Ping() | UnknownEvent() | StreamFailure():
                return self
            case MessageStart():
                return _started(self, event)
            case _ if not self.started:
                raise StreamProtocolError("The answer's stream does not begin with 'message_start'")
            case BlockStart():
                return _block_started(self, event)
            case BlockDelta():
                return _with_open(self, event.index, lambda block: _grown(block, event))
            case BlockStop():
                return _block_stopped(self, event.index)
            case MessageDelta():
                delta = {**self.delta, **json_fields(event.delta)}
                return msgspec.structs.replace(self, delta=delta, usage=_merged(self.usage, event.usage))
            case MessageStop():
                return msgspec.structs.replace(self, ended=True)
            case _:
                assert_never(event)

    def result(self) -> AssembledMessage:
        """What there is now, in any state. Never raises."""
        notes = list(self.notes)
        blocks: list[ContentBlock] = []
        cut: list[CutCall] = []
        stop_reason = text_of(self.delta.get("stop_reason")) if self.ended else None
        partials = sorted(self.closed + self.open, key=lambda block: block.index)
        for partial in partials:
            limited = stop_reason in _TRUNCATING and partial is partials[-1]
            finished = finish_block(partial, may_be_cut=limited)
            notes.extend(finished.notes)
            blocks.extend(finished.blocks)
            cut.extend(finished.cut)
        return AssembledMessage(
            id=self.id,
            model=_answering_model(blocks) or self.model,
            content=tuple(blocks),
            stop_reason=(stop_reason or "end_turn") if self.ended else None,
            usage=_decode_usage(self.usage),
            stop_details=present(self.delta.get("stop_details")),
            diagnostics=self.diagnostics,
            cut=tuple(cut),
            notes=tuple(notes),
        )


def parse_message(body: bytes) -> AssembledMessage:
    """A whole answer that came without streaming. Raises `StreamProtocolError` when it is no message."""
    try:
        fields = json_fields(Raw(body))
        if text_of(fields.get("type")) != "message" or "content" not in fields:
            raise StreamProtocolError("The answer is a JSON document but no message")
        blocks = msgspec.json.decode(bytes(fields["content"]), type=list[Raw])
        events: list[StreamEvent] = [MessageStart(id="", model="", message=Raw(body))]
        for index, block in enumerate(blocks):
            events += [BlockStart(index=index, block=block), BlockStop(index=index)]
        events += [MessageDelta(delta=Raw(body), usage=None), MessageStop()]
        return assemble(events)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise StreamProtocolError(f"The answer is no JSON document that can be read: {problem}") from problem


def assemble(events: Iterable[StreamEvent]) -> AssembledMessage:
    """Every event of one answer, added up."""
    message = PartialMessage()
    for event in events:
        message = message.add(event)
    return message.result()


def _started(message: PartialMessage, event: MessageStart) -> PartialMessage:
    # A second start means that a gateway sent the answer twice or went to another server: only what follows it is one answer.
    notes = ("the stream began anew; what came before was left out",) if message.started else ()
    fields = json_fields(event.message)
    return PartialMessage(
        id=text_of(fields.get("id")) or event.id,
        model=text_of(fields.get("model")) or event.model,
        started=True,
        usage=_merged({}, fields.get("usage")),
        diagnostics=present(fields.get("diagnostics")),
        notes=message.notes + notes,
    )


def _block_started(message: PartialMessage, event: BlockStart) -> PartialMessage:
    start = json_fields(event.block)
    block = PartialBlock(event.index, text_of(start.get("type")) or "?", start, Rope())
    others = tuple(other for other in message.open if other.index != event.index)
    closed = tuple(other for other in message.closed if other.index != event.index)
    repeated = len(others) + len(closed) != len(message.open) + len(message.closed)
    notes = (f"block {event.index} was sent twice; the later one counts",) if repeated else ()
    return msgspec.structs.replace(message, closed=closed, open=(*others, block), notes=message.notes + notes)


def _block_stopped(message: PartialMessage, index: int) -> PartialMessage:
    stopped = _with_open(message, index, lambda block: msgspec.structs.replace(block, ended=True))
    done = tuple(block for block in stopped.open if block.ended)
    left = tuple(block for block in stopped.open if not block.ended)
    return msgspec.structs.replace(stopped, closed=stopped.closed + done, open=left)


def _with_open(message: PartialMessage, index: int, change: Callable[[PartialBlock], PartialBlock]) -> PartialMessage:
    if all(block.index != index for block in message.open):
        raise StreamProtocolError(f"The answer's stream speaks of block {index}, which is not open")
    blocks = tuple(change(block) if block.index == index else block for block in message.open)
    return msgspec.structs.replace(message, open=blocks)


def _grown(block: PartialBlock, event: BlockDelta) -> PartialBlock:
    return msgspec.structs.replace(block, deltas=block.deltas.append_all((event,)))


def _merged(before: JsonFields, news: Raw | None) -> JsonFields:
    """Counters that are absent or null keep their value; all others are overwritten."""
    found = present(news)
    if found is None:
        return before
    merged = {**before, **{key: value for key, value in json_fields(found).items() if present(value) is not None}}
    try:
        _decode_usage(merged)
    except msgspec.MsgspecError as problem:
        raise StreamProtocolError(f"The answer's usage cannot be read: {problem}") from problem
    return merged


class _Reported(Usage, frozen=True):
    iterations: list[Usage] | None = None


def _decode_usage(fields: JsonFields) -> Usage:
    """The counters at the top; where all are zero, what the rounds of the service came to: a summary stands only there (wire page 5.3)."""
    found = msgspec.json.decode(msgspec.json.encode(fields), type=_Reported)
    top = Usage(**{name: getattr(found, name) for name in Usage.__struct_fields__})
    if found.iterations and not top.total_input and not top.output_tokens:
        return functools.reduce(add_usage, found.iterations, Usage())
    return top


def _answering_model(blocks: list[ContentBlock]) -> str | None:
    """The model a `fallback` block hands over to: it spoke from there on."""
    for block in reversed(blocks):
        if isinstance(block, UnknownBlock) and block.type == "fallback":
            target = decode_json(bytes(block.raw)).get("to")
            return target.get("model") if isinstance(target, dict) else None
    return None
