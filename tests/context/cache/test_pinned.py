"""Per-call edits as a data structure: pins only grow, bytes only grow at their end, messages stay (R272 to R275, R277)."""

from __future__ import annotations

import msgspec
import pytest

from compositor.context.cache.pinned import EDIT_TYPE, PinnedEdits
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.types.snapshot import Facts
from tests.context.compaction.test_cut import asks, gives, prompt
from tests.properties.building import HEAD, WIRE
from tests.properties.strategies import MODEL


def conversation(rounds: int) -> Prefix:
    entries = [prompt("u")]
    for number in range(rounds):
        entries += [asks(f"a{number}", f"t{number}"), gives(f"r{number}", f"t{number}")]  # type: ignore[list-item]
    return extend(empty_prefix(HEAD, Facts(model=MODEL), WIRE), [*entries, asks("end")])


@pytest.mark.req("R273", "R274", "R275")
def test_three_turns_send_the_same_pins_in_the_same_places() -> None:
    pins = PinnedEdits()
    sent = []
    for rounds in (4, 6, 9):
        prefix = conversation(rounds)
        before = [chunk.data for chunk in prefix.settled]
        pins = pins.pin(prefix.settled, keep_recent=3)
        directive = pins.directive([EDIT_TYPE])
        assert directive is not None
        sent.append(msgspec.json.decode(directive)["edits"][0]["tool_use_ids"])
        assert [chunk.data for chunk in prefix.settled] == before
    assert sent[0] == ["t0"]
    assert sent[1] == ["t0", "t1", "t2"]
    assert sent[2] == [f"t{number}" for number in range(6)]


@pytest.mark.req("R275")
def test_a_pin_stays_although_more_would_be_kept() -> None:
    pins = PinnedEdits().pin(conversation(6).settled, keep_recent=2)
    assert pins.pin(conversation(6).settled, keep_recent=6) == pins


@pytest.mark.req("R277")
def test_without_a_declaration_nothing_is_sent() -> None:
    pins = PinnedEdits().pin(conversation(6).settled, keep_recent=2)
    assert pins.directive(["clear_tool_uses_20250919"]) is None
    assert PinnedEdits().directive([EDIT_TYPE]) is None
