"""The same requests under another plan: what they would have read, written and cost by the documented rules of the cache.

Decides the positions; reads and writes are those of `context/cache/book.py`. Everything here is an estimate: prompts are the reported ones,
but the service was never asked. A break that no plan could have prevented (a changed system prompt, a clearing) stays one.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

from msgspec import Struct

from compositor.config.price import Said, cost, priced
from compositor.context.cache.book import CacheBook, Expected
from compositor.context.cache.positions import LOOK_BACK, Position
from compositor.types.request import Ttl
from compositor.types.usage import CacheCreation, Usage, add_usage

from .breaks import lifetime
from .rows import Break, Cause, Request

MINIMUM = 1_024
SUMMARY = 12_000
"""Tokens that a compacted conversation begins with: about what recorded boundaries of this family report."""
SUMMARY_OUTPUT = 3_000


class Markers(enum.StrEnum):
    """Where markers stand: nowhere, behind the head, at the end of the request, or there, behind the head and at the end of the one before."""

    NONE = "none"
    HEAD = "head"
    END = "end"
    ALL = "all"


class Plan(Struct, frozen=True, kw_only=True):
    """What is changed against the record; a field left alone stays as recorded. `defer` and `threshold` in tokens.

    `prices` are dollars for a million tokens of input and of output, for every model.
    """

    name: str
    ttl: Ttl | None = None
    markers: Markers = Markers.ALL
    model: str | None = None
    defer: int = 0
    threshold: int | None = None
    prices: tuple[float, float] | None = None


RECORDED = Plan(name="as recorded")


class Outcome(Struct, kw_only=True):
    """What a plan comes to. Tokens and dollars are estimates; `unpriced` requests are in neither."""

    plan: str
    usage: Usage = Usage()
    dollars: float = 0.0
    requests: int = 0
    unpriced: int = 0
    compactions: int = 0

    def add(self, other: Outcome) -> None:
        """Take in what the same plan comes to for another session."""
        self.usage = add_usage(self.usage, other.usage)
        self.dollars += other.dollars
        self.requests += other.requests
        self.unpriced += other.unpriced
        self.compactions += other.compactions


class _Run:
    """One session under one plan."""

    def __init__(self, requests: Sequence[Request], breaks: Sequence[Break], plan: Plan, said: Said) -> None:
        self._requests = requests
        self._cut = {found.request for found in breaks if found.cause not in _PREVENTABLE}
        self._plan = plan
        self._said = said
        self._book = CacheBook()
        self._heads: dict[int, int] = {}
        self._offsets: dict[int, int] = {}
        self._now = 0.0
        self.outcome = Outcome(plan=plan.name)

    def step(self, at: int, request: Request) -> None:
        opening = request.opening
        if opening is None or not opening.total_input or request.usage is None:
            return
        self._now = max(self._now, request.time or self._now)
        base = request.follows
        root = max(opening.total_input - request.messages, 0)
        self._heads[at] = head = self._heads.get(base, root) if base >= 0 else root
        offset = self._offsets.get(base, 0) if base >= 0 else 0
        total = opening.total_input - offset - min(self._plan.defer, head)
        cut = at in self._cut
        threshold = self._plan.threshold
        if threshold is not None and total > max(threshold, head + 2 * SUMMARY):
            self._pay(
                request,
                Expected(read=total, written_5m=0, written_1h=0, fresh=0, hit=None, last_write=None),
                SUMMARY_OUTPUT,
            )
            self.outcome.compactions += 1
            offset += total - (head + SUMMARY)
            total, cut = head + SUMMARY, True
        self._offsets[at] = offset
        positions = tuple(self._positions(at, request, total, cut=cut))
        expected = self._book.expect(positions, total=total, minimum=MINIMUM, now=self._now)
        self._book = self._book.after(positions, expected, minimum=MINIMUM, now=self._now)
        self._pay(request, expected, request.usage.output_tokens)
        self.outcome.requests += 1

    def _positions(self, at: int, request: Request, total: int, *, cut: bool) -> Iterator[Position]:
        plan, requests = self._plan, self._requests
        model = plan.model or request.model
        ttl = plan.ttl or (Ttl.LONG if lifetime(request) > 300.0 else Ttl.SHORT)
        marked = plan.markers
        head = max(self._heads[at] - min(plan.defer, self._heads[at]), 0)
        opening = request.opening
        if head and not (cut and opening is not None and opening.read == 0):
            place = ttl if marked in {Markers.HEAD, Markers.ALL} else None
            yield Position(
                key=f"{model}|head|{request.lane}", ordinal=1, tokens=min(head, total), what="head", ttl=place
            )
        ancestors: list[int] = []
        base = -1 if cut else request.follows
        while base >= 0 and request.blocks - requests[base].blocks < LOOK_BACK * 2 and len(ancestors) < LOOK_BACK:
            ancestors.append(base)
            base = requests[base].follows
        for earlier in reversed(ancestors):
            row = requests[earlier]
            shown = row.opening
            tokens = (
                0
                if shown is None
                else shown.total_input - self._offsets.get(earlier, 0) - min(plan.defer, self._heads.get(earlier, 0))
            )
            place = ttl if earlier == request.follows and marked is Markers.ALL else None
            key = f"{model}|{request.effort}|{earlier}"
            yield Position(
                key=key, ordinal=row.blocks + 2, tokens=min(max(tokens, 0), total), what="earlier end", ttl=place
            )
        place = ttl if marked in {Markers.END, Markers.ALL} else None
        yield Position(
            key=f"{model}|{request.effort}|{at}", ordinal=request.blocks + 2, tokens=total, what="end", ttl=place
        )

    def _pay(self, request: Request, expected: Expected, output: int) -> None:
        model, said = self._plan.model or request.model, self._said
        if self._plan.prices is not None:
            said = {model: dict(zip(("input", "output"), self._plan.prices, strict=True))}
        price = priced(model, said)
        usage = Usage(
            input_tokens=expected.fresh,
            output_tokens=output,
            cache_read_input_tokens=expected.read,
            cache_creation_input_tokens=expected.written_5m + expected.written_1h,
            cache_creation=CacheCreation(expected.written_5m, expected.written_1h),
        )
        if price is None:
            self.outcome.unpriced += 1
            return
        self.outcome.usage = add_usage(self.outcome.usage, usage)
        self.outcome.dollars += cost(usage, price)


def simulate(
    requests: Sequence[Request],
    breaks: Sequence[Break],
    plan: Plan,
    said: Said = {},  # noqa: B006 - never changed
    skip: frozenset[int] = frozenset(),
) -> Outcome:
    """What the requests come to under `plan`; those in `skip` (copies) are left out."""
    run = _Run(requests, breaks, plan, said)
    for at, request in enumerate(requests):
        if at not in skip:
            run.step(at, request)
    return run.outcome


# Other breaks are the record's own and happen under every plan. A changed model or setting is another key already.
_PREVENTABLE = frozenset({Cause.EXPIRY, Cause.WIDE_TURN, Cause.MODEL_SWITCH, Cause.SETTINGS})
