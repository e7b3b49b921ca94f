"""`compositor explain --dry-run`: everything that would leave this machine, piece by piece, before anything is sent (R396, R398).

Decides the rows. They and the JSON syntax between them are the whole body, so nothing can go out that is not listed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from compositor.cli.inputs import Preview
from compositor.cli.report import Row, label, source_rows


class Piece(Struct, frozen=True, kw_only=True):
    """One row of the list. `start` and `size` in bytes of the body, `sha256` of exactly those bytes (hex)."""

    start: int
    size: int
    tokens: int
    source: str
    lane: str
    lifetime: str
    gate: str
    sha256: str


class Audit(Struct, frozen=True, kw_only=True):
    """What would be sent, where to, and what was kept back. `syntax` counts the bytes between the pieces."""

    to: str
    sends: bool
    headers: tuple[str, ...]
    size: int
    sha256: str
    syntax: int
    pieces: tuple[Piece, ...]
    kept_back: tuple[str, ...]


def plan_audit(found: Preview, environ: Mapping[str, str]) -> Audit:
    """The list for a compiled request. Header values are not shown: some are secret."""
    from compositor.adapters.providers.credentials import resolve_endpoint

    compiled, base = found.compiled, found.opened.around.cwd
    body, rows = compiled.body, source_rows(compiled)
    endpoint = resolve_endpoint(environ)
    names = {
        *(name for name, _ in compiled.headers),
        *(("authorization or x-api-key",) if endpoint.has_credentials else ()),
    }
    return Audit(
        to=endpoint.url,
        sends=endpoint.has_credentials,
        headers=tuple(sorted(names)),
        size=compiled.size,
        sha256=hashlib.sha256(body).hexdigest(),
        syntax=compiled.size - sum(row.size for row in rows),
        pieces=tuple(_piece(row, body, base) for row in rows),
        kept_back=tuple(f"{one.what}: {one.reason} ({one.step})" for one in compiled.omissions),
    )


def audit_lines(audit: Audit) -> Iterator[str]:
    """The list as text."""
    key = "" if audit.sends else " (there is no key: it could not be sent)"
    yield f"Nothing was sent. These {audit.size:,} bytes would go to {audit.to}{key}"
    yield f"sha256 {audit.sha256}; headers: {', '.join(audit.headers)}"
    yield ""
    yield f"{'bytes':>9} {'tokens':>8}  {'lane':12} {'lifetime':12} {'sha256':12}  source, and why it is let in"
    for piece in audit.pieces:
        why = f" [{piece.gate}]" if piece.gate else ""
        yield (
            f"{piece.size:9,} {piece.tokens:8,}  {piece.lane:12} {piece.lifetime:12} {piece.sha256[:12]}  {piece.source}{why}"
        )
    yield f"{audit.syntax:9,} {'':8}  {'wire':12} {'':12} {'':12}  JSON syntax and markers"
    yield ""
    yield f"kept back: {len(audit.kept_back)}"
    yield from (f"  {line}" for line in audit.kept_back)


def base_lines(shares: tuple[Any, ...]) -> Iterator[str]:
    """The base line as a table: what each extension costs in each request, and what is absent."""
    yield f"{'base line':20} {'pieces':>6} {'tokens':>9} {'$ read':>9} {'$ written':>9}"
    for share in shares:
        if not share.pieces:
            yield f"{share.group:20} absent"
            continue
        read = "?" if share.read is None else f"{share.read:.5f}"
        written = "?" if share.written is None else f"{share.written:.5f}"
        yield f"{share.group:20} {share.pieces:6} {share.tokens:9,} {read:>9} {written:>9}"


def _piece(row: Row, body: bytes, base: str) -> Piece:
    data = body[row.start : row.start + row.size]
    return Piece(
        start=row.start,
        size=row.size,
        tokens=row.tokens,
        source=label(row.origin, base),
        lane=row.origin.lane.value,
        lifetime=row.origin.lifetime.name.lower(),
        gate=row.origin.gate,
        sha256=hashlib.sha256(data).hexdigest(),
    )
