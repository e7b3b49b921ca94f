"""Law 2: settled bytes change only at a named prefix event; stepping and starting anew give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.compile import compile_request
from compositor.context.finish import finish
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.context.view import view_bytes
from compositor.types.entries import AssistantEntry
from compositor.types.snapshot import Snapshot
from tests.properties.building import FACTS, HEAD, OPTIONS, WIRE, asked
from tests.properties.strategies import History, conversation, histories


@pytest.mark.req("R262")
@given(histories(), st.randoms(use_true_random=False))
def test_any_grouping_of_the_same_entries_gives_the_bytes_of_the_cold_path(history: History, rng: Random) -> None:
    entries = asked(history)
    prefix = empty_prefix(HEAD, FACTS, WIRE)
    rest = list(entries)
    while rest:
        count = rng.randint(1, len(rest))
        prefix = extend(prefix, rest[:count])
        rest = rest[count:]
    cold = compile_request(Snapshot(head=HEAD, entries=entries, facts=FACTS, options=OPTIONS), WIRE)
    warm = finish(prefix, OPTIONS)
    assert warm.body == cold.body
    assert warm.view_digest == cold.view_digest
    assert warm.size == len(warm.body) == cold.size
    assert warm.omissions == cold.omissions


def requests_of(entries: History) -> Iterator[Prefix]:
    """The requests that were sent: one before each complete answer, and the one that is still open."""
    prefix = empty_prefix(HEAD, FACTS, WIRE)
    for entry in entries:
        if isinstance(entry, AssistantEntry) and entry.stop_reason is not None and prefix.tail.chunks:
            yield prefix
        prefix = extend(prefix, [entry])
    yield prefix


@given(histories())
def test_the_prefix_view_of_each_request_begins_with_that_of_the_one_before(history: History) -> None:
    earlier = None
    for prefix in requests_of(asked(history)):
        view = b"".join(chunk.data + b"," for chunk in (*prefix.settled, *prefix.tail.chunks))
        if earlier is not None:
            assert view.startswith(earlier)
        earlier = view


@given(histories())
def test_extending_leaves_the_value_it_was_made_from_alone(history: History) -> None:
    entries = asked(history)
    middle = len(entries) // 2
    before = extend(empty_prefix(HEAD, FACTS, WIRE), entries[:middle])
    settled, digest = list(before.settled), before.view_digest
    extend(before, entries[middle:])
    other = extend(before, asked(entries[middle:][::-1]))
    again = extend(before, entries[middle:])
    assert list(before.settled) == settled
    assert before.view_digest == digest
    assert again == extend(before, entries[middle:])
    assert other.view_digest == extend(before, asked(entries[middle:][::-1])).view_digest


@pytest.mark.req("R259")
def test_a_long_conversation_settles_each_message_once() -> None:
    entries = tuple(conversation(401))
    prefix = empty_prefix(HEAD, FACTS, WIRE)
    seen: list[bytes] = []
    for entry in entries:
        prefix = extend(prefix, [entry])
        chunks = [chunk.data for chunk in prefix.settled]
        assert chunks[: len(seen)] == seen
        seen = chunks
    compiled = finish(prefix, OPTIONS)
    assert view_bytes(compiled).endswith(prefix.tail.chunks[-1].data + b",")
