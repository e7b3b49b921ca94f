"""The default output cap on a distribution of answer lengths (R382): its figures are p99 at 4,911 tokens and a cap of 8,000."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from compositor.config.window import DEFAULT_OUTPUT, ESCALATED_OUTPUT
from compositor.context.wire.assemble import AssembledMessage
from compositor.loop.attempt import Answered
from compositor.loop.output import widen_output
from compositor.types.request import RequestOptions
from compositor.types.usage import Usage

P99 = 4_911
SPREAD = 1.0
CENTER = math.log(P99) - SPREAD * NormalDist().inv_cdf(0.99)
LENGTHS = [
    round(math.exp(NormalDist(CENTER, SPREAD).inv_cdf((number + 0.5) / 10_000))) for number in range(10_000)
]  # log-normal, the shape of such lengths


def answer(length: int, cap: int) -> Answered:
    cut = length > cap
    return Answered(
        AssembledMessage(
            id="m",
            model="m",
            content=(),
            stop_reason="max_tokens" if cut else "end_turn",
            usage=Usage(output_tokens=min(length, cap)),
        )
    )


@pytest.mark.req("R382")
def test_more_than_99_of_100_requests_fit_the_default_and_reserve_an_eighth_of_the_limit() -> None:
    assert sorted(LENGTHS)[9_899] == pytest.approx(P99, rel=0.01)
    reserved, resent = 0, 0
    for length in LENGTHS:
        options = RequestOptions(model="m", max_tokens=DEFAULT_OUTPUT)
        reserved += options.max_tokens
        wider = widen_output(answer(length, options.max_tokens), options, ESCALATED_OUTPUT)
        if wider is not None:
            reserved += wider.max_tokens
            resent += 1
            assert widen_output(answer(length, wider.max_tokens), wider, ESCALATED_OUTPUT) is None
    assert resent < len(LENGTHS) // 100
    assert ESCALATED_OUTPUT * len(LENGTHS) / reserved > 7.5
    assert 64_000 / P99 > 8
