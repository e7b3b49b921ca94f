"""The prefix view: what cache law, digests, drift detection and forecast compare.

Decides which bytes of a request count as its prefix: tools that are not deferred, system, messages; no markers, no scalars. A deferred tool
counts, with its locked bytes, where it is first referenced. Each message ends with a comma, so that the view of a longer
conversation begins with the view of a shorter one (R259).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from compositor.types.blocks import ContentBlock, ToolReferenceBlock, ToolResultBlock, UnknownBlock
from compositor.types.json import decode_json
from compositor.types.persistent import Ledger
from compositor.types.request import Chunk, Compiled, Head

if TYPE_CHECKING:
    from hashlib import _Hash

_NAMING = frozenset({"tool_addition", "tool_search_tool_result"})


def head_view(tools: Iterable[Chunk], system: Iterable[Chunk], context: Chunk | None) -> Iterator[bytes]:
    """The view's bytes up to and including the user context."""
    yield b'{"tools":['
    yield b",".join([chunk.data for chunk in tools])
    yield b'],"system":['
    yield b",".join([chunk.data for chunk in system])
    yield b'],"messages":['
    if context is not None:
        yield context.data
        yield b","


class ViewState:
    """A running digest over the view, as a persistent value: `add` gives a new state and leaves this one alone."""

    __slots__ = ("_digest", "_hash", "_referenced")

    def __init__(self, hash_state: _Hash, referenced: Ledger[str]) -> None:
        self._hash = hash_state
        self._referenced = referenced
        self._digest: str | None = None

    @classmethod
    def start(cls, head: Head) -> ViewState:
        state = hashlib.sha256()
        for piece in head_view(head.tools, head.system, head.context):
            state.update(piece)
        return cls(state, Ledger())

    def add(self, chunks: Iterable[Chunk], head: Head) -> ViewState:
        """The state behind `chunks`. Costs what they are long."""
        state = self._hash.copy()
        referenced = self._referenced
        if head.deferred:
            for chunk in chunks:
                referenced = _add_referenced(state, chunk, head, referenced)
                state.update(chunk.data + b",")
        else:
            state.update(b"".join([chunk.data + b"," for chunk in chunks]))
        return ViewState(state, referenced)

    @property
    def digest(self) -> str:
        """Made once: a forecast asks for those of the last forty requests."""
        if self._digest is None:
            self._digest = self._hash.hexdigest()
        return self._digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ViewState) and self.digest == other.digest

    __hash__ = None  # type: ignore[assignment]


class _Sink(Protocol):
    def update(self, data: bytes, /) -> None: ...


def _add_referenced(state: _Sink, chunk: Chunk, head: Head, referenced: Ledger[str]) -> Ledger[str]:
    names = [name for name in dict.fromkeys(tool_references(chunk)) if name not in referenced]
    if not names:
        return referenced
    deferred = (tool.definition.name for tool in head.parts.tools if tool.definition.deferred)
    for name, tool in zip(deferred, head.deferred, strict=True):
        if name in names:
            state.update(tool.data)
    return referenced.add_all(names)


def tool_references(chunk: Chunk) -> Iterator[str]:
    """Names of the tools that the message refers to, in order."""
    for part in chunk.message.parts if chunk.message is not None else ():
        yield from block_references(part.block)


def block_references(block: ContentBlock) -> Iterator[str]:
    """Names of the tools that a block brings into view: results of a search, ours or the service's, and additions (wire page 6)."""
    if isinstance(block, ToolResultBlock) and isinstance(block.content, tuple):
        yield from (item.tool_name for item in block.content if isinstance(item, ToolReferenceBlock))
    elif isinstance(block, UnknownBlock) and block.type in _NAMING:
        fields = decode_json(bytes(block.raw))
        tool, content = fields.get("tool"), fields.get("content")
        named = [tool] if isinstance(tool, dict) else []
        found = content.get("tool_references") if isinstance(content, dict) else None
        for item in (*named, *(found if isinstance(found, list) else ())):
            name = item.get("tool_name", item.get("name")) if isinstance(item, dict) else None
            if isinstance(name, str):
                yield name


def view_bytes(compiled: Compiled) -> bytes:
    """The whole prefix view of a request; for comparisons and tests, the digest never needs it."""
    head = compiled.head
    referenced: Ledger[str] = Ledger()
    collected = _Collector(b"".join(head_view(head.tools, head.system, head.context)))
    for chunk in (*compiled.settled, *compiled.pending):
        if head.deferred:
            referenced = _add_referenced(collected, chunk, head, referenced)
        collected.update(chunk.data)
        collected.update(b",")
    return b"".join(collected.pieces)


class _Collector:
    """Takes what a hash would take and keeps it."""

    def __init__(self, first: bytes) -> None:
        self.pieces = [first]

    def update(self, data: bytes, /) -> None:
        self.pieces.append(data)
