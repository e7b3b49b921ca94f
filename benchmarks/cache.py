"""What a session costs in prompt-cache terms: ours beside the marker rules of today's clients and an oracle, on the stand-in's cache.

Decides three reference sessions (narrow, wide, resume) and four foreign marker rules. The oracle reads every byte-identical prefix that was ever
sent and writes what is new, the last request included, although nobody will read that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from compositor.config.price import Price, Tier, find_price
from compositor.context.finish import finish
from compositor.context.head import compile_head
from compositor.context.prefix import empty_prefix, extend
from compositor.emulator.cache import CacheUse, Position, PromptCache, positions_of
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.provenance import Lane, Lifetime
from compositor.types.request import Head, HeadParts
from tests.properties.building import FACTS, OPTIONS, PARTS, WIRE, fragment
from tests.properties.strategies import MODEL, TIME

BYTES_PER_TOKEN = 4
MINIMUM = 1024
Body: TypeAlias = dict[str, Any]


class Scene(Struct, frozen=True, kw_only=True):
    """The bodies of a session in order, without any marker, and the same with ours."""

    name: str
    plain: tuple[Body, ...]
    ours: tuple[Body, ...]


class Costs(Struct, frozen=True, kw_only=True):
    """Input cost of a session as multiples of the oracle's, and how many requests read less than they could."""

    scene: str
    rule: str
    ratio: float
    misses: int


def rows() -> list[Costs]:
    """Every rule on every session."""
    return [
        _costs(scene, rule, _marked(scene, rule)) for scene in (narrow(), wide(), resume()) for rule in ("ours", *RULES)
    ]


def table(found: list[Costs]) -> str:
    lines = [f"{'session':10} {'marker rule':34} {'cost / oracle':>14} {'look-back misses':>17}"]
    lines.extend(f"{row.scene:10} {row.rule:34} {row.ratio:14.3f} {row.misses:17}" for row in found)
    return "\n".join(lines)


def narrow() -> Scene:
    """30 turns of one call: 12 reads, 6 edits, 8 commands of 200 lines, 4 searches, and one change from outside."""
    head = make_head("clean")
    return make_scene("narrow", [(head, _narrow_entries())])


def wide() -> Scene:
    """4 reads, then 4 turns of 12 parallel calls."""
    rng = random.Random(2)
    entries = [prompt(0), *(entry for number in range(4) for entry in make_round(number, 1, 90, rng))]
    entries.extend(entry for number in range(4, 8) for entry in make_round(number, 12, 40, rng))
    return make_scene("wide", [(make_head("clean"), entries)])


def resume() -> Scene:
    """Narrow, stopped, and continued after its own edits moved the state of version control; the foreign rules build their head anew."""
    entries = _narrow_entries()
    rng = random.Random(3)
    more = [prompt(900), *(entry for number in range(100, 106) for entry in make_round(number, 1, 30, rng))]
    before, after = make_head("clean"), make_head("3 files changed")
    ours = make_scene("resume", [(before, [*entries, *more])])
    theirs = make_scene("resume", [(before, entries), (after, more)])
    return Scene(name="resume", plain=theirs.plain, ours=ours.ours)


# ------------------------------------------------------------------------------------------------- marker rules of others


def _system_and_tail(body: Body) -> Body:
    _mark(body["system"][-1])
    _mark(body["messages"][-1]["content"][-1])
    return body


def _last_two_messages(body: Body) -> Body:
    for message in body["messages"][-2:]:
        _mark(message["content"][-1])
    return body


def _automatic(body: Body) -> Body:
    return {**body, "cache_control": {"type": "ephemeral"}}


def _none(body: Body) -> Body:
    return body


RULES: dict[str, Callable[[Body], Body]] = {
    "one system and one tail marker": _system_and_tail,
    "last two messages": _last_two_messages,
    "automatic": _automatic,
    "none": _none,
}


def _mark(block: Body) -> None:
    block["cache_control"] = {"type": "ephemeral"}


def _marked(scene: Scene, rule: str) -> Iterator[Body]:
    if rule == "ours":
        yield from scene.ours
        return
    for body in scene.plain:
        yield RULES[rule](msgspec.json.decode(msgspec.json.encode(body)))


# ------------------------------------------------------------------------------------------------------------- the sums


def _costs(scene: Scene, rule: str, bodies: Iterator[Body]) -> Costs:
    tier = model_tier()
    cache, now, paid, misses = PromptCache(), 0.0, 0.0, 0
    seen: set[str] = set()
    for body in bodies:
        positions = positions_of(body, bytes_per_token=BYTES_PER_TOKEN)
        use, cache = cache.use(positions, minimum=MINIMUM, now=now)
        paid += input_price(use, tier)
        misses += use.read < _known(positions, seen)
        seen.update(position.digest for position in positions)
        now += 5.0
    return Costs(scene=scene.name, rule=rule, ratio=paid / _oracle(scene, tier), misses=misses)


def input_price(use: CacheUse, tier: Tier) -> float:
    written = use.written_5m * tier.write_5m + use.written_1h * tier.write_1h
    return use.read * tier.read + written + use.fresh * tier.input


def _known(positions: tuple[Position, ...], seen: set[str]) -> int:
    """Tokens of the longest prefix that was sent before."""
    return max((position.tokens for position in positions if position.digest in seen), default=0)


def _oracle(scene: Scene, tier: Tier) -> float:
    """The least that our bytes can cost when each request must be readable for the next: known prefixes read, the rest written."""
    seen: set[str] = set()
    cost = 0.0
    for body in scene.ours:
        positions = positions_of(body, bytes_per_token=BYTES_PER_TOKEN)
        known, total = _known(positions, seen), positions[-1].tokens
        seen.update(position.digest for position in positions)
        cost += known * tier.read + (total - known) * tier.write_5m
    return cost


def model_tier() -> Tier:
    price: Price | None = find_price(MODEL)
    if price is None:
        raise LookupError(f"no price for {MODEL!r}")
    return price.tiers[0]


# ------------------------------------------------------------------------------------------------------------- sessions


def make_scene(name: str, legs: list[tuple[Head, list[TranscriptEntry]]]) -> Scene:
    """Every request of the legs: each leg has its own head and goes on with the history of those before it."""
    plain: list[Body] = []
    ours: list[Body] = []
    history: list[TranscriptEntry] = []
    for head, entries in legs:
        prefix = extend(empty_prefix(head, FACTS, WIRE), history)
        for entry in entries:
            prefix = extend(prefix, (entry,))
            if not isinstance(entry, UserEntry):
                continue
            compiled = finish(prefix, OPTIONS)
            ours.append(msgspec.json.decode(compiled.body))
            unmarked = msgspec.structs.replace(OPTIONS, caching=False)
            plain.append(msgspec.json.decode(finish(prefix, unmarked).body))
        history.extend(entries)
    return Scene(name=name, plain=tuple(plain), ours=tuple(ours))


def make_head(state: str) -> Head:
    static = fragment("identity", "You are a careful agent. " * 400, Lane.SYSTEM, Lifetime.RELEASE)
    env = fragment("env", f"Working directory: /p\ngit_status: {state}", Lane.SYSTEM, Lifetime.SESSION)
    memory = fragment("claude_md", "Use small functions. " * 300, Lane.USER_CONTEXT, Lifetime.SESSION)
    return compile_head(HeadParts(tools=PARTS.tools, system=((static,), (env,)), context=(memory,)))


def _narrow_entries() -> list[TranscriptEntry]:
    rng = random.Random(1)
    lines = [80] * 12 + [6] * 6 + [200] * 8 + [25] * 4
    rng.shuffle(lines)
    entries: list[TranscriptEntry] = [prompt(0)]
    for number, length in enumerate(lines):
        entries.extend(make_round(number, 1, length, rng))
        if number == 15:
            note = TextAttachment(kind="edited_text_file", text="a.py was changed from outside: 3000 is 4000 now")
            entries.insert(-1, AttachmentEntry(uuid="n1", parent=None, time=TIME, attachment=note))
    return entries


def prompt(number: int) -> UserEntry:
    return UserEntry(
        uuid=f"p{number}", parent=None, time=TIME, content=(TextBlock(f"Prompt {number}: fix the tests."),)
    )


def make_round(number: int, calls: int, lines: int, rng: random.Random) -> list[TranscriptEntry]:
    ids = [f"toolu_{number}_{position}" for position in range(calls)]
    uses = tuple(ToolUseBlock(one, "Read", raw_json({"file_path": f"/p/{one}.py"})) for one in ids)
    text = "".join(f"{rng.randrange(10_000)}: value = compute({line})\n" for line in range(lines))
    answer = AssistantEntry(
        uuid=f"a{number}",
        parent=None,
        time=TIME,
        message_id=f"m{number}",
        model=MODEL,
        content=(TextBlock(f"Step {number}."), *uses),
        stop_reason="tool_use",
    )
    results = tuple(ToolResultBlock(one, f"{one}\n{text}") for one in ids)
    return [answer, UserEntry(uuid=f"r{number}", parent=None, time=TIME, content=results)]
