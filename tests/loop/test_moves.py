"""The paid prefix: what moves it, what that costs, and that a change nobody named is undone."""

from __future__ import annotations

import msgspec
import pytest

from compositor.config.price import find_price
from compositor.context.cache.forecast import as_usage
from compositor.context.finish import finish
from compositor.context.head import compile_head
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.context.view import view_bytes
from compositor.loop.accounting import Account, Sent, Tariff, forecast_request, open_account, seconds, settle_answer
from compositor.loop.moves import Move, describe_fault, find_move, is_fault, latched_names, restore_sent
from compositor.types.request import HeadParts, Ttl
from compositor.types.snapshot import EventName, PrefixEvent
from tests.loop.test_accounting import answered, asked, recorded
from tests.properties.building import FACTS, HEAD, OPTIONS, PARTS, WIRE
from tests.properties.strategies import MODEL, TIME

PRICE = find_price(MODEL)
TARIFF = Tariff(minimum=16, price=PRICE)
START = seconds(TIME)
SWITCH = PrefixEvent(name=EventName.MODEL_SWITCH, cause="sonnet before, opus now")
OTHER = compile_head(HeadParts(tools=PARTS.tools[:1], system=PARTS.system, context=PARTS.context))


def settled(events: tuple[PrefixEvent, ...] = ()) -> tuple[Account, Prefix]:
    """An account after one answer, and the prefix of the next request."""
    prefix = asked(empty_prefix(HEAD, FACTS, WIRE, events), 1)
    compiled = finish(prefix, OPTIONS)
    account, forecast = forecast_request(open_account(TARIFF, ()), prefix, compiled, START)
    account, _ = settle_answer(account, prefix, Sent(compiled, forecast, "r", START), as_usage(forecast))
    return account, asked(answered(prefix, 1), 2)


def rebuilt(prefix: Prefix, events: tuple[PrefixEvent, ...]) -> Prefix:
    """The same conversation behind another head."""
    return extend(empty_prefix(OTHER, FACTS, WIRE, events), tuple(prefix.entries))


def move(account: Account, prefix: Prefix, at: float) -> Move | None:
    account, forecast = forecast_request(account, prefix, finish(prefix, OPTIONS), at)
    return find_move(account, prefix, forecast, at)


@pytest.mark.req("R260", "R270")
def test_an_event_that_gives_up_what_was_paid_for_is_priced_before_it_is_sent() -> None:
    account, prefix = settled()
    assert account.paid is not None
    assert PRICE is not None
    found = move(account, rebuilt(prefix, (SWITCH,)), START + 60)
    assert found is not None
    assert found.events == (SWITCH,)
    assert found.lost == account.paid.tokens
    tier = PRICE.tiers[0]
    assert found.dollars == pytest.approx(found.lost * (tier.write_5m - tier.read) / 1_000_000, rel=0.02)
    assert "model switch: sonnet before, opus now" in found.text
    assert f"{found.lost:,} tokens" in found.text


def test_nothing_is_said_where_nothing_is_lost() -> None:
    account, prefix = settled()
    assert move(account, prefix, START + 60) is None
    assert move(account, rebuilt(prefix, (SWITCH,)), START + 301) is None
    assert move(open_account(TARIFF, ()), rebuilt(prefix, (SWITCH,)), START) is None


def test_what_a_resumed_session_had_paid_for_counts_too() -> None:
    prefix = asked(empty_prefix(HEAD, FACTS, WIRE), 1)
    compiled = finish(prefix, OPTIONS)
    send = recorded(prefix, compiled)
    _, forecast = forecast_request(open_account(TARIFF, ()), prefix, compiled, START)
    account = open_account(TARIFF, (msgspec.structs.replace(send, usage=as_usage(forecast)),))
    onward = rebuilt(asked(answered(prefix, 1), 2), (SWITCH,))
    found = move(account, onward, START + 60)
    assert found is not None
    assert found.lost == forecast.written


def test_a_compaction_is_no_choice() -> None:
    compacted = PrefixEvent(name=EventName.COMPACT, cause="auto")
    assert not Move(events=(compacted,), lost=1, dollars=None).is_chosen
    assert Move(events=(compacted, SWITCH), lost=1, dollars=None).is_chosen


@pytest.mark.req("R270", "R259")
def test_a_change_without_an_event_is_a_fault_and_what_was_sent_is_sent_again() -> None:
    account, prefix = settled()
    assert account.sent is not None
    assert not is_fault(account.sent, prefix)
    drifted = rebuilt(prefix, ())
    assert is_fault(account.sent, drifted)
    assert account.previous is not None
    told = describe_fault(account.previous, finish(drifted, OPTIONS))
    assert told == "tool Read is gone in tools[1], and no event says why; what was sent is sent again"
    assert not is_fault(account.sent, rebuilt(prefix, (SWITCH,)))
    kept = restore_sent(account.sent, drifted)
    assert view_bytes(finish(kept, OPTIONS)) == view_bytes(finish(prefix, OPTIONS))


def test_a_rewritten_message_is_a_fault_too_and_what_is_new_is_not_lost() -> None:
    account, prefix = settled()
    assert account.sent is not None
    first, *rest = prefix.entries
    other = asked(empty_prefix(HEAD, FACTS, WIRE), 7).entries[0]
    drifted = extend(empty_prefix(HEAD, FACTS, WIRE), [msgspec.structs.replace(other, uuid=first.uuid), *rest])
    assert is_fault(account.sent, drifted)
    assert account.previous is not None
    assert "entry u1 changed in messages[1]" in describe_fault(account.previous, finish(drifted, OPTIONS))
    kept = restore_sent(account.sent, drifted)
    assert [entry.uuid for entry in kept.entries] == [entry.uuid for entry in prefix.entries]
    assert kept.view_digest == prefix.view_digest


def test_a_prompt_behind_a_request_that_was_not_answered_moves_nothing() -> None:
    account, prefix = settled()
    assert not is_fault(account.sent, asked(prefix, 3))
    assert not is_fault(None, prefix)


@pytest.mark.req("R263", "R264", "R265", "R270")
def test_what_is_latched_is_named_when_it_changes() -> None:
    changed = msgspec.structs.replace(OPTIONS, ttl=Ttl.LONG, betas=("b",), max_tokens=9)
    assert latched_names(OPTIONS, changed) == ("ttl", "betas")
    assert latched_names(OPTIONS, msgspec.structs.replace(changed, model="another")) == ()
