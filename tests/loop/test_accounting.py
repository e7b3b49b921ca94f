"""The account of a session: forecasts, what came of them, and what a resumed session remembers."""

from __future__ import annotations

import msgspec
import pytest

from compositor.config.price import find_price
from compositor.context.cache.attribution import Verdict
from compositor.context.cache.forecast import Forecast, as_usage
from compositor.context.finish import finish
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.context.transcript.journal import Send
from compositor.loop.accounting import Account, Sent, Tariff, forecast_request, seconds, settle_answer
from compositor.loop.session import Conversation, send_record
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry, UserEntry
from compositor.types.journal import SendOutcome
from compositor.types.json import raw_json
from compositor.types.request import Compiled
from tests.properties.building import FACTS, HEAD, OPTIONS, WIRE
from tests.properties.strategies import MODEL, TIME

TARIFF = Tariff(minimum=16, price=find_price(MODEL))
START = seconds(TIME)


def asked(prefix: Prefix, number: int) -> Prefix:
    text = (TextBlock(f"question {number} " + "word " * 200),)
    return extend(prefix, [UserEntry(uuid=f"u{number}", parent=None, time=TIME, content=text)])


def answered(prefix: Prefix, number: int) -> Prefix:
    entry = AssistantEntry(
        uuid=f"a{number}",
        parent=None,
        time=TIME,
        message_id=f"m{number}",
        model=MODEL,
        content=(TextBlock("answer " * 50),),
        stop_reason="end_turn",
    )
    return extend(prefix, [entry])


def turn(account: Account, prefix: Prefix, at: float) -> tuple[Account, Compiled, Forecast, Verdict]:
    """Send, and be told exactly what was forecast."""
    compiled = finish(prefix, OPTIONS)
    account, forecast = forecast_request(account, prefix, compiled, at)
    account, found = settle_answer(account, prefix, Sent(compiled, forecast, "r", at), as_usage(forecast))
    return account, compiled, forecast, found.verdict


def recorded(prefix: Prefix, compiled: Compiled, outcome: SendOutcome = SendOutcome.ANSWERED) -> Send:
    conversation = Conversation(prefix=prefix, options=OPTIONS)
    record = send_record(conversation, compiled, request_id="r", time=TIME, profile=MODEL)
    return Send(record=record, outcome=outcome)


@pytest.mark.req("R284", "R408")
def test_a_session_reads_what_it_wrote_and_pays_for_what_expired() -> None:
    account, prefix = Account(tariff=TARIFF), asked(empty_prefix(HEAD, FACTS, WIRE), 1)
    account, _, first, verdict = turn(account, prefix, START)
    assert (first.read, verdict) == (0, Verdict.AS_FORECAST)
    prefix = asked(answered(prefix, 1), 2)
    account, _, second, _ = turn(account, prefix, START + 60)
    assert second.read == first.written
    prefix = asked(answered(prefix, 2), 3)
    _, _, third, _ = turn(account, prefix, START + 60 + 301)
    assert third.read == 0


@pytest.mark.parametrize(("later", "reads"), [(60.0, True), (301.0, False)])
def test_a_resumed_session_remembers_what_was_written_and_when(*, later: float, reads: bool) -> None:
    prefix = asked(empty_prefix(HEAD, FACTS, WIRE), 1)
    _, compiled, first, _ = turn(Account(tariff=TARIFF), prefix, START)
    resumed = Account(tariff=TARIFF, history=(recorded(prefix, compiled),))
    onward = asked(answered(prefix, 1), 2)
    after, forecast = forecast_request(resumed, onward, finish(onward, OPTIONS), START + later)
    assert forecast.read == (first.written if reads else 0)
    assert after.history == ()


def test_what_was_lost_or_had_another_head_or_effort_is_not_remembered() -> None:
    prefix = asked(empty_prefix(HEAD, FACTS, WIRE), 1)
    compiled = finish(prefix, OPTIONS)
    onward = asked(answered(prefix, 1), 2)
    lost = recorded(prefix, compiled, SendOutcome.LOST)
    sound = recorded(prefix, compiled)
    other = msgspec.structs.replace(sound, record=msgspec.structs.replace(sound.record, head_digest="0" * 64))
    effort = msgspec.structs.replace(OPTIONS, output_config=raw_json({"effort": "low"}))
    cheaper = msgspec.structs.replace(sound, record=msgspec.structs.replace(sound.record, options=effort))
    for send, read in ((lost, None), (other, None), (cheaper, "system[1]"), (sound, "messages[1]")):
        account = Account(tariff=TARIFF, history=(send,))
        # Tools and system outlive another effort, messages do not (wire page 4.7).
        assert forecast_request(account, onward, finish(onward, OPTIONS), START + 1)[1].reads_to == read


def test_the_scale_follows_what_was_reported() -> None:
    prefix = asked(empty_prefix(HEAD, FACTS, WIRE), 1)
    compiled = finish(prefix, OPTIONS)
    account, forecast = forecast_request(Account(tariff=TARIFF), prefix, compiled, START)
    usage = msgspec.structs.replace(as_usage(forecast), input_tokens=forecast.total)
    after, _ = settle_answer(account, prefix, Sent(compiled, forecast, "r", START), usage)
    assert after.scale > account.scale
    silent, _ = settle_answer(account, prefix, Sent(compiled, forecast, "r", START), None)
    assert silent.scale == account.scale


def test_a_model_without_a_minimum_gets_the_documented_one() -> None:
    assert Tariff(minimum=None, price=None).least == 1024
