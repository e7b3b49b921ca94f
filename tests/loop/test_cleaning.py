"""Cleaning old tool results: refused while the cache is warm unless the sums say otherwise, free once it has expired."""

from __future__ import annotations

import msgspec
import pytest

from compositor.config.price import find_price
from compositor.context.cache.forecast import as_usage
from compositor.context.finish import finish
from compositor.context.messages.cleared import STAND_IN
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.loop.accounting import Account, Sent, Tariff, forecast_request, open_account, seconds, settle_answer
from compositor.loop.cleaning import HORIZON, clean, old_results, plan_cleaning
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.snapshot import EventName
from tests.properties.building import FACTS, HEAD, OPTIONS, WIRE
from tests.properties.strategies import MODEL, TIME

START = seconds(TIME)


def conversation(sizes: list[int]) -> list[TranscriptEntry]:
    """One round a result of so many words, and a last question."""
    entries: list[TranscriptEntry] = [UserEntry(uuid="u", parent=None, time=TIME, content=(TextBlock("Begin."),))]
    for number, words in enumerate(sizes):
        use = ToolUseBlock(f"t{number}", "Read", raw_json({"n": number}))
        entries.append(
            AssistantEntry(
                uuid=f"a{number}",
                parent=None,
                time=TIME,
                message_id=f"m{number}",
                model=MODEL,
                content=(use,),
                stop_reason="tool_use",
            )
        )
        result = ToolResultBlock(f"t{number}", "word " * words)
        entries.append(UserEntry(uuid=f"r{number}", parent=None, time=TIME, content=(result,)))
    return entries


def answered(sizes: list[int], *, priced: bool = True) -> tuple[Account, Prefix]:
    """The account after the last round was answered, and the prefix behind the next prompt."""
    prefix = extend(empty_prefix(HEAD, FACTS, WIRE), conversation(sizes))
    compiled = finish(prefix, OPTIONS)
    tariff = Tariff(minimum=16, price=find_price(MODEL) if priced else None)
    account, forecast = forecast_request(open_account(tariff, ()), prefix, compiled, START)
    account, _ = settle_answer(account, prefix, Sent(compiled, forecast, "r", START), as_usage(forecast))
    done = AssistantEntry(
        uuid="end",
        parent=None,
        time=TIME,
        message_id="m",
        model=MODEL,
        content=(TextBlock("Done."),),
        stop_reason="end_turn",
    )
    more = UserEntry(uuid="more", parent=None, time=TIME, content=(TextBlock("And now?"),))
    prefix = extend(prefix, [done, more])
    account, _ = forecast_request(account, prefix, finish(prefix, OPTIONS), START)
    return account, prefix


@pytest.mark.req("R273")
def test_the_newest_results_are_kept() -> None:
    _, prefix = answered([100, 100, 100, 100])
    assert [old.call for old in old_results(prefix, 3)] == ["t0"]
    assert old_results(prefix, 4) == ()
    assert [old.call for old in old_results(prefix, 0)] == ["t0", "t1", "t2", "t3"]


@pytest.mark.req("R276")
def test_a_warm_cache_refuses_a_cleaning_that_costs_more_than_it_saves() -> None:
    # A little is freed in front of a lot that would have to be written again.
    account, prefix = answered([1_500, *[3_000] * 20])
    found = plan_cleaning(account, prefix, now=START + 60, keep=20)
    assert found.calls == ("t0",)
    assert found.loss is not None
    assert found.gain is not None
    assert found.loss > found.gain
    assert not found.allowed
    assert "(R276)" in found.reason


@pytest.mark.req("R276")
def test_a_warm_cache_lets_through_a_cleaning_that_saves_more() -> None:
    account, prefix = answered([30_000, 30_000, 10])
    found = plan_cleaning(account, prefix, now=START + 60, keep=1)
    price = find_price(MODEL)
    assert price is not None
    assert account.paid is not None
    tier = price.tier(account.paid.tokens)
    assert found.gain == pytest.approx(found.tokens * tier.read * HORIZON / 1_000_000)
    assert found.allowed
    unpriced, prefix = answered([30_000, 30_000, 10], priced=False)
    assert not plan_cleaning(unpriced, prefix, now=START + 60, keep=1).allowed


@pytest.mark.req("R278", "R283")
def test_an_expired_cache_has_nothing_to_lose_and_the_cleaning_is_an_event_with_its_reason() -> None:
    account, prefix = answered([1_500, *[3_000] * 20])
    found = plan_cleaning(account, prefix, now=START + 301, keep=20)
    assert (found.allowed, found.loss) == (True, 0.0)
    cleaned = clean(prefix, found)
    event = cleaned.events[-1]
    assert event.name is EventName.COLD_CLEAN
    assert "(R278)" in event.cause
    body = finish(cleaned, OPTIONS).body
    assert body.count(STAND_IN.encode()) == 1
    assert len(body) < len(finish(prefix, OPTIONS).body) - 5_000
    assert old_results(cleaned, 20) == ()
    assert not plan_cleaning(account, cleaned, now=START + 301, keep=20).allowed


def test_what_is_cleaned_stays_cleaned_as_the_conversation_goes_on() -> None:
    account, prefix = answered([1_500, 1_500, 10])
    cleaned = clean(prefix, plan_cleaning(account, prefix, now=START + 301, keep=1))
    again = extend(empty_prefix(HEAD, cleaned.facts, WIRE), tuple(cleaned.entries))
    assert again.view_digest == cleaned.view_digest
    bare = msgspec.structs.replace(cleaned.facts, cleared=frozenset())
    assert extend(empty_prefix(HEAD, bare, WIRE), tuple(cleaned.entries)).view_digest == prefix.view_digest
