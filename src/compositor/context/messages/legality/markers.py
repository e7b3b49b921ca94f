"""The rules of cache markers: how many, in which order of lifetimes, on what.

Decides over `Mark` values in wire order, whether they come from a plan or from a foreign body. Never places one: that is
`cache/breakpoints.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from compositor.types.blocks import THINKING_TYPES, TextBlock
from compositor.types.messages import WireMessage
from compositor.types.request import CacheRegion, Head, MarkerPlan, Ttl

from .rules import Violation

MAX_MARKERS = 4


class Mark(Struct, frozen=True, kw_only=True):
    """One explicit marker. `path` is that of the marked object; `is_last`: it stands on the last block of the body."""

    path: str
    ttl: str = Ttl.SHORT.value
    is_last: bool = False


def check_markers(marks: Sequence[Mark], *, automatic: str | None = None) -> Iterator[Violation]:
    """Number and order of the marks, given in the order tools, system, messages.

    `automatic` is the lifetime of automatic caching, `None` when it is off.
    """
    last = next((mark for mark in marks if mark.is_last), None)
    if automatic is not None and last is not None and last.ttl != automatic:
        yield Violation("L126", "cache_control.ttl", f"{automatic!r} is not the {last.ttl!r} of {last.path}")
    if len(marks) > MAX_MARKERS:
        yield Violation(
            "L120", f"{marks[MAX_MARKERS].path}.cache_control", f"{len(marks)} markers are above {MAX_MARKERS}"
        )
    elif len(marks) == MAX_MARKERS and automatic is not None and last is None:
        yield Violation("L128", "cache_control", f"automatic caching beside {MAX_MARKERS} markers")
    yield from _check_order(marks, automatic)


def _check_order(marks: Sequence[Mark], automatic: str | None) -> Iterator[Violation]:
    short: str | None = None
    for mark in marks:
        if mark.ttl == Ttl.SHORT.value:
            short = short or mark.path
        elif short is not None:
            yield Violation("L121", f"{mark.path}.cache_control.ttl", f"a 1h marker stands after the 5m one of {short}")
    if automatic == Ttl.LONG.value and short is not None and not any(mark.is_last for mark in marks):
        yield Violation("L121", "cache_control.ttl", f"automatic caching for 1h stands after the 5m marker of {short}")


def check_planned(
    markers: Sequence[MarkerPlan], head: Head, message_at: Callable[[int], WireMessage] | None
) -> Iterator[Violation]:
    """Our own plan: number, order and targets. `message_at` gives the message at an index of `messages`."""
    order = list(CacheRegion)
    planned = sorted(markers, key=lambda marker: (order.index(marker.region), marker.index, marker.block))
    yield from check_markers([Mark(path=marker.path, ttl=marker.ttl.value) for marker in planned])
    for marker in planned:
        if marker.region is CacheRegion.TOOLS and marker.index >= len(head.tools):
            yield Violation("L106", f"{marker.path}.cache_control", "a deferred tool has a cache marker")
        elif marker.region is CacheRegion.MESSAGES and message_at is not None:
            yield from _check_target(message_at(marker.index), marker)


def _check_target(message: WireMessage, marker: MarkerPlan) -> Iterator[Violation]:
    block = message.parts[marker.block].block
    if isinstance(block, THINKING_TYPES):
        yield Violation("L89", f"{marker.path}.cache_control", "thinking has a cache marker")
    elif isinstance(block, TextBlock) and not block.text:
        yield Violation("L122", f"{marker.path}.cache_control", "empty text has a cache marker")


def read_marks(body: Mapping[str, Any]) -> tuple[tuple[Mark, ...], tuple[Violation, ...]]:
    """The markers of a foreign body in wire order, and those that stand on empty text (L122)."""
    marks: list[Mark] = []
    wrong: list[Violation] = []
    for path, block, is_last in _markable(body):
        marker = block.get("cache_control")
        if not isinstance(marker, dict):
            continue
        ttl = marker.get("ttl")
        marks.append(Mark(path=path, ttl=ttl if isinstance(ttl, str) else Ttl.SHORT.value, is_last=is_last))
        if block.get("type") == "text" and block.get("text") == "":
            wrong.append(Violation("L122", f"{path}.cache_control", "empty text has a cache marker"))
    return tuple(marks), tuple(wrong)


def _markable(body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for region in ("tools", "system"):
        for path, block in _blocks(body.get(region), region):
            yield path, block, False
    messages = body.get("messages")
    if not isinstance(messages, list):
        return
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        newest = len(content) - 1 if index == len(messages) - 1 and isinstance(content, list) else -1
        for block_index, (path, block) in enumerate(_blocks(content, f"messages[{index}].content")):
            for inner_path, inner in _blocks(block.get("content"), f"{path}.content"):
                yield inner_path, inner, False
            yield path, block, block_index == newest


def _blocks(value: object, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield f"{path}[{index}]", item
