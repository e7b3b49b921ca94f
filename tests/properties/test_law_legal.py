"""Law 1: what goes out breaks no verified wire rule, whatever came in; the fold and the whole check agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.compile import compile_request
from compositor.context.messages.legality import check_body
from compositor.types.diagnostics import Severity
from compositor.types.request import Head
from compositor.types.snapshot import Facts, Snapshot
from tests.properties.building import BARE, BINDING, FACTS, HEAD, OPTIONS, WIRE, asked
from tests.properties.strategies import History, histories


@pytest.mark.req("R177")
@given(histories(), st.sampled_from([HEAD, BARE]), st.sampled_from([FACTS, BINDING]))
def test_every_history_gives_a_legal_request(history: History, head: Head, facts: Facts) -> None:
    compiled = compile_request(Snapshot(head=head, entries=asked(history), facts=facts, options=OPTIONS), WIRE)
    errors = [found for found in check_body(compiled.body, WIRE) if found.severity is Severity.ERROR]
    assert errors == []


@pytest.mark.req("R154")
@given(histories())
def test_nothing_is_dropped_in_silence(history: History) -> None:
    compiled = compile_request(Snapshot(head=HEAD, entries=asked(history), facts=FACTS, options=OPTIONS), WIRE)
    named = {omission.source.name for omission in compiled.omissions if omission.source is not None}
    carried = {
        origin.source.name
        for chunk in compiled.message_chunks()
        if chunk.message is not None
        for part in chunk.message.parts
        for origin in (part.origin, *part.notes)
    }
    for entry in history:
        assert entry.uuid in named | carried or not getattr(entry, "content", (1,))
