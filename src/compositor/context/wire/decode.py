"""Bytes of a streamed answer to events: an incremental decoder of server-sent events (wire page 7).

Decides where a line, a frame and an event end, and which event a frame is. Never builds a message (`assemble.py`), never
decides what happens after a failure (`loop/attempt.py`). Cost is linear in the bytes fed, however they are cut; the same bytes
give the same events for every cut.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from compositor.errors import StreamProtocolError
from compositor.types.json import repair_raw
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

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ABSENT = Raw(b"")


class Decoder:
    """Feed it the body as it arrives; it gives back the events that are complete.

    One instance reads one body. After an error it is of no further use.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._after_return = False
        self._first_line = True
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> tuple[StreamEvent, ...]:
        """Take the next bytes. Raises `StreamProtocolError` when a frame is no event of the Messages API."""
        if self._after_return and data:
            self._after_return = False
            data = data.removeprefix(b"\n")
        events: list[StreamEvent] = []
        for piece in data.splitlines(keepends=True):
            self._line.append(piece)
            if piece.endswith((b"\n", b"\r")):
                events.extend(self._end_line())
        # A line feed that comes with the next bytes belongs to this carriage return.
        self._after_return = self._after_return or data.endswith(b"\r")
        return tuple(events)

    def flush(self) -> tuple[StreamEvent, ...]:
        """The body has ended: the last frame counts even without its blank line, unless it is torn."""
        events = list(self._end_line()) if self._line else []
        try:
            events.extend(self._end_frame())
        except StreamProtocolError:
            self._data.clear()
        return tuple(events)

    def _end_line(self) -> tuple[StreamEvent, ...]:
        line = b"".join(self._line).rstrip(b"\r\n")
        self._line.clear()
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._end_frame()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return ()

    def _end_frame(self) -> tuple[StreamEvent, ...]:
        name, data = self._name, b"\n".join(self._data)
        self._name = ""
        self._data.clear()
        # A frame without data is a comment, a bare name or a keep-alive: no event (the format's own rule).
        return (parse_event(name, data),) if data.strip() else ()


def parse_event(name: str, data: bytes) -> StreamEvent:
    """One frame as an event. The `type` inside `data` counts; `name` stands in where it is missing.

    Raises `StreamProtocolError` when `data` is no JSON object or a known event lacks what it must have.
    """
    raw = Raw(data)
    try:
        try:
            data.decode()
            frame = _decode_frame(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # A lone surrogate or a torn character costs itself, not the answer (F07).
            raw = repair_raw(Raw(data.decode("utf-8", "replace").encode()))
            frame = _decode_frame(bytes(raw))
        kind = "error" if name == "error" else frame.type or name
        build = _BUILDERS.get(kind)
        return build(frame, raw) if build else UnknownEvent(type=kind, raw=raw)
    except (msgspec.MsgspecError, _MissingError) as problem:
        raise StreamProtocolError(
            f"The answer's stream holds an event {name!r} that cannot be read: {problem}", hint="Send the request again"
        ) from problem


class _Frame(Struct, frozen=True):
    # `Raw | None` would take nothing but null; an absent key is empty bytes.
    type: str = ""
    index: int | None = None
    message: Raw = _ABSENT
    content_block: Raw = _ABSENT
    delta: Raw = _ABSENT
    usage: Raw = _ABSENT
    error: Raw = _ABSENT


class _Identity(Struct, frozen=True):
    id: str = ""
    model: str = ""


class _Typed(Struct, frozen=True):
    type: str = ""
    message: str = ""


class _MissingError(Exception):
    pass


_decode_frame = msgspec.json.Decoder(_Frame).decode
_decode_identity = msgspec.json.Decoder(_Identity).decode
_decode_typed = msgspec.json.Decoder(_Typed).decode


def _message_start(frame: _Frame, _: Raw) -> StreamEvent:
    message = _needed(frame.message, "message")
    identity = _decode_identity(bytes(message))
    return MessageStart(id=identity.id, model=identity.model, message=message)


def _block_start(frame: _Frame, _: Raw) -> StreamEvent:
    return BlockStart(index=_index(frame), block=_needed(frame.content_block, "content_block"))


def _block_delta(frame: _Frame, _: Raw) -> StreamEvent:
    delta = _needed(frame.delta, "delta")
    return BlockDelta(index=_index(frame), kind=_decode_typed(bytes(delta)).type, delta=delta)


def _block_stop(frame: _Frame, _: Raw) -> StreamEvent:
    return BlockStop(index=_index(frame))


def _message_delta(frame: _Frame, _: Raw) -> StreamEvent:
    return MessageDelta(delta=_needed(frame.delta, "delta"), usage=frame.usage or None)


def _message_stop(_: _Frame, __: Raw) -> StreamEvent:
    return MessageStop()


def _ping(_: _Frame, __: Raw) -> StreamEvent:
    return Ping()


def _failure(frame: _Frame, raw: Raw) -> StreamEvent:
    if not frame.error:
        return StreamFailure(type="api_error", message="the stream ended with an error that gives no reason", raw=raw)
    error = _decode_typed(bytes(frame.error))
    return StreamFailure(type=error.type, message=error.message, raw=raw)


_BUILDERS: dict[str, Callable[[_Frame, Raw], StreamEvent]] = {
    "message_start": _message_start,
    "content_block_start": _block_start,
    "content_block_delta": _block_delta,
    "content_block_stop": _block_stop,
    "message_delta": _message_delta,
    "message_stop": _message_stop,
    "ping": _ping,
    "error": _failure,
}


def _needed(value: Raw, key: str) -> Raw:
    if not value:
        raise _MissingError(f"it has no {key!r}")
    return value


def _index(frame: _Frame) -> int:
    if frame.index is None:
        raise _MissingError("it has no 'index'")
    return frame.index
