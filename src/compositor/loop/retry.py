"""Which failures pass by waiting, and how long to wait (wire page 8, F38).

Decides both as functions of values; chance comes in as a number. Never counts, never waits: that is `attempt.py` and its
driver.
"""

from __future__ import annotations

import enum

from msgspec import Struct

from compositor.context.wire.failure import HTTPFailure
from compositor.errors import ProviderError, ProviderHTTPError, ProviderUnavailableError, StreamProtocolError


class FailureKind(enum.StrEnum):
    REFUSED = "refused"
    """The service answered with a status that is no success."""
    STREAM_ERROR = "stream_error"
    """An error event after a success status."""
    STREAM_BROKEN = "stream_broken"
    """Bytes that are no answer of the Messages API."""
    STREAM_CUT = "stream_cut"
    """The body ended before the message did."""
    UNREACHABLE = "unreachable"
    """No connection, or one that was lost."""


class Failure(Struct, frozen=True, kw_only=True):
    """Why there is no answer, as a value. `reply` is set for `REFUSED`, `type` where the service named one."""

    kind: FailureKind
    message: str
    type: str | None = None
    reply: HTTPFailure | None = None

    @classmethod
    def of(cls, reply: HTTPFailure) -> Failure:
        return cls(kind=FailureKind.REFUSED, message=reply.message, type=reply.type, reply=reply)

    def error(self) -> ProviderError:
        """The exception that says it to the user."""
        if self.reply is not None:
            return _refusal(self.reply)
        match self.kind:
            case FailureKind.UNREACHABLE:
                return ProviderUnavailableError(self.message)
            case FailureKind.STREAM_ERROR:
                message = f"The service broke off its answer with {self.type or 'an error'!r}: {self.message}"
                return ProviderHTTPError(message, status=200, type=self.type)
            case _:
                return StreamProtocolError(self.message)


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """Limits of patience. All times in seconds.

    The n-th delay (from 0) is `min(base * 2**n, cap)`, shortened by up to `jitter` of itself. A delay that the service asks for
    is obeyed as given; one above `longest_wait`, or a sum above `total_wait`, ends the attempt at once.
    """

    max_retries: int = 10
    base: float = 0.5
    cap: float = 8.0
    jitter: float = 0.25
    longest_wait: float = 600.0
    total_wait: float = 1800.0


IMPATIENT = RetryPolicy(max_retries=3)
"""Patience while another model may be asked instead."""


def may_fall_back(failure: Failure) -> bool:
    """Whether another model of the same service may answer: this one is overloaded, at its limit, or not to be had."""
    if failure.reply is None:
        return failure.type in _OVERLOADED
    return failure.reply.status in _FALLING_BACK or failure.reply.status >= 500


def is_passing(failure: Failure) -> bool:
    """Whether the same request may succeed later. The service's own advice (`x-should-retry`) wins."""
    if failure.reply is None:
        return failure.type not in _LASTING_TYPES
    reply = failure.reply
    if reply.should_retry is not None:
        return reply.should_retry
    if reply.error_code in _SPEND_CAPS:
        return False
    return reply.status in _PASSING_STATUSES or reply.status >= 500


def retry_delay(policy: RetryPolicy, failure: Failure, retries: int, jitter: float) -> float:
    """Seconds before the resend number `retries + 1`. `jitter` is a random number in [0, 1)."""
    asked = failure.reply.retry_after if failure.reply else None
    if asked is not None:
        return asked
    return min(policy.base * 2.0**retries, policy.cap) * (1.0 - policy.jitter * jitter)


_PASSING_STATUSES = frozenset({408, 409, 429})
_OVERLOADED = frozenset({"overloaded_error", "api_error", "rate_limit_error"})
_FALLING_BACK = frozenset({404, 429})
_SPEND_CAPS = frozenset({"enforced_spend_limit_reached", "contract_spend_limit_reached"})
# Of errors inside a stream only those that say that the request itself is at fault are final.
_LASTING_TYPES = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
    }
)
_HINTS = {
    401: "Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
    402: "Check the billing of the account",
    403: "The key may not do this; ask the owner of the account",
    404: "Check the model name and ANTHROPIC_BASE_URL",
    413: "Make the request smaller: compact the session or leave images out",
}


def _refusal(reply: HTTPFailure) -> ProviderHTTPError:
    kind = f", {reply.type!r}" if reply.type else ""
    hint = _HINTS.get(reply.status)
    if reply.retry_after is not None and reply.status not in _HINTS:
        hint = f"The service asks to wait {_duration(reply.retry_after)}"
    return ProviderHTTPError(
        f"The service refused the request with status {reply.status}{kind}: {reply.message}",
        status=reply.status,
        type=reply.type,
        retry_after=reply.retry_after,
        where=f"request {reply.request_id!r}" if reply.request_id else None,
        hint=hint,
    )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
