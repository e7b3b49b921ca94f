"""The head of a request: tools, system, user context, compiled once per session.

Decides the bytes of the head from its recorded parts: the same parts give the same bytes and the same digest. Never decides which
sections, tools or files are in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import chain

from compositor.types.blocks import TextBlock
from compositor.types.messages import Part, Role, WireMessage
from compositor.types.provenance import WIRE, Attribution, Fragment, Runs
from compositor.types.request import Chunk, Head, HeadParts, HeadTool

from .view import head_view
from .wire.canonical import encode_messages, encode_tool, escaped

TEXT_OPENING = b'{"type":"text","text":"'
TEXT_CLOSING = b'"}'


def compile_head(parts: HeadParts) -> Head:
    """Encode the head. Empty text blocks must not be among `parts` (L07)."""
    tools = tuple(_tool_chunk(tool) for tool in parts.tools if not tool.definition.deferred)
    deferred = tuple(_tool_chunk(tool) for tool in parts.tools if tool.definition.deferred)
    system = tuple(_text_chunk(block) for block in parts.system)
    context = _context_chunk(parts.context) if parts.context else None
    digest = hashlib.sha256(b"".join(head_view(tools, system, context))).hexdigest()
    return Head(parts=parts, tools=tools, deferred=deferred, system=system, context=context, digest=digest)


def fragment_runs(fragments: Sequence[Fragment]) -> Runs:
    """Run lengths of the JSON-escaped text that the fragments make together."""
    return tuple((len(escaped(fragment.text)), fragment.origin) for fragment in fragments)


def _tool_chunk(tool: HeadTool) -> Chunk:
    data = encode_tool(tool.definition)
    return Chunk(data=data, runs=((len(data), tool.origin),))


def _text_chunk(fragments: Sequence[Fragment]) -> Chunk:
    pieces = [escaped(fragment.text) for fragment in fragments]
    runs: list[tuple[int, Attribution]] = [(len(TEXT_OPENING), WIRE)]
    runs.extend((len(piece), fragment.origin) for piece, fragment in zip(pieces, fragments, strict=True))
    runs.append((len(TEXT_CLOSING), WIRE))
    return Chunk(data=b"".join(chain([TEXT_OPENING], pieces, [TEXT_CLOSING])), runs=tuple(runs))


def _context_chunk(fragments: Sequence[Fragment]) -> Chunk:
    text = "".join(fragment.text for fragment in fragments)
    part = Part(TextBlock(text), fragments[0].origin, fragment_runs(fragments))
    return encode_messages((WireMessage(Role.USER, (part,)),))[0]
