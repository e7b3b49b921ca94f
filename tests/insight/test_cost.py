"""Money from the journal: every token in one bucket, unknown says unknown."""

from __future__ import annotations

import pytest

from compositor.context.transcript.journal import Send
from compositor.insight.cost import session_cost
from compositor.types.journal import SendOutcome, SendRecord
from compositor.types.request import RequestOptions
from compositor.types.usage import CacheCreation, Usage
from tests.properties.strategies import TIME


def send(usage: Usage | None, model: str = "claude-sonnet-4-5") -> Send:
    record = SendRecord(
        request_id="r",
        time=TIME,
        head_digest="h",
        view_digest="v",
        size=1,
        leaf=None,
        sent=(),
        markers=(),
        options=RequestOptions(model=model, max_tokens=1),
        profile=model,
    )
    outcome = SendOutcome.LOST if usage is None else SendOutcome.ANSWERED
    return Send(record=record, outcome=outcome, usage=usage)


@pytest.mark.req("R280")
def test_each_bucket_has_its_price() -> None:
    usage = Usage(
        input_tokens=1_000,
        output_tokens=2_000,
        cache_read_input_tokens=100_000,
        cache_creation_input_tokens=30_000,
        cache_creation=CacheCreation(ephemeral_5m_input_tokens=10_000, ephemeral_1h_input_tokens=20_000),
    )
    found = session_cost([send(usage)])
    # Sonnet 4.5 for a million tokens: 3 in, 15 out, 3.75 and 6 for writes, 0.30 for reads (wire page 9.3).
    expected = (1_000 * 3 + 2_000 * 15 + 10_000 * 3.75 + 20_000 * 6 + 100_000 * 0.30) / 1_000_000
    assert found.dollars == pytest.approx(expected)
    assert found.uncached == pytest.approx((131_000 * 3 + 2_000 * 15) / 1_000_000)


def test_an_unanswered_request_and_an_unpriced_model_are_unknown() -> None:
    found = session_cost([send(None), send(Usage(input_tokens=1), "some-local-model"), send(Usage(input_tokens=9))])
    assert found.unknown == 2
    assert [request.dollars is None for request in found.requests] == [True, True, False]


def test_the_spread_compares_the_dearest_with_the_cheapest() -> None:
    cheap = Usage(input_tokens=0, output_tokens=0, cache_read_input_tokens=10_000)
    dear = Usage(input_tokens=10_000, output_tokens=0)
    assert session_cost([send(cheap), send(dear)]).spread == pytest.approx(10.0)
    assert session_cost([]).spread is None
