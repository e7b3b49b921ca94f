"""Error answers as values. Expected values come from the wire page, section 8."""

import json

import pytest

from compositor.context.wire.failure import decode_error, reset_delay, retry_delay


def envelope(**error):
    return json.dumps({"type": "error", "error": error, "request_id": "req_body"}).encode()


def test_the_envelope_and_its_headers():
    body = envelope(type="rate_limit_error", message="slow down", details={"error_code": "ramp_limit_exceeded"})
    found = decode_error(429, {"request-id": "req_header", "retry-after": "7", "x-should-retry": "true"}, body)
    assert (found.status, found.type, found.message) == (429, "rate_limit_error", "slow down")
    assert (found.error_code, found.request_id) == ("ramp_limit_exceeded", "req_header")
    assert (found.retry_after, found.should_retry) == (7.0, True)


def test_the_request_id_of_the_body_stands_in_for_the_header():
    assert decode_error(500, {}, envelope(type="api_error", message="x")).request_id == "req_body"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>\n<h1>502 Bad Gateway</h1>", "<html>"),
        (b"\n\n  upstream is gone \x1b[31m\n", "upstream is gone [31m"),
        (b"", "status 502 without an explanation"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b'{"error":"just text"}', '{"error":"just text"}'),
    ],
)
def test_a_body_that_is_no_envelope(body, message):
    found = decode_error(502, {}, body)
    assert (found.type, found.message, found.error_code) == (None, message, None)


def test_a_long_explanation_is_cut_visibly():
    assert decode_error(500, {}, b"x" * 10_000).message == "x" * 500 + "..."


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 09:00:00 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT"}, None),
    ],
)
def test_how_long_to_wait(headers, seconds):
    assert retry_delay(headers) == seconds


NOW = {"date": "Mon, 30 Nov 2026 10:00:00 GMT"}
SPENT = {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2026-11-30T15:00:00Z"}
MORE = {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-11-30T16:00:00+00:00"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (NOW | SPENT, 5 * 3600.0),
        (NOW | SPENT | MORE, 6 * 3600.0),
        (NOW | SPENT | MORE | {"anthropic-ratelimit-tokens-remaining": "5"}, 5 * 3600.0),
        (NOW | SPENT | {"anthropic-ratelimit-requests-reset": "2026-11-30T09:00:00Z"}, 0.0),
        (NOW | SPENT | {"anthropic-ratelimit-requests-reset": "2026-11-30T15:00:00"}, None),
        (NOW | SPENT | {"anthropic-ratelimit-requests-reset": "soon"}, None),
        (NOW | {"anthropic-ratelimit-requests-remaining": "0"}, None),
        (SPENT, None),
        (NOW, None),
    ],
)
def test_a_limit_that_is_used_up_says_when_it_is_renewed(headers, seconds):
    assert reset_delay(headers) == seconds
    assert decode_error(429, headers, b"").retry_after == seconds


def test_the_limits_count_only_for_a_429_that_does_not_say_when_to_come_back():
    assert decode_error(529, NOW | SPENT, b"").retry_after is None
    assert decode_error(429, NOW | SPENT | {"retry-after": "7"}, b"").retry_after == 7.0


@pytest.mark.parametrize(("value", "advice"), [("true", True), ("false", False), ("maybe", None)])
def test_the_advice_of_the_service(value, advice):
    assert decode_error(500, {"x-should-retry": value}, b"").should_retry is advice
