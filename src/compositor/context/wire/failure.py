"""An answer that is not a success, as values: what the service said, and when it wants to be asked again (wire page 8).

Decides how the error envelope and the headers around it are read. Never decides whether to retry: that is
`loop/attempt.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

_LONGEST_MESSAGE = 500
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_TOO_MANY = 429
_LIMIT = re.compile(r"(anthropic-[a-z-]+)-remaining")
_IMF_DATE = "%a, %d %b %Y %H:%M:%S GMT"


class HTTPFailure(Struct, frozen=True, kw_only=True):
    """What a refused request came back with.

    `type` and `error_code` are the service's own words, `None` where the body is not its envelope (a gateway's page, say).
    `paths` are the places in the body that the service names. `retry_after` is in seconds. `should_retry` is the service's own advice.
    """

    status: int
    type: str | None
    message: str
    error_code: str | None = None
    paths: tuple[str, ...] = ()
    request_id: str | None = None
    retry_after: float | None = None
    should_retry: bool | None = None


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> HTTPFailure:
    """Read any answer whose status is not a success. `headers` has lower-case names. Never raises."""
    envelope = _read_envelope(body)
    error = envelope.error
    wait = retry_delay(headers)
    message = error.message if error and error.message else _first_line(body)
    return HTTPFailure(
        status=status,
        type=error.type if error else None,
        message=_one_line(message) or f"status {status} without an explanation",
        error_code=error.details.error_code if error and error.details else None,
        paths=error.details.paths if error and error.details else (),
        request_id=headers.get("request-id") or envelope.request_id,
        retry_after=reset_delay(headers) if wait is None and status == _TOO_MANY else wait,
        should_retry={"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower()),
    )


def retry_delay(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as `retry-after-ms` or `retry-after` says; `None` when neither can be understood.

    A date is counted from the answer's own `date` header, so that no clock is needed.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    until, now = _date(value), _date(headers.get("date", ""))
    return None if until is None or now is None else max((until - now).total_seconds(), 0.0)


def reset_delay(headers: Mapping[str, str]) -> float | None:
    """Seconds until the last of the limits that are used up is renewed, for an answer that does not say when to come back (F38).

    `None` when no limit is said to be used up, or no time can be understood. Counted from the answer's own `date`.
    """
    now = _date(headers.get("date", ""))
    spent = [match[1] for name in headers if (match := _LIMIT.fullmatch(name)) and _number(headers[name]) == 0]
    resets = [until for name in spent if (until := _instant(headers.get(f"{name}-reset", ""))) is not None]
    return None if now is None or not resets else max((max(resets) - now).total_seconds(), 0.0)


class _Details(Struct, frozen=True):
    error_code: str | None = None
    paths: tuple[str, ...] = ()


class _Error(Struct, frozen=True):
    type: str | None = None
    message: str = ""
    details: _Details | None = None


class _Envelope(Struct, frozen=True):
    error: _Error | None = None
    request_id: str | None = None


def _read_envelope(body: bytes) -> _Envelope:
    try:
        return msgspec.json.decode(body, type=_Envelope)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Envelope()


def _first_line(body: bytes) -> str:
    lines = body.decode("utf-8", "replace").split("\n")
    return next((line for line in lines if line.strip()), "")


def _one_line(text: str) -> str:
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]}..."


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None


def _date(value: str) -> datetime | None:
    try:
        return datetime.strptime(value.strip(), _IMF_DATE).replace(tzinfo=UTC)
    except ValueError:
        return None


def _instant(value: str) -> datetime | None:
    """A time as RFC 3339 writes it; one without its zone is no instant."""
    try:
        instant = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else None
