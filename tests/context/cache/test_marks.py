"""Marks: whatever stands at the end of a request, the forecast names the position that the service reads and writes."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compositor.config.options import TURN_SCOPE_BETA
from compositor.types.json import raw_json
from compositor.types.request import CacheRegion
from compositor.types.snapshot import Facts, Latch
from tests.context.cache.session import Session
from tests.properties.building import FACTS, WIRE

SPEAKS = msgspec.structs.replace(FACTS, system_role=True)
SCOPED = msgspec.structs.replace(SPEAKS, turn_scoped=True)
SPARES = msgspec.structs.replace(SPEAKS, latches=frozenset({Latch.SYSTEM_MARKER}))
SCOPED_WIRE = msgspec.structs.replace(WIRE, betas=(*WIRE.betas, TURN_SCOPE_BETA))


def session_with(facts: Facts) -> Session:
    return Session(facts, SCOPED_WIRE if facts.turn_scoped else WIRE)


def busy_turn(session: Session, rng: random.Random) -> None:
    """An answer and what follows it: results, notes in every lane, images, a fork pin."""
    calls = rng.choice([0, 0, 1, 2, 19, 25])
    session.answer(calls)
    session.ask(results=calls, words=rng.choice([2, 20]))
    for kind in rng.sample(["edited_text_file", "date_change", "mode_change", "token_usage"], k=rng.randrange(4)):
        session.note(kind)
    if rng.random() < 0.05:
        session.show_image()
    pin = session.options.pin
    if pin is None and rng.random() < 0.2:  # a branch keeps its fork point
        pin = rng.randrange(1, 1 + len(session.prefix.settled))
    session.options = msgspec.structs.replace(session.options, pin=pin, skip_write=rng.random() < 0.1)
    session.now += rng.choice([1.0, 60.0, 301.0])


@pytest.mark.req("R093", "R254", "R255", "R256", "R257", "R258")
@given(st.integers(0, 2**32), st.sampled_from([FACTS, SPEAKS, SCOPED, SPARES]))
@example(7, SPARES)
@example(11, SCOPED)
def test_the_positions_are_exact_whatever_stands_behind_the_last_marked_block(seed: int, facts: Facts) -> None:
    rng = random.Random(seed)
    session = session_with(facts)
    session.ask()
    for _ in range(14):
        forecast, read, written = session.send()
        assert (forecast.read > 0, forecast.written > 0) == (read > 0, written > 0)
        busy_turn(session, rng)


@pytest.mark.req("R258")
@pytest.mark.parametrize(("facts", "index"), [(SPEAKS, 2), (SPARES, 1)])
def test_a_note_of_the_system_lane_carries_the_marker_unless_the_service_refuses_that(facts: Facts, index: int) -> None:
    session = session_with(facts)
    session.ask()
    session.note("date_change")
    forecast, _, _ = session.send()
    assert forecast.writes_to == f"messages[{index}]"
    assert session.previous is not None
    assert session.previous.markers[-1].path == f"messages[{index}].content[0]"
    session.answer()
    session.ask()
    forecast, read, _ = session.send()
    assert forecast.reads_to == f"messages[{index}]"
    assert read > 0


@pytest.mark.req("R257")
def test_a_pin_inside_a_settled_round_is_a_position_of_its_own() -> None:
    session = Session()
    session.ask()
    for _ in range(6):
        session.send()
        session.answer(calls=2)
        session.ask(results=2)
    session.options = msgspec.structs.replace(session.options, pin=4)
    session.send()
    assert session.previous is not None
    assert (CacheRegion.MESSAGES, 4) in {(mark.region, mark.index) for mark in session.previous.markers}
    assert [mark.region for mark in session.previous.markers].count(CacheRegion.SYSTEM) == 1


@pytest.mark.req("R272", "R273")
@given(st.integers(0, 2**32), st.integers(0, 6))
def test_the_break_that_clearing_by_the_service_makes_is_forecast(seed: int, keep: int) -> None:
    rng = random.Random(seed)
    session = Session(FACTS, msgspec.structs.replace(WIRE, betas=("context-management-2025-06-27",)))
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 8},
        "keep": {"type": "tool_uses", "value": keep},
    }
    session.options = msgspec.structs.replace(session.options, context_management=raw_json({"edits": [edit]}))
    session.ask()
    for _ in range(12):
        forecast, read, written = session.send()
        assert (forecast.read > 0, forecast.written > 0) == (read > 0, written > 0)
        calls = rng.choice([0, 1, 1, 2, 5])
        session.answer(calls)
        session.ask(results=calls, words=rng.choice([40, 90]))
        session.now += rng.choice([1.0, 301.0])


@pytest.mark.req("R093")
@given(st.integers(0, 2**32))
def test_a_model_that_forgets_earlier_thoughts_reads_what_holds_none(seed: int) -> None:
    rng = random.Random(seed)
    session = Session()
    session.forgets = True
    session.ask()
    for _ in range(12):
        forecast, read, written = session.send()
        assert (forecast.read > 0, forecast.written > 0) == (read > 0, written > 0)
        calls = rng.choice([0, 1, 1, 2, 24])
        session.answer(calls, thoughts=rng.choice([0, 1, 2]))
        session.ask(results=calls, words=20)
        session.now += rng.choice([1.0, 301.0])
