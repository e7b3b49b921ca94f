"""The arithmetic of the prompt cache, on the stand-in: pauses that outlive the entries, announcements against rewriting, a large system prompt.

Decides the sessions and what is counted. Prices are those of a model with the public multipliers (writes 1.25 and 2, reads 0.1).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from benchmarks.cache import (
    BYTES_PER_TOKEN,
    MINIMUM,
    RULES,
    Body,
    input_price,
    make_head,
    make_round,
    narrow,
    prompt,
)
from compositor.config.price import Price, Tier, find_price
from compositor.context.cache.lifetime import Use, choose_lifetime
from compositor.context.finish import finish
from compositor.context.head import compile_head
from compositor.context.prefix import empty_prefix, extend
from compositor.emulator.cache import CacheUse, PromptCache, positions_of
from compositor.types.attachments import TextAttachment
from compositor.types.entries import AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.provenance import Lane, Lifetime
from compositor.types.request import Head, HeadParts, RequestOptions, Ttl
from tests.properties.building import FACTS, OPTIONS, PARTS, WIRE, fragment
from tests.properties.strategies import TIME

PRICED = "claude-sonnet-4-5"
PAUSE = 600.0
INSTRUCTIONS = 10_000
SYSTEM = 15_000


class Sum(Struct, frozen=True, kw_only=True):
    """One figure with what it is compared with; `ratio` is value over reference."""

    what: str
    value: float
    reference: float
    against: str

    @property
    def ratio(self) -> float:
        return self.value / self.reference


def rows() -> list[Sum]:
    return [*pauses(), announcements(), large_system(), spread()]


def table(found: list[Sum]) -> str:
    lines = [f"{'what':58} {'value':>12} {'reference':>12} {'ratio':>8}  against"]
    lines.extend(
        f"{row.what:58} {row.value:12,.4g} {row.reference:12,.4g} {row.ratio:8.3f}  {row.against}" for row in found
    )
    return "\n".join(lines)


def pauses() -> list[Sum]:
    """A session with ten minutes in front of every request: each marker rule, ours as it chooses by the sums, against no markers."""
    bare = list(_turns(12, msgspec.structs.replace(OPTIONS, caching=False)))
    none = _dollars(bare)
    found = [
        Sum(
            what=f"a pause before every request: {rule}",
            value=_dollars(_ruled(bare, mark)),
            reference=none,
            against="none",
        )
        for rule, mark in RULES.items()
    ]
    chosen = _dollars(_turns(12, msgspec.structs.replace(OPTIONS, ttl=chosen_lifetime(bare))))
    return [Sum(what="a pause before every request: ours", value=chosen, reference=none, against="none"), *found]


def chosen_lifetime(bodies: list[Body]) -> Ttl:
    """The lifetime for a project whose sessions pause like this one."""
    uses = [
        Use(PAUSE if number else None, positions_of(body, bytes_per_token=BYTES_PER_TOKEN)[-1].tokens)
        for number, body in enumerate(bodies)
    ]
    return choose_lifetime(uses, _price(), wish=None, model=PRICED, eligible=("*",)).ttl


def announcements() -> Sum:
    """Instructions of a server, 50 turns, 2 changes: told at each change, against rewritten outside the cache in every request (R269)."""
    plain = _unread(_turns(50, OPTIONS))
    told = _unread(_turns(50, OPTIONS, announce=(0, 25))) - plain
    rewritten = _unread(_with_tail(body) for body in _turns(50, OPTIONS)) - plain
    return Sum(
        what="rewritten instructions, tokens not read (50 turns)",
        value=rewritten,
        reference=told,
        against="2 announcements",
    )


def large_system() -> Sum:
    """A system prompt of 15K tokens, 100 turns: what it costs in tokens of the input price, against sending it anew each time (R279)."""
    tier = _tier()
    cached = sum(_system_cost(use, tier) for use in _uses(_turns(100, OPTIONS, head=_large_head(), lines=1)))
    return Sum(
        what="a system prompt of 15K tokens for 100 turns",
        value=cached,
        reference=100 * SYSTEM,
        against="without cache",
    )


def spread() -> Sum:
    """The dearest request of the narrow session over its cheapest (R280)."""
    costs = [input_price(use, _tier()) for use in _uses(iter(narrow().ours))]
    return Sum(
        what="the dearest request of the narrow session", value=max(costs), reference=min(costs), against="the cheapest"
    )


def _turns(
    count: int, options: RequestOptions, *, announce: tuple[int, ...] = (), head: Head | None = None, lines: int = 20
) -> Iterator[Body]:
    rng = random.Random(4)
    prefix = extend(empty_prefix(head or make_head("clean"), FACTS, WIRE), [prompt(0)])
    for number in range(count):
        entries: list[TranscriptEntry] = make_round(number, 1, lines, rng)
        if number in announce:
            text = f"instructions {number} " + "a" * (INSTRUCTIONS * BYTES_PER_TOKEN)
            note = TextAttachment(kind="mcp_instructions", text=text)
            entries.append(AttachmentEntry(uuid=f"i{number}", parent=None, time=TIME, attachment=note))
        for entry in entries:
            prefix = extend(prefix, (entry,))
        assert isinstance(entries[1], UserEntry)
        yield msgspec.json.decode(finish(prefix, options).body)


def _large_head() -> Head:
    text = "s" * (SYSTEM * BYTES_PER_TOKEN - 200)
    static = fragment("identity", text, Lane.SYSTEM, Lifetime.RELEASE)
    return compile_head(HeadParts(tools=PARTS.tools, system=((static,),)))


def _with_tail(body: Body) -> Body:
    """The instructions behind the last marker, as clients that rebuild them in every request send them."""
    body["messages"][-1]["content"].append({"type": "text", "text": "b" * (INSTRUCTIONS * BYTES_PER_TOKEN)})
    return body


def _ruled(bodies: list[Body], mark: Callable[[Body], Body]) -> Iterator[Body]:
    for body in bodies:
        yield mark(msgspec.json.decode(msgspec.json.encode(body)))


def _uses(bodies: Iterator[Body], pause: float = 5.0) -> Iterator[CacheUse]:
    cache, now = PromptCache(), 0.0
    for body in bodies:
        use, cache = cache.use(positions_of(body, bytes_per_token=BYTES_PER_TOKEN), minimum=MINIMUM, now=now)
        now += pause
        yield use


def _dollars(bodies: Iterator[Body] | list[Body]) -> float:
    return sum(input_price(use, _tier()) for use in _uses(iter(bodies), PAUSE)) / 1_000_000


def _unread(bodies: Iterator[Body]) -> int:
    return sum(use.total - use.read for use in _uses(bodies))


def _system_cost(use: CacheUse, tier: Tier) -> float:
    """Tokens of the input price that the system prompt alone costs in this request."""
    factor = tier.read if use.read >= SYSTEM * 0.9 else tier.write_5m
    return SYSTEM * factor / tier.input


def _price() -> Price:
    price = find_price(PRICED)
    if price is None:
        raise LookupError(f"no price for {PRICED!r}")
    return price


def _tier() -> Tier:
    return _price().tiers[0]
