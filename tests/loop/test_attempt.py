"""The machine of one request. Expected values come from R011, R014, the wire page (sections 7 and 8) and field report F38."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.errors import ProviderHTTPError, ProviderUnavailableError, StreamProtocolError, UsageError
from compositor.loop.attempt import (
    Answered,
    Attempt,
    AttemptState,
    BodyEnded,
    Bytes,
    Cancelled,
    ConnectionLost,
    Emit,
    Failed,
    Headers,
    RetryNotice,
    Send,
    Started,
    TimerFired,
    Wait,
)
from compositor.loop.retry import FailureKind, RetryPolicy
from compositor.types.persistent import Rope
from compositor.types.request import Chunk, Compiled, Head, HeadParts, RequestOptions

COMPILED = Compiled(
    head=Head(parts=HeadParts(), tools=(), deferred=(), system=(), context=None, digest="0"),
    settled=Rope(),
    pending=(),
    scalars=Chunk(data=b'"model":"m-1"'),
    splices=(),
    markers=(),
    headers=(),
    options=RequestOptions(model="m-1", max_tokens=8000),
    size=0,
    view_digest="0",
)
SSE = {"content-type": "text/event-stream; charset=utf-8"}
START = b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","model":"m-1","usage":{"input_tokens":3}}}\n\n'
CALL = (
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}\n\n'
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\":1}"}}\n\n'
    b'data: {"type":"content_block_stop","index":0}\n\n'
)
END = (
    b'data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}\n\n'
    b'data: {"type":"message_stop"}\n\n'
)
OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'


def attempt_in(state, policy=None):
    """A fresh attempt, led to `state` by the shortest way."""
    ways = {
        AttemptState.NEW: (),
        AttemptState.SENDING: (Started(),),
        AttemptState.READING: (Started(), Headers(200, SSE)),
        AttemptState.REFUSED: (Started(), Headers(529, {})),
        AttemptState.WAITING: (Started(), ConnectionLost("gone")),
        AttemptState.ANSWERED: (Started(), Headers(200, SSE), Bytes(START + CALL + END)),
        AttemptState.FAILED: (Started(), Headers(400, {}), BodyEnded()),
        AttemptState.CANCELLED: (Cancelled(),),
    }
    attempt = Attempt(COMPILED, policy)
    for event in ways[state]:
        attempt.handle(event, jitter=0.0)
    assert attempt.state is state
    return attempt


EVENTS = (
    Started(),
    Headers(200, SSE),
    Bytes(START),
    BodyEnded(),
    ConnectionLost("gone"),
    TimerFired(),
    Cancelled(),
)
# The whole table, written by hand: what each state takes, and where it leads.
S = AttemptState
NEXT = {
    (S.NEW, Started): S.SENDING,
    (S.NEW, Cancelled): S.CANCELLED,
    (S.SENDING, Headers): S.READING,
    (S.SENDING, ConnectionLost): S.WAITING,
    (S.SENDING, Cancelled): S.CANCELLED,
    (S.READING, Bytes): S.READING,
    (S.READING, BodyEnded): S.WAITING,
    (S.READING, ConnectionLost): S.WAITING,
    (S.READING, Cancelled): S.CANCELLED,
    (S.REFUSED, Bytes): S.REFUSED,
    (S.REFUSED, BodyEnded): S.WAITING,
    (S.REFUSED, ConnectionLost): S.WAITING,
    (S.REFUSED, Cancelled): S.CANCELLED,
    (S.WAITING, TimerFired): S.SENDING,
    (S.WAITING, Cancelled): S.CANCELLED,
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(AttemptState, EVENTS)))
def test_every_pair_of_state_and_event_is_defined_or_changes_nothing(state, event):
    attempt = attempt_in(state)
    expected = NEXT.get((state, type(event)))
    if expected is not None:
        attempt.handle(event, jitter=0.0)
        assert attempt.state is expected
        return
    before, partial = dict(vars(attempt)), attempt.partial
    with pytest.raises(UsageError, match=repr(type(event).__name__)):
        attempt.handle(event, jitter=0.0)
    assert vars(attempt) == before
    assert attempt.partial == partial


def test_the_table_holds_nothing_else():
    assert set(Attempt.TABLE) == set(NEXT)


def only(effects, kind):
    return [effect for effect in effects if isinstance(effect, kind)]


def test_an_answer_is_shown_as_it_comes_and_handed_over_when_it_has_ended():
    attempt = attempt_in(AttemptState.READING)
    shown = attempt.handle(Bytes(START + CALL), jitter=0.0)
    assert [type(effect.item).__name__ for effect in only(shown, Emit)] == [
        "MessageStart",
        "BlockStart",
        "BlockDelta",
        "BlockStop",
    ]
    assert only(shown, Answered) == []
    effects = attempt.handle(Bytes(END), jitter=0.0)
    (answered,) = only(effects, Answered)
    assert (answered.message.stop_reason, answered.message.id) == ("tool_use", "msg_1")
    assert [call.id for call in answered.message.calls] == ["toolu_1"]


@pytest.mark.req("R014")
@pytest.mark.parametrize("cut", range(0, len(START + CALL + END) - 1, 7))
def test_no_call_leaves_the_machine_before_the_message_has_ended(cut):
    attempt = attempt_in(AttemptState.READING)
    effects = attempt.handle(Bytes((START + CALL + END)[:cut]), jitter=0.0)
    effects += attempt.handle(BodyEnded(), jitter=0.0) if attempt.state is S.READING else ()
    whole = (START + CALL + END)[:cut].rstrip().endswith(b'"message_stop"}')
    assert bool(only(effects, Answered)) is whole


@pytest.mark.req("R011")
@given(
    faults=st.lists(st.sampled_from(["lost", "cut", "error", "broken", "529", "reset"]), max_size=10),
    jitter=st.floats(0, 0.999),
)
def test_every_resend_is_the_same_snapshot(faults, jitter):
    attempt = Attempt(COMPILED)
    sent = only(attempt.handle(Started(), jitter=jitter), Send)
    for fault in faults:
        script = {
            "lost": (ConnectionLost("gone"),),
            "cut": (Headers(200, SSE), Bytes(START + CALL), BodyEnded()),
            "error": (Headers(200, SSE), Bytes(START + CALL + OVERLOADED)),
            "broken": (Headers(200, SSE), Bytes(b"data: {broken\n\n")),
            "529": (Headers(529, {}), Bytes(b"x"), BodyEnded()),
            "reset": (Headers(200, SSE), Bytes(START), ConnectionLost("reset")),
        }[fault]
        for event in script:
            effects = attempt.handle(event, jitter=jitter)
        assert len(only(effects, Wait)) == 1
        sent += only(attempt.handle(TimerFired(), jitter=jitter), Send)
    attempt.handle(Headers(200, SSE), jitter=jitter)
    (answered,) = only(attempt.handle(Bytes(START + CALL + END), jitter=jitter), Answered)
    assert len(sent) == len(faults) + 1
    assert all(send.compiled is COMPILED for send in sent)
    assert [call.id for call in answered.message.calls] == ["toolu_1"]


def test_nothing_of_a_broken_answer_reaches_the_next_one():
    attempt = attempt_in(AttemptState.READING)
    attempt.handle(Bytes(START + b'data: {"type":"content_block_start","index":5,'), jitter=0.0)
    attempt.handle(ConnectionLost("gone"), jitter=0.0)
    assert attempt.partial is None
    attempt.handle(TimerFired(), jitter=0.0)
    attempt.handle(Headers(200, SSE), jitter=0.0)
    (answered,) = only(attempt.handle(Bytes(START + CALL + END), jitter=0.0), Answered)
    assert len(answered.message.content) == 1
    assert answered.message.notes == ()


def fail(attempt, *events, jitter=0.0):
    effects = ()
    for event in events:
        effects = attempt.handle(event, jitter=jitter)
    return effects


def refuse(attempt, status, headers=None, **error):
    body = json.dumps({"type": "error", "error": error or {"type": "x", "message": "y"}}).encode()
    return fail(attempt, Headers(status, headers or {}), Bytes(body[:9]), Bytes(body[9:]), BodyEnded())


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_passing_statuses_are_tried_again(status):
    attempt = attempt_in(AttemptState.SENDING)
    (notice, wait) = refuse(attempt, status)
    assert wait == Wait(0.5)
    assert (notice.item.attempt, notice.item.limit, notice.item.delay) == (1, 10, 0.5)
    assert notice.item.failure.reply.status == status


@pytest.mark.parametrize("status", [204, 302, 400, 401, 402, 403, 404, 412, 413, 422, 431, 499])
def test_lasting_statuses_end_at_once(status):
    (failed,) = refuse(attempt_in(AttemptState.SENDING), status)
    assert failed.failure.reply.status == status


@pytest.mark.parametrize("code", ["enforced_spend_limit_reached", "contract_spend_limit_reached"])
def test_spend_caps_end_at_once(code):
    error = {"type": "rate_limit_error", "message": "cap", "details": {"error_code": code}}
    (failed,) = refuse(attempt_in(AttemptState.SENDING), 429, **error)
    assert failed.failure.reply.error_code == code


@pytest.mark.parametrize(("status", "advice", "retried"), [(400, "true", True), (529, "false", False)])
def test_the_advice_of_the_service_wins(status, advice, retried):
    effects = refuse(attempt_in(AttemptState.SENDING), status, {"x-should-retry": advice})
    assert bool(only(effects, Wait)) is retried


def test_delays_double_up_to_their_cap_and_end_at_the_limit():
    attempt = attempt_in(AttemptState.SENDING)
    delays = []
    while only(effects := fail(attempt, ConnectionLost("gone")), Wait):
        delays.append(only(effects, Wait)[0].seconds)
        attempt.handle(TimerFired(), jitter=0.0)
    assert delays == [0.5, 1, 2, 4, 8, 8, 8, 8, 8, 8]
    (failed,) = effects
    assert failed.failure.kind is FailureKind.UNREACHABLE
    assert attempt.state is AttemptState.FAILED


@given(jitter=st.floats(0, 1, exclude_max=True))
def test_chance_shortens_a_delay_by_at_most_a_quarter(jitter):
    (_, wait) = fail(attempt_in(AttemptState.SENDING), ConnectionLost("gone"), jitter=jitter)
    assert 0.375 <= wait.seconds <= 0.5


def test_the_delay_that_the_service_asks_for_is_obeyed_as_given():
    attempt = attempt_in(AttemptState.SENDING)
    effects = fail(attempt, Headers(429, {"retry-after": "7"}), BodyEnded(), jitter=0.9)
    assert only(effects, Wait) == [Wait(7.0)]


@pytest.mark.parametrize(("seconds", "words"), [("18000", "5 h 0 min"), ("900", "15 min"), ("61.5", "61.5 s")])
def test_a_wait_beyond_all_patience_ends_at_once_with_the_time(seconds, words):
    attempt = attempt_in(AttemptState.SENDING, RetryPolicy(longest_wait=60.0))
    (failed,) = refuse(attempt, 429, {"retry-after": seconds})
    error = failed.failure.error()
    assert isinstance(error, ProviderHTTPError)
    assert error.retry_after == float(seconds)
    assert f"The service asks to wait {words}." in str(error)


def test_by_default_ten_minutes_are_waited_and_a_quota_of_five_hours_is_not():
    assert only(refuse(attempt_in(AttemptState.SENDING), 429, {"retry-after": "600"}), Wait) == [Wait(600.0)]
    assert only(refuse(attempt_in(AttemptState.SENDING), 429, {"retry-after": "18000"}), Wait) == []


def test_a_quota_that_only_its_headers_tell_ends_at_once_with_the_time():
    quota = {
        "date": "Mon, 30 Nov 2026 10:00:00 GMT",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-11-30T15:00:00Z",
    }
    (failed,) = refuse(attempt_in(AttemptState.SENDING), 429, quota)
    assert "The service asks to wait 5 h 0 min." in str(failed.failure.error())


def test_the_sum_of_all_waits_has_a_limit():
    attempt = attempt_in(AttemptState.SENDING, RetryPolicy(total_wait=25.0))
    waits = 0
    while only(refuse(attempt, 529, {"retry-after": "10"}), Wait):
        waits += 1
        attempt.handle(TimerFired(), jitter=0.0)
    assert waits == 2


@pytest.mark.parametrize(
    ("kind", "retried"),
    [
        ("overloaded_error", True),
        ("api_error", True),
        ("rate_limit_error", True),
        ("timeout_error", True),
        ("something_new", True),
        ("invalid_request_error", False),
        ("authentication_error", False),
        ("permission_error", False),
    ],
)
def test_an_error_inside_the_stream(kind, retried):
    data = json.dumps({"type": "error", "error": {"type": kind, "message": "m"}}).encode()
    effects = fail(attempt_in(AttemptState.READING), Bytes(START + b"event: error\ndata: " + data + b"\n\n"))
    assert bool(only(effects, Wait)) is retried
    notices = [effect.item for effect in only(effects, Emit) if isinstance(effect.item, RetryNotice)]
    failures = [notice.failure for notice in notices] + [effect.failure for effect in only(effects, Failed)]
    assert [(failure.kind, failure.type) for failure in failures] == [(FailureKind.STREAM_ERROR, kind)]


@pytest.mark.parametrize(
    ("events", "kind", "error"),
    [
        ((ConnectionLost("no route"),), FailureKind.UNREACHABLE, ProviderUnavailableError),
        ((Headers(200, SSE), Bytes(START), BodyEnded()), FailureKind.STREAM_CUT, StreamProtocolError),
        ((Headers(200, SSE), Bytes(b"data: {x\n\n")), FailureKind.STREAM_BROKEN, StreamProtocolError),
        ((Headers(200, SSE), Bytes(END)), FailureKind.STREAM_BROKEN, StreamProtocolError),
        ((Headers(200, SSE), Bytes(START + OVERLOADED)), FailureKind.STREAM_ERROR, ProviderHTTPError),
        ((Headers(404, {}), BodyEnded()), FailureKind.REFUSED, ProviderHTTPError),
    ],
)
def test_each_failure_becomes_its_error(events, kind, error):
    attempt = attempt_in(AttemptState.SENDING, RetryPolicy(max_retries=0))
    (failed,) = only(fail(attempt, *events), Failed)
    assert failed.failure.kind is kind
    assert isinstance(failed.failure.error(), error)


def test_a_refusal_says_what_who_and_what_to_do():
    headers = {"request-id": "req_7"}
    error = {"type": "authentication_error", "message": "invalid x-api-key"}
    (failed,) = refuse(attempt_in(AttemptState.SENDING), 401, headers, **error)
    assert str(failed.failure.error()) == (
        "The service refused the request with status 401, 'authentication_error': invalid x-api-key. "
        "At request 'req_7'. Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN."
    )


def test_an_explanation_without_end_is_read_up_to_a_limit():
    attempt = attempt_in(AttemptState.REFUSED)
    for _ in range(40):
        attempt.handle(Bytes(b"x" * 10_000), jitter=0.0)
    assert sum(map(len, attempt._body)) == 65_536


def test_an_answer_without_streaming_counts_when_its_body_has_ended():
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "x"}], "usage": {"input_tokens": 4, "output_tokens": 5},
    }  # fmt: skip
    attempt = attempt_in(AttemptState.SENDING)
    events = (Headers(200, {"content-type": "application/json"}), Bytes(json.dumps(body).encode()))
    assert fail(attempt, *events) == ()
    (answered,) = attempt.handle(BodyEnded(), jitter=0.0)
    assert answered.message.stop_reason == "end_turn"


def test_an_unstreamed_answer_that_is_torn_is_tried_again():
    attempt = attempt_in(AttemptState.SENDING)
    effects = fail(attempt, Headers(200, {"content-type": "application/json"}), Bytes(b'{"type":"mess'), BodyEnded())
    assert only(effects, Wait) == [Wait(0.5)]


def test_a_page_in_place_of_a_stream_is_named_by_its_type():
    attempt = attempt_in(AttemptState.SENDING, RetryPolicy(max_retries=0))
    (failed,) = fail(attempt, Headers(200, {"content-type": "text/html"}), Bytes(b"<html>\n\n"), BodyEnded())
    assert failed.failure.message == "The answer holds no message; its content type is 'text/html'"


def test_what_had_arrived_can_be_seen_after_a_cancel():
    attempt = attempt_in(AttemptState.READING)
    attempt.handle(Bytes(START + CALL), jitter=0.0)
    assert attempt.handle(Cancelled(), jitter=0.0) == ()
    assert attempt.partial is not None
    assert (attempt.partial.stop_reason, attempt.partial.calls) == (None, ())


def test_a_message_cut_at_the_output_limit_is_an_answer():
    cut = START + END.replace(b"tool_use", b"max_tokens")
    (answered,) = only(fail(attempt_in(AttemptState.READING), Bytes(cut)), Answered)
    assert answered.message.stop_reason == "max_tokens"
