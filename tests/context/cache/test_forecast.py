"""The forecast against the stand-in's own cache: the positions read and written are equal in every request, whatever the session does."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.config.price import cost, find_price
from compositor.context.cache.attribution import Verdict, attribute
from compositor.context.cache.forecast import as_usage, cold_cost, headline, input_cost
from compositor.context.cache.positions import extend_tally
from compositor.context.explain import first_difference
from compositor.context.finish import finish
from compositor.context.head import compile_head
from compositor.context.prefix import empty_prefix, extend
from compositor.types.request import HeadParts
from compositor.types.usage import Usage
from tests.context.cache.session import Session, turns
from tests.properties.building import FACTS, HEAD, OPTIONS, PARTS, WIRE
from tests.properties.strategies import MODEL

MINIMUM = 16
BYTES_PER_TOKEN = 4


@pytest.mark.req("R093", "R094", "R408")
@given(st.integers(0, 2**32))
def test_the_positions_read_and_written_are_those_of_the_service(seed: int) -> None:
    session = Session()
    for forecast in turns(session, random.Random(seed), 12):
        assert forecast.read + forecast.written + forecast.fresh == forecast.total


def test_a_wide_turn_is_read_although_it_is_wider_than_the_look_back() -> None:
    session = Session()
    session.ask()
    session.send()
    session.answer(calls=30)
    session.ask(results=30)
    forecast, read, _ = session.send()
    assert forecast.reads_to == "messages[1]"
    assert read > 0


def test_a_new_head_reads_only_what_is_equal() -> None:
    session = Session()
    session.ask()
    session.send()
    before = session.previous
    other = compile_head(HeadParts(tools=PARTS.tools, system=(PARTS.system[0],), context=PARTS.context))
    session.prefix = empty_prefix(other, FACTS, WIRE)
    session.ask()
    forecast, _, _ = session.send()
    assert forecast.reads_to == "system[0]"
    assert before is not None
    assert session.previous is not None
    difference = first_difference(before, session.previous)
    assert difference is not None
    assert difference.cause == "section env is gone in system[1]"


@pytest.mark.req("R094")
def test_after_the_lifetime_nothing_is_read() -> None:
    session = Session()
    session.ask()
    session.send()
    session.answer()
    session.ask()
    session.now += 299
    assert session.send()[0].read > 0
    session.answer()
    session.ask()
    session.now += 301
    assert session.send()[0].read == 0


def test_money_is_the_sum_over_the_buckets_and_agrees_with_the_price_of_usage() -> None:
    price = find_price(MODEL)
    assert price is not None
    session = Session()
    session.ask(words=400)
    session.send()
    session.answer()
    session.ask()
    forecast, _, _ = session.send()
    assert forecast.dollars == pytest.approx(cost(as_usage(forecast), price))
    assert input_cost(forecast.expected, price) < cold_cost(forecast.total, price)
    assert headline(forecast).startswith(f"forecast: read {forecast.read:,} up to messages[1], write ")


def reported(read: int, written: int = 0) -> Usage:
    return Usage(input_tokens=0, cache_read_input_tokens=read, cache_creation_input_tokens=written)


@pytest.mark.req("R284", "R408")
def test_verdicts_rest_on_evidence() -> None:
    session = Session()
    session.ask(words=2_000)
    first, _, _ = session.send()
    assert attribute(first, Usage(input_tokens=9), difference=None).verdict is Verdict.NOT_REPORTED
    session.answer()
    session.ask()
    forecast, _, _ = session.send()
    assert attribute(forecast, reported(forecast.read), difference=None).verdict is Verdict.AS_FORECAST
    gone = attribute(forecast, reported(0), difference=None, idle=10.0)
    assert (gone.verdict, gone.lost) == (Verdict.SERVER, forecast.read)
    assert attribute(forecast, reported(0), difference=None, idle=301.0).verdict is Verdict.EXPIRED
    assert attribute(first, reported(first.total), difference=None).verdict is Verdict.BETTER
    other = compile_head(HeadParts(tools=PARTS.tools[:1], system=PARTS.system, context=PARTS.context))
    assert session.previous is not None
    changed = finish(extend(empty_prefix(other, FACTS, WIRE), session.prefix.tail.entries), OPTIONS)
    difference = first_difference(session.previous, changed)
    verdict = attribute(forecast, reported(0), difference=difference)
    assert verdict.verdict is Verdict.PREFIX_CHANGED
    assert verdict.cause == "tool Read is gone in tools[1]"


def test_a_tally_of_another_line_starts_anew() -> None:
    one, two = Session(), Session()
    for session in (one, two):
        session.ask()
        session.send()
        session.answer()
        session.ask()
        session.send()
    compiled = two.previous
    assert compiled is not None
    assert list(extend_tally(one.tally, compiled.settled).sums) == list(two.tally.sums)
    shorter = finish(extend(empty_prefix(HEAD, FACTS, WIRE), one.prefix.tail.entries), OPTIONS)
    assert len(extend_tally(one.tally, shorter.settled).sums) == len(shorter.settled)
