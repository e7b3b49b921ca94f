"""Law 4: spans tile the body, and each of them has a source. Law 5: within a region nothing faster stands before something slower."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.compile import compile_request
from compositor.context.explain import first_difference, source_at, spans
from compositor.types.provenance import Lane
from compositor.types.request import Compiled, Head
from compositor.types.snapshot import Snapshot
from tests.properties.building import BARE, FACTS, HEAD, OPTIONS, WIRE, asked
from tests.properties.strategies import History, histories

LANE_ORDER = [Lane.TOOLS, Lane.SYSTEM, Lane.USER_CONTEXT, Lane.CONVERSATION, Lane.SCALAR]


def compiled_from(history: History, head: Head = HEAD) -> Compiled:
    return compile_request(Snapshot(head=head, entries=asked(history), facts=FACTS, options=OPTIONS), WIRE)


@pytest.mark.req("R015")
@given(histories(), st.sampled_from([HEAD, BARE]))
def test_spans_tile_the_body_and_each_has_a_source(history: History, head: Head) -> None:
    compiled = compiled_from(history, head)
    body = compiled.body
    position = 0
    for span in spans(compiled):
        assert span.start == position < span.end
        assert span.origin.source.kind
        position = span.end
    assert position == len(body)


@given(histories(), st.randoms(use_true_random=False))
def test_each_byte_is_found_in_the_span_that_holds_it(history: History, rng: Random) -> None:
    compiled = compiled_from(history)
    offset = rng.randrange(compiled.size)
    found = source_at(compiled, offset)
    assert found in spans(compiled)
    assert found.start <= offset < found.end


@given(histories())
def test_spans_of_syntax_hold_no_word_of_content(history: History) -> None:
    compiled = compiled_from(history)
    body = compiled.body
    for span in spans(compiled):
        if span.origin.lane is Lane.WIRE:
            text = body[span.start : span.end].decode()
            for allowed in ("tools", "system", "messages", "role", "user", "assistant", "content", "type", "text"):
                text = text.replace(f'"{allowed}"', "")
            assert text.replace('"cache_control"', "").replace('"ephemeral"', "").strip('{}[]:,"') == ""


@given(histories())
def test_within_a_region_lifetimes_never_decrease(history: History) -> None:
    regions: dict[str, list[int]] = {}
    names = {Lane.TOOLS: "tools", Lane.SYSTEM: "system", Lane.SCALAR: "scalars"}
    for span in spans(compiled_from(history)):
        if span.origin.lane is not Lane.WIRE:
            regions.setdefault(names.get(span.origin.lane, "messages"), []).append(span.origin.lifetime)
    for lifetimes in regions.values():
        assert lifetimes == sorted(lifetimes)


@pytest.mark.req("R093")
@given(histories())
def test_the_first_difference_of_a_request_and_its_continuation_is_none(history: History) -> None:
    one = compiled_from(history)
    two = compile_request(Snapshot(head=HEAD, entries=asked(asked(history)), facts=FACTS, options=OPTIONS), WIRE)
    difference = first_difference(one, two)
    assert difference is None or difference.region == "messages"
