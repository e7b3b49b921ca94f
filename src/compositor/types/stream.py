"""Events of a streamed response (wire page 7), with an unknown door.

Decides their shape. Decoding bytes to events is `context/wire/decode.py`; building a message from events belongs there too.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Raw, Struct


class MessageStart(Struct, frozen=True, kw_only=True):
    """`message` is the raw object with empty content; id and model are lifted out of it."""

    id: str
    model: str
    message: Raw


class BlockStart(Struct, frozen=True, kw_only=True):
    index: int
    block: Raw


class BlockDelta(Struct, frozen=True, kw_only=True):
    """`kind` is the delta's type as spelled on the wire; `delta` the raw object."""

    index: int
    kind: str
    delta: Raw


class BlockStop(Struct, frozen=True, kw_only=True):
    index: int


class MessageDelta(Struct, frozen=True, kw_only=True):
    """`delta` holds `stop_reason` and its kin; `usage` is cumulative or `None`."""

    delta: Raw
    usage: Raw | None


class MessageStop(Struct, frozen=True):
    pass


class Ping(Struct, frozen=True):
    pass


class StreamFailure(Struct, frozen=True, kw_only=True):
    """`event: error` after a 200: type and message of the usual envelope."""

    type: str
    message: str
    raw: Raw


class UnknownEvent(Struct, frozen=True, kw_only=True):
    type: str
    raw: Raw


StreamEvent: TypeAlias = (
    MessageStart
    | BlockStart
    | BlockDelta
    | BlockStop
    | MessageDelta
    | MessageStop
    | Ping
    | StreamFailure
    | UnknownEvent
)
