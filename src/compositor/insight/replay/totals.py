"""Sums over replayed sessions: by session, project, model and day, with each request counted once however many copies there are.

Decides the sums. A request without usage or price is counted as unknown and is in no sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from msgspec import Struct, field, structs

from compositor.config.price import Price, Said, cost, priced

from .rows import Request, Session


class Row(Struct, kw_only=True):
    """One line of a table. Tokens are confirmed figures; `breaks` counts them, `lost` their tokens, `wasted` their dollars."""

    name: str
    requests: int = 0
    read: int = 0
    written: int = 0
    fresh: int = 0
    output: int = 0
    dollars: float = 0.0
    uncached: float = 0.0
    unknown: int = 0
    breaks: int = 0
    lost: int = 0
    wasted: float = 0.0

    @property
    def hit_ratio(self) -> float | None:
        """Share of the prompt tokens that was read from the cache."""
        total = self.read + self.written + self.fresh
        return self.read / total if total else None


class Accuracy(Struct, kw_only=True):
    """Reconstructed prompts against reported ones: requests that have both, and their summed tokens and errors."""

    compared: int = 0
    reported: int = 0
    estimated: int = 0
    errors: list[float] = field(default_factory=list)

    @property
    def median_error(self) -> float | None:
        """Half of the prompts are reconstructed at least this well (a share of the reported tokens)."""
        ordered = sorted(self.errors)
        return ordered[len(ordered) // 2] if ordered else None


class Totals(Struct, kw_only=True):
    """Everything that was counted."""

    all: Row = field(default_factory=lambda: Row(name="all"))
    sessions: dict[str, Row] = field(default_factory=dict)
    projects: dict[str, Row] = field(default_factory=dict)
    models: dict[str, Row] = field(default_factory=dict)
    days: dict[str, Row] = field(default_factory=dict)
    causes: dict[str, Row] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    accuracy: Accuracy = field(default_factory=Accuracy)
    files: int = 0
    lines: int = 0
    size: int = 0
    damaged: int = 0
    copies: int = 0


class Ledger:
    """Takes sessions one after the other and keeps sums only."""

    def __init__(self, said: Said = {}) -> None:  # noqa: B006 - never changed
        self.totals = Totals()
        self._said = said
        self._seen: set[int] = set()
        self._prices: dict[str, Price | None] = {}
        self._sources: Counter[str] = Counter()

    def add(self, session: Session) -> frozenset[int]:
        """Count a session; gives the positions of requests that an earlier file had already."""
        totals = self.totals
        totals.files += 1
        totals.lines += session.lines
        totals.size += session.size
        totals.damaged += session.damaged
        self._sources.update(session.sources)
        totals.sources = dict(self._sources.most_common())
        copies = {at for at, request in enumerate(session.requests) if request.key in self._seen}
        self._seen.update(request.key for request in session.requests)
        totals.copies += len(copies)
        for at, request in enumerate(session.requests):
            if at not in copies:
                self._count(request, self._rows(session, request))
        for found in session.breaks:
            if found.request not in copies:
                cause = totals.causes.setdefault(found.cause.value, Row(name=found.cause.value))
                for row in (*self._rows(session, session.requests[found.request]), cause):
                    row.breaks += 1
                    row.lost += found.lost
                    row.wasted += found.dollars or 0.0
        return frozenset(copies)

    def _rows(self, session: Session, request: Request) -> tuple[Row, ...]:
        totals = self.totals
        return (
            totals.all,
            totals.sessions.setdefault(session.path, Row(name=session.session_id or session.path)),
            _row(totals.projects, session.project or "?"),
            _row(totals.models, request.model),
            _row(totals.days, day_of(request.time)),
        )

    def _count(self, request: Request, rows: Iterable[Row]) -> None:
        usage, price = request.usage, self._price(request.model)
        dollars = None if usage is None or price is None else cost(usage, price)
        for row in rows:
            row.requests += 1
            row.unknown += dollars is None
            row.dollars += dollars or 0.0
            if usage is not None:
                row.read += usage.read
                row.written += usage.written
                row.fresh += usage.input_tokens
                row.output += usage.output_tokens
                if price is not None:
                    plain = structs.replace(
                        usage,
                        input_tokens=usage.total_input,
                        cache_read_input_tokens=0,
                        cache_creation_input_tokens=0,
                        cache_creation=None,
                    )
                    row.uncached += cost(plain, price)
        opening = request.opening
        if opening is not None and request.estimated is not None and opening.total_input:
            accuracy = self.totals.accuracy
            accuracy.compared += 1
            accuracy.reported += opening.total_input
            accuracy.estimated += request.estimated
            accuracy.errors.append(abs(request.estimated - opening.total_input) / opening.total_input)

    def _price(self, model: str) -> Price | None:
        if model not in self._prices:
            self._prices[model] = priced(model, self._said)
        return self._prices[model]


def day_of(time: float | None) -> str:
    """The day in UTC."""
    return "?" if time is None else datetime.fromtimestamp(time, UTC).date().isoformat()


def _row(rows: dict[str, Row], name: str) -> Row:
    return rows.setdefault(name, Row(name=name))


def ranked(rows: Mapping[str, Row]) -> list[Row]:
    """Dearest first; without money, most requests first."""
    return sorted(rows.values(), key=lambda row: (-row.dollars, -row.wasted, -row.requests, row.name))
