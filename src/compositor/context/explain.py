"""Explain a compiled request: every byte has one source (R015, law 4).

Decides how bytes map to sources and back, and what the first difference of two requests is and means. Looks at a request that is
finished; never changes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from compositor.context.head import TEXT_CLOSING, TEXT_OPENING
from compositor.context.wire.canonical import CLOSING, encode_block, opening
from compositor.types.blocks import ABSENT, TextBlock, ToolResultBlock
from compositor.types.difference import Difference
from compositor.types.messages import Part
from compositor.types.provenance import WIRE, Attribution, Lane, Lifetime, Source, Span
from compositor.types.request import CacheRegion, Chunk, Compiled, Splice

MARKER = Attribution(Source("wire", "cache_control"), Lane.WIRE, Lifetime.TURN, "a cache marker, placed at assembly")

Run: TypeAlias = tuple[int, Attribution]
_COMMA: Run = (1, WIRE)
_CLOSING: Run = (len(CLOSING), WIRE)
_TEXT_OPENING: Run = (len(TEXT_OPENING), WIRE)
_TEXT_CLOSING: Run = (len(TEXT_CLOSING), WIRE)
_TEXT_FRAME = len(TEXT_OPENING) + len(TEXT_CLOSING)


def spans(compiled: Compiled) -> tuple[Span, ...]:
    """Spans that tile the body: each begins where the one before it ends, the last ends with the body."""
    found: list[Span] = []
    start = end = 0
    current = WIRE
    for length, origin in _body_runs(compiled):
        if origin is not current and length:
            if end > start:
                found.append(Span(start, end, current))
            start, current = end, origin
        end += length
    found.append(Span(start, end, current))
    return tuple(found)


def source_at(compiled: Compiled, offset: int) -> Span:
    """The span that holds byte `offset`. Raises `IndexError` outside the body."""
    position = 0
    for length, origin in _joined(_body_runs(compiled)):
        if offset < position + length and offset >= 0:
            return Span(position, position + length, origin)
        position += length
    raise IndexError(f"byte {offset} is outside a body of {compiled.size} bytes")


def chunk_runs(chunk: Chunk) -> list[Run]:
    """Run lengths of one element, made from its message on demand."""
    if chunk.message is None:
        return list(chunk.runs)
    runs = [(len(opening(chunk.message)), WIRE)]
    for number, (part, size) in enumerate(zip(chunk.message.parts, chunk.sizes, strict=True)):
        if number:
            runs.append(_COMMA)
        _add_part_runs(runs, part, size)
    runs.append(_CLOSING)
    return runs


def _add_part_runs(runs: list[Run], part: Part, size: int) -> None:
    """The keys around a plain text are `wire`; any other block belongs whole to its source, but for the notes inside a result."""
    block = part.block
    if isinstance(block, TextBlock) and block.citations is ABSENT:
        runs.append(_TEXT_OPENING)
        if part.runs is None:
            runs.append((size - _TEXT_FRAME, part.origin))
        else:
            runs.extend(part.runs)
        runs.append(_TEXT_CLOSING)
    elif part.notes and isinstance(block, ToolResultBlock):
        runs.extend(_result_runs(part, block, size))
    else:
        runs.append((size, part.origin))


def _result_runs(part: Part, block: ToolResultBlock, size: int) -> Iterator[Run]:
    """A tool result whose last items are notes of the client, each with an origin of its own (R233)."""
    content = block.content if isinstance(block.content, tuple) else ()
    outside, notes = content[: -len(part.notes)], content[-len(part.notes) :]
    # Up to the last outside item; the result of these alone ends in `]}`, and a comma follows.
    used = len(encode_block(ToolResultBlock(block.tool_use_id, outside))) - len(CLOSING) + bool(outside)
    yield used, part.origin
    for number, (item, origin) in enumerate(zip(notes, part.notes, strict=True)):
        length = len(encode_block(item))
        used += length + bool(number)
        yield from ((1, WIRE), (length, origin)) if number else ((length, origin),)
    yield size - used, part.origin


def _body_runs(compiled: Compiled) -> list[Run]:
    head = compiled.head
    spliced = {(splice.region, splice.index): splice for splice in compiled.splices}
    runs: list[Run] = [(1, WIRE)]
    if head.tools or head.deferred:
        runs += _region_runs(b'"tools":[', CacheRegion.TOOLS, head.tools + head.deferred, spliced)
    if head.system:
        runs += _region_runs(b'"system":[', CacheRegion.SYSTEM, head.system, spliced)
    runs += _region_runs(b'"messages":[', CacheRegion.MESSAGES, compiled.message_chunks(), spliced)
    return [*runs, *compiled.scalars.runs, (1, WIRE)]


def _region_runs(
    frame: bytes, region: CacheRegion, chunks: Iterable[Chunk], spliced: dict[tuple[CacheRegion, int], Splice]
) -> list[Run]:
    runs: list[Run] = [(len(frame), WIRE)]
    inside = {index: splice for (where, index), splice in spliced.items() if where is region}
    for index, chunk in enumerate(chunks):
        if index:
            runs.append(_COMMA)
        splice = inside.get(index)
        runs += chunk_runs(chunk) if splice is None else _spliced_runs(chunk, splice)
    runs.append((2, WIRE))
    return runs


def _spliced_runs(chunk: Chunk, splice: Splice) -> Iterator[Run]:
    position = 0
    for length, origin in chunk_runs(chunk):
        inside = splice.offset - position
        if 0 <= inside < length:
            yield inside, origin
            yield len(splice.insert), MARKER
            yield length - inside, origin
        else:
            yield length, origin
        position += length


def _joined(runs: Iterable[Run]) -> Iterator[Run]:
    """Neighbors of one origin as one run; empty runs left out."""
    pending = 0
    current: Attribution | None = None
    for length, origin in runs:
        if not length:
            continue
        if origin is current:
            pending += length
            continue
        if current is not None:
            yield pending, current
        pending, current = length, origin
    if current is not None:
        yield pending, current


def first_difference(earlier: Compiled, later: Compiled) -> Difference | None:
    """The first element of the prefix view that changed; `None` when `later` only appends to `earlier`.

    Two requests of one session are compared from where the earlier one was still open: what had settled cannot differ.
    """
    regions = (
        (CacheRegion.TOOLS, earlier.head.tools, later.head.tools),
        (CacheRegion.SYSTEM, earlier.head.system, later.head.system),
    )
    for region, old, new in regions:
        for index, (one, two) in enumerate(zip_longest(old, new)):
            if one is None or two is None or one.data != two.data:
                return _difference(region, index, (one, two), (old, new))
    start = _shared_messages(earlier, later)
    older, newer = earlier.messages_from(start), later.messages_from(start)
    for index, (one, two) in enumerate(zip_longest(older, newer), start):
        if one is None:
            return None
        if two is None or one.data != two.data:
            return _difference(
                CacheRegion.MESSAGES, index, (one, two), (older[index - start :], newer[index - start :])
            )
    return None


def _shared_messages(earlier: Compiled, later: Compiled) -> int:
    """How many messages are the same objects in both."""
    if earlier.head.digest != later.head.digest or not later.settled.continues(earlier.settled):
        return 0
    return len(earlier.settled) + (earlier.head.context is not None)


_Sides: TypeAlias = tuple[Chunk | None, Chunk | None]


def _difference(
    region: CacheRegion, index: int, sides: _Sides, regions: tuple[Sequence[Chunk], Sequence[Chunk]]
) -> Difference:
    """`sides` are the two elements that differ, `regions` all that stand in the region (or behind them) on either side."""
    before, after = _departure(*sides)
    if before is not None and after is not None and before.source != after.source:
        what = _between(before.source, after.source, *map(_sources, regions))
    else:
        named = after or before
        verb = "was added" if sides[0] is None else "is gone" if sides[1] is None else "changed"
        what = f"{_label(named.source) if named is not None else 'an element'} {verb}"
    return Difference(
        region=region, index=index, before=before, after=after, cause=f"{what} in {region.value}[{index}]"
    )


def _between(before: Source, after: Source, old: Sequence[Source], new: Sequence[Source]) -> str:
    """What happened where one source gave way to another: it went, the other came, their order changed, or the earlier one did."""
    if before not in new:
        return f"{_label(before)} is gone" if after in old else f"{_label(before)} became {_label(after)}"
    if after not in old:
        return f"{_label(after)} was added"
    kept_old, kept_new = [one for one in old if one in new], [one for one in new if one in old]
    if kept_old != kept_new:
        return f"{_label(after)} moved in front of {_label(before)}"
    return f"{_label(min(before, after, key=old.index))} changed"


def _sources(chunks: Sequence[Chunk]) -> list[Source]:
    """Who made the elements, in order."""
    return list(
        dict.fromkeys(origin.source for chunk in chunks for _, origin in chunk_runs(chunk) if origin is not WIRE)
    )


def _label(source: Source) -> str:
    return f"{source.kind} {source.name}".strip()


def _departure(old: Chunk | None, new: Chunk | None) -> tuple[Attribution | None, Attribution | None]:
    """The origins at the first byte in which the two elements differ."""
    if old is None or new is None:
        return (None if old is None else _origin_at(old, 0)), (None if new is None else _origin_at(new, 0))
    shorter = min(len(old.data), len(new.data))
    offset = next((at for at in range(shorter) if old.data[at] != new.data[at]), shorter)
    return _origin_at(old, offset), _origin_at(new, offset)


def _origin_at(chunk: Chunk, offset: int) -> Attribution | None:
    """The origin of byte `offset`, or the nearest one before it that is more than syntax."""
    position, nearest = 0, None
    for length, origin in chunk_runs(chunk):
        if origin is not WIRE:
            nearest = origin
        position += length
        if offset < position and nearest is not None:
            return nearest
    return nearest
