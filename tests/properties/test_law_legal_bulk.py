"""Law 1 in bulk: seeded worlds, judged by the product's own rules and by the emulator's, which know nothing of each other.

COMPOSITOR_LAW_WORLDS sets how many (20,000 without it), cut into parts so that several processes can share them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import msgspec
import pytest

from compositor.context.finish import finish
from compositor.context.messages.legality import check_body
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.rules import check_request
from compositor.types.blocks import ToolResultBlock, ToolUseBlock
from compositor.types.diagnostics import Severity
from compositor.types.entries import AssistantEntry
from compositor.types.request import Compiled
from tests.properties.bulk import World, world

WORLDS = int(os.environ.get("COMPOSITOR_LAW_WORLDS", "20000"))
PARTS = 20


def seeds(part: int) -> Iterator[int]:
    return iter(range(part, WORLDS, PARTS))


def compiled_in_steps(given: World, seed: int) -> tuple[Prefix, Compiled]:
    """The request by steps of random size, while every settled byte is watched."""
    rng = Random(seed)
    prefix = empty_prefix(given.head, given.facts, given.wire)
    rest = given.entries
    while rest:
        count = rng.randint(1, len(rest))
        before = [chunk.data for chunk in prefix.settled]
        prefix = extend(prefix, rest[:count])
        assert [chunk.data for chunk in prefix.settled][: len(before)] == before, f"seed {seed}: settled bytes changed"
        rest = rest[count:]
    return prefix, finish(prefix, given.options)


def judge(given: World, compiled: Compiled, seed: int) -> None:
    body = compiled.body
    ours = [found for found in check_body(body, given.wire) if found.severity is Severity.ERROR]
    assert ours == [], f"seed {seed}: {ours}"
    service = ServiceProfile(max_output=128_000, system_role=given.facts.system_role)
    theirs = check_request(msgspec.json.decode(body), dict(compiled.headers), service)
    assert theirs is None, f"seed {seed}: {theirs}"


def intact_pairs(given: World) -> list[str]:
    """Ids of calls that need no repair: whole answers, legal ids that occur once, object input."""
    calls = [
        block
        for entry in given.entries
        if isinstance(entry, AssistantEntry) and entry.stop_reason is not None
        for block in entry.content
        if isinstance(block, ToolUseBlock)
    ]
    ids = [call.id for call in calls]
    legal = ("t1", "t2", "t3", "toolu_01", "a" * 70)
    return [call.id for call in calls if call.id in legal and ids.count(call.id) == 1 and bytes(call.input)[:1] == b"{"]


def sent_calls(compiled: Compiled) -> tuple[list[str], list[str]]:
    blocks = [part.block for chunk in compiled.message_chunks() if chunk.message for part in chunk.message.parts]
    calls = [block.id for block in blocks if isinstance(block, ToolUseBlock)]
    return calls, [block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)]


@pytest.mark.req("R177", "R230", "R234", "R235")
@pytest.mark.parametrize("part", range(PARTS))
def test_seeded_worlds_give_legal_requests(part: int) -> None:
    judged = 0
    for seed in seeds(part):
        given = world(seed)
        prefix, compiled = compiled_in_steps(given, seed)
        cold = finish(extend(empty_prefix(given.head, given.facts, given.wire), given.entries), given.options)
        assert compiled.body == cold.body, f"seed {seed}: stepping and starting anew differ"
        judge(given, compiled, seed)
        calls, results = sent_calls(compiled)
        assert calls == results, f"seed {seed}: results stand in another order than calls"
        intact = set(intact_pairs(given))
        assert [call for call in calls if call in intact] == intact_pairs(given), f"seed {seed}: an intact call is gone"
        assert prefix.view_digest == cold.view_digest
        judged += 1
    assert judged == len(range(part, WORLDS, PARTS))
