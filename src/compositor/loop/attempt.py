"""One request until it is answered: send, read the stream, recover. A machine without IO; its table is `Attempt.TABLE`.

Two rules. All that decides what happens to a request after it was compiled stands in this file. This file never changes the
request: every resend is the same `Compiled` object, so the same bytes (R011).

How it runs. The driver reports what happened (`Event`) and performs what it is told (`Effect`); with each event comes one
random number, so that the machine itself holds no chance. Tool calls are dispatched only from `Answered`, that is, after the
message has ended (R014); hence a resend can never run a call twice. An event that the state does not know raises
`UsageError` and changes nothing.

    NEW       Started: Send, and SENDING
    SENDING   Headers: READING for a success, else REFUSED. ConnectionLost: recover
    READING   Bytes: ANSWERED when the message ends; an error in the stream: recover. BodyEnded, ConnectionLost: the answer
              was cut: recover
    REFUSED   Bytes: the explanation. BodyEnded, ConnectionLost: recover
    WAITING   TimerFired: Send the same object, and SENDING
    recover   WAITING with a notice, or FAILED when the failure does not pass by waiting or patience is at its end; a refused lane,
              marker or image (R390, R391) is FAILED with a remedy, which the caller applies before it compiles anew
    Cancelled ends each of these. ANSWERED, FAILED and CANCELLED take no event.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct

from compositor.context.wire.assemble import AssembledMessage, PartialMessage, parse_message
from compositor.context.wire.decode import Decoder
from compositor.context.wire.failure import decode_error
from compositor.errors import StreamProtocolError, UsageError
from compositor.types.request import Compiled
from compositor.types.stream import MessageStop, StreamEvent, StreamFailure

from .remedies import Remedy, find_remedy
from .retry import Failure, FailureKind, RetryPolicy, is_passing, retry_delay

_LONGEST_EXPLANATION = 65_536


class AttemptState(enum.StrEnum):
    NEW = "new"
    SENDING = "sending"
    READING = "reading"
    REFUSED = "refused"
    WAITING = "waiting"
    ANSWERED = "answered"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Started(Struct, frozen=True):
    """The driver is ready; nothing has been sent."""


class Headers(Struct, frozen=True):
    """The answer has begun. `headers` has lower-case names."""

    status: int
    headers: Mapping[str, str]


class Bytes(Struct, frozen=True):
    data: bytes


class BodyEnded(Struct, frozen=True):
    pass


class ConnectionLost(Struct, frozen=True):
    """No answer, or no more of it. `detail` is one sentence."""

    detail: str


class TimerFired(Struct, frozen=True):
    pass


class Cancelled(Struct, frozen=True):
    pass


Event: TypeAlias = Started | Headers | Bytes | BodyEnded | ConnectionLost | TimerFired | Cancelled


class Send(Struct, frozen=True):
    """Open a new exchange with these bytes."""

    compiled: Compiled


class Wait(Struct, frozen=True):
    """Close the exchange, then report `TimerFired` after `seconds`."""

    seconds: float


class RetryNotice(Struct, frozen=True, kw_only=True):
    """The request will be sent again: what was shown of the broken answer is void.

    `attempt` counts the resends from 1, `limit` is the most there can be, `delay` is in seconds.
    """

    attempt: int
    limit: int
    delay: float
    failure: Failure


class Emit(Struct, frozen=True):
    """Something for the person watching; it decides nothing."""

    item: StreamEvent | RetryNotice


class Answered(Struct, frozen=True):
    """The message has ended. Close the exchange."""

    message: AssembledMessage


class Failed(Struct, frozen=True):
    """There will be no answer. Close the exchange; `failure.error()` is what to raise.

    With a `remedy` another request may be answered: one that is compiled again with the remedy in the conversation.
    """

    failure: Failure
    remedy: Remedy | None = None


Effect: TypeAlias = Send | Wait | Emit | Answered | Failed


class Attempt:
    """The machine for one compiled request."""

    def __init__(self, compiled: Compiled, policy: RetryPolicy | None = None) -> None:
        self._compiled = compiled
        self._policy = policy or RetryPolicy()
        self._state = AttemptState.NEW
        self._retries = 0
        self._waited = 0.0
        self._message = PartialMessage()
        self._begin(200, {})

    @property
    def state(self) -> AttemptState:
        return self._state

    @property
    def partial(self) -> AssembledMessage | None:
        """What has arrived of the answer that is being read, for display and for the record of an interrupted turn."""
        return self._message.result() if self._message.started else None

    def handle(self, event: Event, *, jitter: float) -> tuple[Effect, ...]:
        """Report what happened. `jitter` is a fresh random number in [0, 1).

        Raises `UsageError` for an event that this state does not know; nothing has changed then.
        """
        row = self.TABLE.get((self._state, type(event)))
        if row is None:
            raise UsageError(f"An attempt that is {self._state.value!r} cannot take {type(event).__name__!r}")
        return row(self, event, jitter)

    # --------------------------------------------------------------------------------------------- what the rows do

    def _send(self, _: Event, __: float) -> tuple[Effect, ...]:
        self._state = AttemptState.SENDING
        return (Send(self._compiled),)

    def _receive_headers(self, event: Headers, _: float) -> tuple[Effect, ...]:
        self._begin(event.status, event.headers)
        self._state = AttemptState.READING if event.status == 200 else AttemptState.REFUSED
        return ()

    def _read(self, event: Bytes, jitter: float) -> tuple[Effect, ...]:
        if not self._streamed:
            self._body.append(event.data)
            return ()
        try:
            return self._take(self._decoder.feed(event.data), jitter)
        except StreamProtocolError as problem:
            return self._recover(Failure(kind=FailureKind.STREAM_BROKEN, message=problem.message), jitter)

    def _end_reading(self, _: Event, jitter: float) -> tuple[Effect, ...]:
        try:
            if not self._streamed:
                return self._answer(parse_message(b"".join(self._body)))
            effects = self._take(self._decoder.flush(), jitter)
        except StreamProtocolError as problem:
            return self._recover(Failure(kind=FailureKind.STREAM_BROKEN, message=problem.message), jitter)
        if self._state is not AttemptState.READING:
            return effects
        return effects + self._recover(self._cut(), jitter)

    def _cut(self) -> Failure:
        if self._message.started:
            return Failure(kind=FailureKind.STREAM_CUT, message="The answer ended before its end")
        kind = self._headers.get("content-type", "none")
        return Failure(
            kind=FailureKind.STREAM_BROKEN, message=f"The answer holds no message; its content type is {kind!r}"
        )

    def _take(self, events: tuple[StreamEvent, ...], jitter: float) -> tuple[Effect, ...]:
        effects: list[Effect] = []
        for event in events:
            self._message = self._message.add(event)
            effects.append(Emit(event))
            if isinstance(event, StreamFailure):
                failure = Failure(kind=FailureKind.STREAM_ERROR, type=event.type, message=event.message)
                return (*effects, *self._recover(failure, jitter))
            if isinstance(event, MessageStop):
                return (*effects, *self._answer(self._message.result()))
        return tuple(effects)

    def _answer(self, message: AssembledMessage) -> tuple[Effect, ...]:
        self._state = AttemptState.ANSWERED
        return (Answered(message),)

    def _collect(self, event: Bytes, _: float) -> tuple[Effect, ...]:
        room = _LONGEST_EXPLANATION - sum(map(len, self._body))
        self._body.append(event.data[:room])
        return ()

    def _refused(self, _: Event, jitter: float) -> tuple[Effect, ...]:
        reply = decode_error(self._status, self._headers, b"".join(self._body))
        remedy = find_remedy(reply, self._compiled)
        if remedy is not None:
            self._state = AttemptState.FAILED
            return (Failed(Failure.of(reply), remedy),)
        return self._recover(Failure.of(reply), jitter)

    def _lose(self, event: ConnectionLost, jitter: float) -> tuple[Effect, ...]:
        return self._recover(Failure(kind=FailureKind.UNREACHABLE, message=event.detail), jitter)

    def _cancel(self, _: Event, __: float) -> tuple[Effect, ...]:
        self._state = AttemptState.CANCELLED
        return ()

    def _recover(self, failure: Failure, jitter: float) -> tuple[Effect, ...]:
        delay = retry_delay(self._policy, failure, self._retries, jitter)
        spent = self._retries >= self._policy.max_retries or self._waited + delay > self._policy.total_wait
        if spent or not is_passing(failure) or delay > self._policy.longest_wait:
            self._state = AttemptState.FAILED
            return (Failed(failure),)
        self._retries += 1
        self._waited += delay
        self._state = AttemptState.WAITING
        self._message = PartialMessage()
        notice = RetryNotice(attempt=self._retries, limit=self._policy.max_retries, delay=delay, failure=failure)
        return (Emit(notice), Wait(delay))

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Nothing of an earlier answer may reach the next one."""
        self._status = status
        self._headers = headers
        self._streamed = "application/json" not in headers.get("content-type", "")
        self._decoder = Decoder()
        self._message = PartialMessage()
        self._body: list[bytes] = []

    TABLE: ClassVar[dict[tuple[AttemptState, type[Event]], Callable[..., tuple[Effect, ...]]]] = {
        (AttemptState.NEW, Started): _send,
        (AttemptState.NEW, Cancelled): _cancel,
        (AttemptState.SENDING, Headers): _receive_headers,
        (AttemptState.SENDING, ConnectionLost): _lose,
        (AttemptState.SENDING, Cancelled): _cancel,
        (AttemptState.READING, Bytes): _read,
        (AttemptState.READING, BodyEnded): _end_reading,
        (AttemptState.READING, ConnectionLost): _lose,
        (AttemptState.READING, Cancelled): _cancel,
        (AttemptState.REFUSED, Bytes): _collect,
        (AttemptState.REFUSED, BodyEnded): _refused,
        (AttemptState.REFUSED, ConnectionLost): _refused,
        (AttemptState.REFUSED, Cancelled): _cancel,
        (AttemptState.WAITING, TimerFired): _send,
        (AttemptState.WAITING, Cancelled): _cancel,
    }
