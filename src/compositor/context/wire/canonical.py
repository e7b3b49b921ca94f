"""The only encoder of request bodies (law 8): values in, compact UTF-8 JSON out, the same bytes for the same values.

Decides key order and spelling on the wire. Never decides what is sent or where markers stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from compositor.types.blocks import ContentBlock, UnknownBlock
from compositor.types.messages import Role, WireMessage
from compositor.types.request import Chunk
from compositor.types.tools import ToolDefinition


def _unknown(value: Any) -> Any:
    if isinstance(value, UnknownBlock):
        return value.raw
    raise TypeError(f"a {type(value).__name__} cannot stand in a request body")


_encoder = msgspec.json.Encoder(enc_hook=_unknown)
encode_json = _encoder.encode
"""Encode one value as compact JSON. Lone surrogates must have been repaired at the edge."""

_OPENINGS: dict[Role, bytes] = {role: b'{"role":"%s","content":[' % role.value.encode() for role in Role}
CLOSING = b"]}"


def encode_messages(messages: Sequence[WireMessage]) -> tuple[Chunk, ...]:
    """One chunk for each message. All blocks go through one encoder call and are split at newlines, which no compact JSON holds."""
    lines = _encoder.encode_lines([part.block for message in messages for part in message.parts]).split(b"\n")
    chunks: list[Chunk] = []
    start = 0
    for message in messages:
        end = start + len(message.parts)
        blocks = lines[start:end]
        data = opening(message) + b",".join(blocks) + CLOSING
        chunks.append(Chunk(data=data, message=message, sizes=tuple(map(len, blocks))))
        start = end
    if start != len(lines) - 1:
        raise ValueError("a block holds a line break outside a string; raw JSON must be on one line")
    return tuple(chunks)


def opening(message: WireMessage) -> bytes:
    """What stands before the first block of a message."""
    if message.clear_at is None:
        return _OPENINGS[message.role]
    return b'{"role":"%b","clear_at":%b,"content":[' % (message.role.value.encode(), encode_json(message.clear_at))


def encode_block(block: ContentBlock) -> bytes:
    """One block on its own, as it would stand inside a message."""
    return _encoder.encode(block)


def encode_tool(tool: ToolDefinition) -> bytes:
    """A tool definition (wire page 2.4): name, description, schema, deferral; of a tool of the service its type, name and settings."""
    if tool.provider:
        return _encoder.encode({"type": tool.provider, "name": tool.name, **msgspec.json.decode(bytes(tool.settings))})
    fields: dict[str, Any] = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    if tool.deferred:
        fields["defer_loading"] = True
    return _encoder.encode(fields)


def escaped(text: str) -> bytes:
    """`text` as it stands between the quotes of a JSON string. Escaping is per character, so escaped pieces concatenate."""
    return _encoder.encode(text)[1:-1]
