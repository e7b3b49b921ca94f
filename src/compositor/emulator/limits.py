"""Rate limits: three buckets that fill evenly, the headers that tell their state, and the refusal when one is empty (wire page 8).

Decides who has to wait and how long, on the stand-in's own clock. The numbers come from the script.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from msgspec import Struct, structs

from .refusal import Refusal

_START = datetime(2026, 1, 1, tzinfo=UTC)
_MINUTE = 60.0


class Limits(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Per minute. Input tokens are those that were not read from the cache (wire page 8)."""

    requests: int = 4_000
    input_tokens: int = 2_000_000
    output_tokens: int = 400_000


class Levels(Struct, frozen=True, kw_only=True):
    """What is left in each bucket at `at` seconds."""

    requests: float
    input_tokens: float
    output_tokens: float
    at: float = 0.0

    @classmethod
    def full(cls, limits: Limits) -> Levels:
        return cls(requests=limits.requests, input_tokens=limits.input_tokens, output_tokens=limits.output_tokens)

    def refilled(self, limits: Limits, now: float) -> Levels:
        gain = (now - self.at) / _MINUTE
        return Levels(
            requests=min(limits.requests, self.requests + gain * limits.requests),
            input_tokens=min(limits.input_tokens, self.input_tokens + gain * limits.input_tokens),
            output_tokens=min(limits.output_tokens, self.output_tokens + gain * limits.output_tokens),
            at=now,
        )

    def without(self, *, input_tokens: int, output_tokens: int) -> Levels:
        """After one request; a bucket may go below zero, and then has to fill first."""
        return structs.replace(
            self,
            requests=self.requests - 1,
            input_tokens=self.input_tokens - input_tokens,
            output_tokens=self.output_tokens - output_tokens,
        )


def check_limits(levels: Levels, limits: Limits) -> Refusal | None:
    """Refuses while a bucket is empty: fewer than one whole request, or no token."""
    for name, least in (("requests", 1.0), ("input_tokens", 1.0), ("output_tokens", 1.0)):
        left, limit = getattr(levels, name), getattr(limits, name)
        if left < least:
            wait = math.ceil((least - left) / limit * _MINUTE)
            return Refusal(
                message=f"This request would exceed the rate limit of {limit} {name.replace('_', ' ')} per minute",
                status=429,
                type="rate_limit_error",
                headers=(("retry-after", str(wait)),),
            )
    return None


def limit_headers(levels: Levels, limits: Limits) -> tuple[tuple[str, str], ...]:
    """The headers of every answer. `tokens` is the tighter of the two token buckets."""
    rows = {
        "requests": (levels.requests, limits.requests),
        "input-tokens": (levels.input_tokens, limits.input_tokens),
        "output-tokens": (levels.output_tokens, limits.output_tokens),
    }
    tight = min(("input-tokens", "output-tokens"), key=lambda name: rows[name][0] / rows[name][1])
    rows["tokens"] = rows[tight]
    return tuple(header for name, row in rows.items() for header in _headers(name, *row, levels.at))


def _headers(name: str, left: float, limit: int, now: float) -> list[tuple[str, str]]:
    full = _START + timedelta(seconds=now + max(limit - left, 0) / limit * _MINUTE)
    start = f"anthropic-ratelimit-{name}"
    return [
        (f"{start}-limit", str(limit)),
        (f"{start}-remaining", str(max(math.floor(left), 0))),
        (f"{start}-reset", full.isoformat(timespec="seconds").replace("+00:00", "Z")),
    ]
