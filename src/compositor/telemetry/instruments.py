"""The metrics: tokens, time and money of requests, what the cache did, calls and turns.

Decides units and which attributes a figure carries. Bucket borders of histograms are those of the conventions where they name any.
"""

from __future__ import annotations

import time
from typing import Any

from opentelemetry.metrics import Meter

from compositor.types.usage import Usage

from . import names

_TOKEN_BORDERS = tuple(float(4**power) for power in range(14))
_SECOND_BORDERS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


class Instruments:
    """Made once a session; the meter gives the same instrument for the same name."""

    def __init__(self, meter: Meter) -> None:
        self.tokens = meter.create_histogram(
            names.TOKEN_USAGE,
            unit="{token}",
            description="Input and output tokens of a request.",
            explicit_bucket_boundaries_advisory=_TOKEN_BORDERS,
        )
        self.duration = meter.create_histogram(
            names.DURATION,
            unit="s",
            description="Seconds from sending a request to the end of its answer.",
            explicit_bucket_boundaries_advisory=_SECOND_BORDERS,
        )
        self.first_chunk = meter.create_histogram(
            names.TIME_TO_FIRST_CHUNK,
            unit="s",
            description="Seconds from sending a request to the first piece of its answer.",
            explicit_bucket_boundaries_advisory=_SECOND_BORDERS,
        )
        self.cost = meter.create_counter(names.COST_SUM, unit="USD", description="Dollars, by the known price.")
        self.cache = meter.create_counter(
            names.CACHE_TOKENS, unit="{token}", description="Prompt tokens: read from the cache, written, new, lost."
        )
        self.tool_calls = meter.create_counter(names.TOOL_CALLS, unit="{call}", description="Tool calls by outcome.")
        self.turns = meter.create_counter(names.TURNS, unit="{turn}", description="Turns by the reason of their end.")

    def answered(self, common: dict[str, Any], usage: Usage, lost: int, dollars: float | None) -> None:
        """Count one answer; `dollars` is `None` where no price is known."""
        self.tokens.record(usage.total_input, {**common, names.TOKEN_TYPE: "input"})
        self.tokens.record(usage.output_tokens, {**common, names.TOKEN_TYPE: "output"})
        buckets = {"read": usage.read, "written": usage.written, "new": usage.input_tokens, "lost": lost}
        for bucket, count in buckets.items():
            self.cache.add(count, {**common, names.BUCKET: bucket})
        if dollars is not None:
            self.cost.add(dollars, common)

    def timed(self, common: dict[str, Any], begun: float, first: float | None) -> None:
        """Times of one request, on the clock that never goes back."""
        self.duration.record(time.monotonic() - begun, common)
        if first is not None:
            self.first_chunk.record(first - begun, common)
