"""How a compiled request reads for a person: regions, markers, sources in wire order, what was left out.

Decides layout only. Every figure comes from `context/explain` and `context/tokens`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from compositor.context.explain import spans
from compositor.context.tokens import count_request, estimate_tokens
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.provenance import Attribution, Lane, Omission
from compositor.types.request import Compiled


class Row(Struct, frozen=True, kw_only=True):
    """Neighboring spans of one source, as one row. `start` in bytes of the body; `tokens` estimated; `marker` behind it, in words."""

    start: int
    size: int
    tokens: int
    origin: Attribution
    marker: str = ""


def source_rows(compiled: Compiled, scale: float = 1.0) -> tuple[Row, ...]:
    """The request in wire order: who put what there. Syntax between two pieces belongs to no row."""
    body = compiled.body
    rows: list[Row] = []
    reasons = iter([f"{marker.ttl.value} at {marker.path}: {marker.reason}" for marker in compiled.markers])
    for span in spans(compiled):
        if span.origin.source.name == "cache_control" and rows:
            rows[-1] = msgspec.structs.replace(rows[-1], marker=next(reasons, ""))
        if span.origin.lane is Lane.WIRE:
            continue
        size = span.end - span.start
        tokens = estimate_tokens(body[span.start : span.end], scale)
        if rows and _joins(rows[-1], span.origin):
            last = rows[-1]
            rows[-1] = msgspec.structs.replace(last, size=last.size + size, tokens=last.tokens + tokens)
        else:
            rows.append(Row(start=span.start, size=size, tokens=tokens, origin=span.origin))
    return tuple(rows)


def _joins(row: Row, origin: Attribution) -> bool:
    """Whether a piece continues the row: one file's pieces, or the options of a request."""
    if row.marker:
        return False
    one, two = row.origin.source, origin.source
    return (one.kind, one.name, one.path) == (two.kind, two.name, two.path) and row.origin.lane is origin.lane


def label(origin: Attribution, base: str = "") -> str:
    """A source in a few words; a path below `base` is told from there."""
    source = origin.source
    place = (source.path or source.name).removeprefix(f"{base}/")
    line = f":{source.line}" if source.line and source.line > 1 else ""
    return f"{source.kind} {place}{line}"


def region_lines(compiled: Compiled, scale: float = 1.0) -> Iterator[str]:
    """The three regions with their estimated tokens and share (R022)."""
    tokens = count_request(compiled, scale)
    total = max(tokens.total, 1)
    counts = {
        "tools": len(compiled.head.tools) + len(compiled.head.deferred),
        "system": len(compiled.head.system),
        "messages": sum(1 for _ in compiled.message_chunks()),
    }
    yield f"{'region':10} {'elements':>8} {'tokens':>9} {'share':>6}"
    for name, count in counts.items():
        share = getattr(tokens, name)
        yield f"{name:10} {count:8} {share:9,} {share / total:6.0%}"
    yield f"{'total':10} {'':8} {tokens.total:9,}  {compiled.size:,} bytes; tokens: {tokens.method}"


def marker_lines(compiled: Compiled) -> Iterator[str]:
    if not compiled.markers:
        yield "no cache markers"
    for marker in compiled.markers:
        yield f"marker {marker.ttl.value} at {marker.path}: {marker.reason}"


def table_lines(rows: Sequence[Row], width: int, *, size: int, base: str = "") -> Iterator[str]:
    """Source rows as a table of `width` columns, and what JSON syntax takes of the body's `size` bytes.

    Long names are cut at the left, where paths say least. Why a piece was let in stands below the last of those that it holds for.
    """
    yield f"{'byte':>9} {'bytes':>9} {'tokens':>8}  {'lane':12} {'lifetime':12} source"
    room = max(width - _INDENT, 24)
    for row, following in zip(rows, (*rows[1:], None), strict=True):
        name = label(row.origin, base)
        shown = name if len(name) <= room else f"...{name[3 - room :]}"
        lane, lifetime = row.origin.lane.value, row.origin.lifetime.name.lower()
        yield f"{row.start:9,} {row.size:9,} {row.tokens:8,}  {lane:12} {lifetime:12} {shown}"
        gate = row.origin.gate
        if gate and (following is None or row.marker or gate != following.origin.gate):
            yield from _below(f"let in: {gate}", width)
        if row.marker:
            yield from _below(f"^ cache marker {row.marker}", width)
    yield f"{'':9} {size - sum(row.size for row in rows):9,} {'':8}  {'wire':12} {'':12} JSON syntax and markers"


_INDENT = 56
"""Columns before the source of a row."""


def _below(text: str, width: int) -> Iterator[str]:
    """A remark under the right part of a row, on as many lines as it takes; further left where the terminal is narrow."""
    indent = " " * (_INDENT if width >= 2 * _INDENT else 21)
    yield from textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=f"{indent}  ")


def cached_line(compiled: Compiled, rows: Sequence[Row]) -> str:
    """In one line what the next request can read from the cache instead of sending it anew."""
    marked = [number for number, row in enumerate(rows, start=1) if row.marker]
    if not marked:
        return "cached: nothing, there is no cache marker"
    total = sum(row.tokens for row in rows)
    stable = sum(row.tokens for row in rows[: marked[0]])
    whole = sum(row.tokens for row in rows[: marked[-1]])
    if len(marked) == 1:
        return f"cached: about {whole:,} of {total:,} tokens, up to {compiled.markers[-1].path}"
    return (
        f"cached: about {whole:,} of {total:,} tokens, up to {compiled.markers[-1].path}; "
        f"{stable:,} of them, up to {compiled.markers[0].path}, whatever follows"
    )


def omission_lines(omissions: Sequence[Omission]) -> Iterator[str]:
    if not omissions:
        yield "nothing was left out"
    for found in omissions:
        where = f" [{found.source.path or found.source.name}]" if found.source is not None else ""
        yield f"left out by {found.step}: {found.what}{where}: {found.reason}"


def diagnostic_lines(diagnostics: Iterable[Diagnostic], least: Severity = Severity.WARNING) -> Iterator[str]:
    """One line a diagnostic of at least this severity."""
    order = [Severity.INFO, Severity.WARNING, Severity.ERROR]
    for found in diagnostics:
        if order.index(found.severity) >= order.index(least):
            where = f" ({found.where})" if found.where else ""
            hint = f" {found.hint}" if found.hint else ""
            yield f"{found.severity.value}: {found.message}{where}.{hint}"


def spans_json(compiled: Compiled) -> list[dict[str, Any]]:
    """Every span as plain data; together they tile the body."""
    return [
        {
            "start": span.start,
            "end": span.end,
            "source": {
                "kind": span.origin.source.kind,
                "name": span.origin.source.name,
                "path": span.origin.source.path,
                "line": span.origin.source.line,
            },
            "lane": span.origin.lane.value,
            "lifetime": span.origin.lifetime.name.lower(),
            "gate": span.origin.gate,
        }
        for span in spans(compiled)
    ]


def markers_json(compiled: Compiled) -> list[dict[str, str]]:
    return [{"path": marker.path, "ttl": marker.ttl.value, "reason": marker.reason} for marker in compiled.markers]


def tokens_json(compiled: Compiled, scale: float = 1.0) -> dict[str, Any]:
    tokens = count_request(compiled, scale)
    return {
        "system": tokens.system,
        "tools": tokens.tools,
        "messages": tokens.messages,
        "total": tokens.total,
        "method": tokens.method,
    }
