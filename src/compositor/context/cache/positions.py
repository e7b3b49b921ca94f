"""Positions of a request: where the service can read or write its cache, with names that say what stands before them.

Decides which positions matter to a forecast: the head's parts, the marked blocks, and the blocks that earlier requests had marked within
the look-back. Costs what is new: sums over settled messages are carried along in a `TokenTally`.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec
from msgspec import Struct

from compositor.context.tokens import estimate_tokens
from compositor.context.view import ViewState
from compositor.types.persistent import Rope
from compositor.types.request import CacheRegion, Chunk, Compiled, Head, MarkerPlan, RequestOptions, Ttl

from .clearing import NOTHING, Clearing, Results, cleared_before
from .marks import Mark, block_end, is_scoped

LOOK_BACK = 20
"""Block positions that one breakpoint looks back over, itself included (wire page 4.2)."""


class Boundary(Struct, frozen=True, kw_only=True, gc=False):
    """The end of a request that was answered: `messages` and `blocks` count what stands in front of it behind the head's own.

    `mark` is the block that carried its last marker, `images` the number of images up to here.
    """

    messages: int
    blocks: int
    view: ViewState
    mark: Mark | None
    images: int


class Position(Struct, frozen=True, kw_only=True):
    """The end of one prefix.

    `key` names its bytes and the settings they were rendered under; `ordinal` counts blocks from the start of the request, tools
    included; `tokens` estimates everything up to here. `ttl` is set where a marker stands; `view` is the digest of the
    answered request that ended here.
    """

    key: str
    ordinal: int
    tokens: int
    what: str
    ttl: Ttl | None = None
    view: str = ""


class TokenTally(Struct, frozen=True, kw_only=True):
    """Of the settled messages, cumulative: `sums[i]` estimates the tokens of messages 0 to i, `results[i]` counts their tool results.

    `last` is the chunk that was counted last.
    """

    sums: Rope[int] = Rope()
    results: Rope[Results] = Rope()
    last: Chunk | None = None

    def before(self, messages: int) -> int:
        return self.sums[messages - 1] if messages else 0

    def results_in(self, messages: int) -> Results:
        return self.results[messages - 1] if messages else Results()


class Line(Struct, frozen=True, kw_only=True):
    """A request and what is known of its messages without looking at them again.

    `boundaries`, `mark` (of its own end) and `pinned` are the prefix's own; `tally` must have been extended over `compiled.settled`.
    `images`: whether it holds any. `clearing` is what the service clears of it. `forgets`: the model does not see the thoughts of
    earlier turns. `scale` is the model's ratio of reported to estimated tokens.
    """

    compiled: Compiled
    boundaries: Rope[Boundary]
    mark: Mark | None
    tally: TokenTally
    pinned: Mark | None = None
    images: bool = False
    clearing: Clearing = NOTHING
    forgets: bool = False
    scale: float = 1.0


def extend_tally(tally: TokenTally, settled: Rope[Chunk]) -> TokenTally:
    """Count what settled since; from nothing when `settled` is another line of messages."""
    counted = len(tally.sums)
    if counted > len(settled) or (counted and settled[counted - 1] is not tally.last):
        tally, counted = TokenTally(), 0
    if counted == len(settled):
        return tally
    total = tally.before(counted)
    sums: list[int] = []
    results: list[Results] = []
    seen = tally.results_in(counted)
    fresh = settled.tail(len(settled) - counted)
    for chunk in fresh:
        total += 0 if is_scoped(chunk) else estimate_tokens(chunk.data)
        seen = seen.add((chunk,))
        sums.append(total)
        results.append(seen)
    return TokenTally(sums=tally.sums.append_all(sums), results=tally.results.append_all(results), last=fresh[-1])


def request_positions(line: Line) -> tuple[Position, ...]:
    """The positions of a request in order."""
    compiled, settings = line.compiled, settings_key(line.compiled.options, images=line.images)
    marked = {(marker.region, marker.index): marker.ttl for marker in compiled.markers}
    head = [
        msgspec.structs.replace(position, ttl=marked.get(place), tokens=round(position.tokens * line.scale))
        for place, position in _head_positions(compiled.head, settings)
    ]
    start = head[-1] if head else Position(key="", ordinal=0, tokens=0, what="start")
    found = {position.ordinal: position for position in (*head, *_message_positions(line, settings, start))}
    return tuple(found[ordinal] for ordinal in sorted(found))


def total_tokens(line: Line) -> int:
    """The estimate for the whole request."""
    head = line.compiled.head
    fixed = _parts_of(head)[-1][1] + sum(_context_tokens(chunk.data) for chunk in _context(head))
    messages = line.tally.before(len(line.compiled.settled)) + _tokens(line.compiled.pending) - line.clearing.tokens
    messages -= _all_results(line).dropped_tokens if line.forgets else 0
    return round(line.scale * (fixed + messages))


def _message_positions(line: Line, settings: str, start: Position) -> Iterator[Position]:
    """Marks of answered requests within reach of a look-back, the fork point and what stands before it, and the request's own end."""
    ends = line.boundaries.tail(2 * LOOK_BACK)
    if line.pinned is not None:
        yield from _before_pin(line, settings, start, line.pinned)
    for end in ends:
        if end.mark is not None:
            yield _position(line, settings, start, end.mark, end)
    if line.mark is not None:
        yield _position(line, settings, start, line.mark, None)


def _before_pin(line: Line, settings: str, start: Position, pinned: Mark) -> Iterator[Position]:
    number = bisect.bisect_right(
        range(len(line.boundaries)), pinned.message, key=lambda at: line.boundaries[at].messages
    )
    for at in range(max(number - LOOK_BACK, 0), number):
        end = line.boundaries[at]
        if end.mark is not None:
            yield _position(line, settings, start, end.mark, end)
    yield _position(line, settings, start, pinned, None)


def _position(line: Line, settings: str, start: Position, mark: Mark, end: Boundary | None) -> Position:
    compiled = line.compiled
    index = len(_context(compiled.head)) + mark.message
    through = _results_through(line, mark) if line.clearing.count or line.forgets else Results()
    cleared = min(through.count, line.clearing.count)
    now = _all_results(line) if line.forgets else Results()
    forgotten = min(through.thoughts, now.dropped)
    tokens = _tokens_through(line, mark) - (cleared_before(line.tally.results, cleared) if cleared else 0)
    tokens -= min(through.thought_tokens, now.dropped_tokens)
    digest = f"{mark.digest}~{cleared}^{forgotten}" if cleared or forgotten else mark.digest
    # An earlier end is still read when neither an image nor a forgotten thought came between.
    same = not line.forgets or forgotten == through.dropped
    readable = end is not None and bool(end.images) == line.images and same
    return Position(
        key=_name(settings, digest),
        ordinal=start.ordinal + mark.blocks - forgotten,
        tokens=start.tokens + round(line.scale * tokens),
        what=f"messages[{index}]",
        ttl=next((marker.ttl for marker in compiled.markers if _stands_at(marker, index, mark.block)), None),
        view=end.view.digest if end is not None and readable else "",
    )


def _tokens_through(line: Line, mark: Mark) -> int:
    """Estimated tokens of the messages through the marked block."""
    compiled, settled = line.compiled, len(line.compiled.settled)
    if mark.message < settled:
        chunk = None if mark.whole else compiled.settled[mark.message]
        before = line.tally.before(mark.message + mark.whole)
    else:
        offset = mark.message - settled
        chunk = None if mark.whole else compiled.pending[offset]
        before = line.tally.before(settled) + _tokens(compiled.pending[: offset + mark.whole])
    return before + (0 if chunk is None else estimate_tokens(chunk.data[: block_end(chunk, mark.block)]))


def _all_results(line: Line) -> Results:
    return line.tally.results_in(len(line.compiled.settled)).add(line.compiled.pending)


def _results_through(line: Line, mark: Mark) -> Results:
    """Tool results and thoughts through the marked message; they stand in front of what else a message holds."""
    settled = len(line.compiled.settled)
    if mark.message < settled:
        return line.tally.results_in(mark.message + 1)
    return line.tally.results_in(settled).add(line.compiled.pending[: mark.message - settled + 1])


def _stands_at(marker: MarkerPlan, index: int, block: int) -> bool:
    return marker.region is CacheRegion.MESSAGES and (marker.index, marker.block) == (index, block)


def settings_key(options: RequestOptions, *, images: bool) -> str:
    """What else decides the rendered messages (wire page 4.7): model, speed, tool choice, thinking, effort, whether there are images."""
    parts = (options.tool_choice, options.thinking, options.output_config, b"images" if images else None)
    raw = b"\0".join(b"" if part is None else bytes(part) for part in parts)
    return f"{options.model}|{options.speed or 'standard'}|{hashlib.sha256(raw).hexdigest()[:16]}"


def _name(settings: str, digest: str) -> str:
    return f"{settings}|{digest}"


@lru_cache(maxsize=32)
def _head_parts(tools: tuple[bytes, ...], system: tuple[bytes, ...]) -> tuple[tuple[str, int], ...]:
    """Digest and cumulative tokens after the tools and after each system block."""
    state = hashlib.sha256(b"\0".join(tools))
    tokens = sum(map(estimate_tokens, tools))
    found = [(state.hexdigest(), tokens)]
    for block in system:
        state.update(b"\1" + block)
        tokens += estimate_tokens(block)
        found.append((state.hexdigest(), tokens))
    return tuple(found)


def _parts_of(head: Head) -> tuple[tuple[str, int], ...]:
    return _head_parts(tuple(chunk.data for chunk in head.tools), tuple(chunk.data for chunk in head.system))


def _head_positions(head: Head, settings: str) -> Iterator[tuple[tuple[CacheRegion, int], Position]]:
    model, speed, _ = settings.split("|", 2)
    parts = _parts_of(head)
    ordinal = len(head.tools)
    if head.tools:
        digest, tokens = parts[0]
        yield (
            (CacheRegion.TOOLS, ordinal - 1),
            Position(key=f"{model}|{digest}", ordinal=ordinal, tokens=tokens, what="tools"),
        )
    for index, (digest, tokens) in enumerate(parts[1:]):
        ordinal += 1
        key = f"{model}|{speed}|{digest}"
        yield (CacheRegion.SYSTEM, index), Position(key=key, ordinal=ordinal, tokens=tokens, what=f"system[{index}]")
    for chunk in _context(head):
        ordinal += len(chunk.sizes)
        key = _name(settings, f"head:{head.digest}")
        tokens = parts[-1][1] + _context_tokens(chunk.data)
        yield (CacheRegion.MESSAGES, 0), Position(key=key, ordinal=ordinal, tokens=tokens, what="messages[0]")


def _context(head: Head) -> tuple[Chunk, ...]:
    return () if head.context is None else (head.context,)


def _tokens(chunks: Iterable[Chunk]) -> int:
    return sum(estimate_tokens(chunk.data) for chunk in chunks)


# The same user context stands in front of every request of a session.
_context_tokens = lru_cache(maxsize=8)(estimate_tokens)
