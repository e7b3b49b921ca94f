"""A compiled request and the pieces it is made of.

Decides the shape of the fold's results: chunks (bytes that are never touched again), the head, the options that become
scalars, and `Compiled`, whose body is a rope of chunks with known size. Never compiles: that is `context`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from msgspec import Raw, Struct

from .diagnostics import Diagnostic
from .messages import WireMessage
from .persistent import Rope
from .provenance import Attribution, Fragment, Omission, Runs
from .tools import ToolDefinition


class Chunk(Struct, frozen=True, kw_only=True, gc=False):
    """The bytes of one element of `tools`, `system` or `messages`, without any cache marker.

    For a message, `sizes` holds the byte length of each block in `message.parts` order, and its spans are made on demand from
    these; an element of the head carries ready `runs` instead. `size` counts bytes.
    """

    data: bytes
    message: WireMessage | None = None
    sizes: tuple[int, ...] = ()
    runs: Runs = ()


class HeadTool(Struct, frozen=True):
    """A tool definition with the reason why it is in the request (R005)."""

    definition: ToolDefinition
    origin: Attribution


class HeadParts(Struct, frozen=True, kw_only=True):
    """What a head is compiled from, and what is recorded of it: enough to compile the same bytes again (R424).

    `system` holds one tuple of fragments for each text block of the top-level prompt; `context` the fragments of the
    user-context message, empty for none (R102).
    """

    tools: tuple[HeadTool, ...] = ()
    system: tuple[tuple[Fragment, ...], ...] = ()
    context: tuple[Fragment, ...] = ()
    omissions: tuple[Omission, ...] = ()


class Head(Struct, frozen=True, kw_only=True):
    """Non-deferred tools, system and user context: compiled once, recorded by `digest` (sha256 hex of its prefix view)."""

    parts: HeadParts
    tools: tuple[Chunk, ...]
    deferred: tuple[Chunk, ...]
    system: tuple[Chunk, ...]
    context: Chunk | None
    digest: str


class Ttl(enum.StrEnum):
    """Lifetime of a cache entry: five minutes or one hour."""

    SHORT = "5m"
    LONG = "1h"


class CacheRegion(enum.StrEnum):
    """A region of the body that may carry a marker, in wire order."""

    TOOLS = "tools"
    SYSTEM = "system"
    MESSAGES = "messages"


class MarkerPlan(Struct, frozen=True, kw_only=True):
    """A cache breakpoint by position. `index` counts elements of the region, `block` the blocks of a message."""

    region: CacheRegion
    index: int
    block: int = 0
    ttl: Ttl = Ttl.SHORT
    reason: str = ""
    scope: str | None = None

    @property
    def path(self) -> str:
        """The JSON path of the marked object, as in `messages[3].content[0]`."""
        block = f".content[{self.block}]" if self.region is CacheRegion.MESSAGES else ""
        return f"{self.region.value}[{self.index}]{block}"


class RequestOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a request that steer the service and carry no context (R019 to R021). `None` is not sent.

    `max_tokens` is in tokens. `betas` and `api_version` become headers. `ttl` is the lifetime of every marker; `caching` off
    sets none. `skip_write` keeps a throw-away tail out of the cache (R256), `pin` is the index of the message at which branches fork (R257). `scopes` are those of
    the two system blocks, `None` where the markers are plain (R086).
    """

    model: str
    max_tokens: int
    stream: bool = True
    thinking: Raw | None = None
    tool_choice: Raw | None = None
    metadata: Raw | None = None
    temperature: float | None = None
    context_management: Raw | None = None
    output_config: Raw | None = None
    speed: str | None = None
    stop_sequences: tuple[str, ...] | None = None
    diagnostics: Raw | None = None
    compaction: Raw | None = None
    betas: tuple[str, ...] = ()
    api_version: str = "2026-10-21"
    caching: bool = True
    ttl: Ttl = Ttl.SHORT
    skip_write: bool = False
    pin: int | None = None
    scopes: tuple[str | None, str | None] | None = None


class Splice(Struct, frozen=True):
    """A marker's bytes and where they go inside one element: `data[:offset] + insert + data[offset:]`."""

    region: CacheRegion
    index: int
    offset: int
    insert: bytes


class Compiled(Struct, frozen=True, kw_only=True):
    """One request, ready to be sent.

    The body is `pieces()` in order, `size` bytes in all. `view_digest` is the sha256 hex of the prefix view (no markers, no
    scalars). `markers` stand in wire order. `headers` hold no credentials.
    """

    head: Head
    settled: Rope[Chunk]
    pending: tuple[Chunk, ...]
    scalars: Chunk
    splices: tuple[Splice, ...]
    markers: tuple[MarkerPlan, ...]
    headers: tuple[tuple[str, str], ...]
    options: RequestOptions
    size: int
    view_digest: str
    diagnostics: tuple[Diagnostic, ...] = ()
    omissions: tuple[Omission, ...] = ()

    def messages_from(self, index: int) -> tuple[Chunk, ...]:
        """The elements of `messages` from `index` on. Costs what they are many, however many stand before them."""
        context = () if self.head.context is None else (self.head.context,)
        settled = min(max(len(self.settled) + len(context) - index, 0), len(self.settled))
        skipped = max(index - len(context) - len(self.settled), 0)
        return (*context[index:], *self.settled.tail(settled), *self.pending[skipped:])

    def message_chunks(self) -> Iterator[Chunk]:
        """Every element of `messages`, in wire order, without markers."""
        if self.head.context is not None:
            yield self.head.context
        yield from self.settled
        yield from self.pending

    def pieces(self) -> Iterator[bytes]:
        """The body as a few byte strings: hand them to a transport, or join them."""
        spliced = {(splice.region, splice.index): splice for splice in self.splices}
        tools = _marked(CacheRegion.TOOLS, self.head.tools + self.head.deferred, spliced)
        yield b"{"
        if tools:
            yield b'"tools":['
            yield b",".join(tools)
            yield b"],"
        if self.head.system:
            yield b'"system":['
            yield b",".join(_marked(CacheRegion.SYSTEM, self.head.system, spliced))
            yield b"],"
        yield b'"messages":['
        yield b",".join(_marked(CacheRegion.MESSAGES, self.message_chunks(), spliced))
        yield b"],"
        yield self.scalars.data
        yield b"}"

    @property
    def body(self) -> bytes:
        """The exact bytes that are sent."""
        return b"".join(self.pieces())


def _marked(
    region: CacheRegion, chunks: Iterator[Chunk] | tuple[Chunk, ...], spliced: dict[tuple[CacheRegion, int], Splice]
) -> list[bytes]:
    elements = [chunk.data for chunk in chunks]
    for (where, index), splice in spliced.items():
        if where is region:
            data = elements[index]
            elements[index] = data[: splice.offset] + splice.insert + data[splice.offset :]
    return elements
