"""A turn as spans and metrics: from the source of a piece, over the request it stands in, to usage and money.

Decides what becomes a span and what it says. Records names, places, sizes and figures, and never what was said: no prompt, no answer, no
input or output of a tool.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from compositor.config.price import Price, cost
from compositor.context.cache.attribution import Attribution
from compositor.context.wire.assemble import AssembledMessage
from compositor.insight.contributions import Contribution, contributions
from compositor.loop.effects import EndReason
from compositor.loop.failure_matrix import FailureMet
from compositor.runtime.events import (
    AgentEvent,
    AnswerEnded,
    AsideAnswered,
    CallEnded,
    CallJudged,
    Compacted,
    Mended,
    OutputWidened,
    PrefixMoves,
    RequestStarted,
    Retrying,
    Streamed,
    TurnEnded,
    TurnResult,
    TurnStarted,
)
from compositor.types.request import Compiled
from compositor.types.tools import OutcomeKind
from compositor.types.usage import Usage
from compositor.types.verdicts import Allow

from . import names
from .instruments import Instruments

_GOOD = frozenset({EndReason.COMPLETED, EndReason.ABORTED_STREAMING, EndReason.ABORTED_TOOLS})


class RunFacts(Struct, frozen=True, kw_only=True):
    """What every span of a session says. `provider` as the conventions name it; `price_of` a model is `None` where none is known."""

    session_id: str
    version: str
    provider: str
    address: str
    port: int | None
    price_of: Callable[[str], Price | None]


class _Request(Struct, kw_only=True):
    span: Span
    model: str
    begun: float
    first: float | None = None


class Recorder:
    """One session, watched. `parent` is the trace that whoever started this program is in."""

    def __init__(self, facts: RunFacts, tracer: Tracer, meter: Meter, parent: Context | None = None) -> None:
        self._facts = facts
        self._tracer = tracer
        self._counts = Instruments(meter)
        self._parent = parent
        self._turn: Span | None = None
        self._request: _Request | None = None
        self._calls: dict[str, Span] = {}
        self._before: Compiled | None = None
        self._warned = False

    def __call__(self, event: AgentEvent) -> None:
        """Take in one event. A fault here is told once and costs the run nothing (law 6)."""
        try:
            self._take(event)
        except Exception as problem:  # noqa: BLE001
            if not self._warned:
                self._warned = True
                logging.getLogger("compositor.telemetry").warning("an event could not be recorded: %s", problem)

    def close(self) -> None:
        """End what is still open: the program ends in the middle of it."""
        self._end_request("interrupted")
        for span in (*self._calls.values(), *(() if self._turn is None else (self._turn,))):
            span.set_attribute(names.ERROR_TYPE, "interrupted")
            span.end()
        self._calls, self._turn = {}, None

    def _take(self, event: AgentEvent) -> None:
        match event:
            case TurnStarted():
                self._begin_turn()
            case RequestStarted():
                self._begin_request(event)
            case Streamed() if self._request is not None and self._request.first is None:
                self._request.first = time.monotonic()
            case AnswerEnded(message=message, cache=cache):
                self._answered(message, cache)
            case AsideAnswered(message=message, cache=cache):
                self._answered(message, cache, aside=True)
            case CallJudged():
                self._judged(event)
            case CallEnded():
                self._ended(event)
            case TurnEnded(result=result):
                self._end_turn(result)
            case _:
                self._remark(event)

    # ------------------------------------------------------------------------------------------------------- turns

    def _begin_turn(self) -> None:
        self.close()
        self._turn = self._tracer.start_span(
            "invoke_agent compositor",
            context=self._parent,
            kind=SpanKind.INTERNAL,
            attributes={
                names.OPERATION: "invoke_agent",
                names.PROVIDER: self._facts.provider,
                names.AGENT_NAME: "compositor",
                names.AGENT_VERSION: self._facts.version,
                names.CONVERSATION: self._facts.session_id,
            },
        )

    def _end_turn(self, result: TurnResult) -> None:
        self._end_request(result.reason.value)
        turn, self._turn = self._turn, None
        if turn is None:
            return
        turn.set_attributes(
            {
                names.TURN_REASON: result.reason.value,
                names.TURN_REQUESTS: result.requests,
                names.TURN_DENIED: len(result.denied),
                **_usage_attributes(result.usage),
            }
        )
        prices = [self._facts.price_of(model) for model in result.models]
        costs = [cost(usage, price) for usage, price in zip(result.usages, prices, strict=True) if price is not None]
        if costs and len(costs) == len(prices):
            # Of every request that was answered, also those whose answer was cut and asked for once more.
            turn.set_attribute(names.COST, sum(costs))
        if result.reason not in _GOOD:
            turn.set_attribute(names.ERROR_TYPE, result.reason.value)
            turn.set_status(Status(StatusCode.ERROR))
        turn.end()
        self._counts.turns.add(1, {names.TURN_REASON: result.reason.value})

    # ---------------------------------------------------------------------------------------------------- requests

    def _begin_request(self, event: RequestStarted) -> None:
        self._end_request("superseded")
        compiled, options = event.compiled, event.compiled.options
        attributes: dict[str, Any] = {
            **self._common("chat", options.model),
            names.CONVERSATION: self._facts.session_id,
            names.REQUEST_MAX_TOKENS: options.max_tokens,
            names.REQUEST_STREAM: options.stream,
            names.REQUEST_NUMBER: event.number,
            names.REQUEST_BYTES: compiled.size,
            names.VIEW_DIGEST: compiled.view_digest,
            names.HEAD_DIGEST: compiled.head.digest,
            names.FORECAST_READ: event.forecast.read,
            names.FORECAST_WRITTEN: event.forecast.written,
        }
        if options.temperature is not None:
            attributes[names.REQUEST_TEMPERATURE] = options.temperature
        span = self._tracer.start_span(
            f"chat {options.model}", context=self._inside(self._turn), kind=SpanKind.CLIENT, attributes=attributes
        )
        self._request = _Request(span=span, model=options.model, begun=time.monotonic())
        price = self._facts.price_of(options.model)
        for part in contributions(compiled, self._before):
            now = time.time_ns()
            told = self._tracer.start_span(
                f"context {part.origin.source.kind}",
                context=self._inside(span),
                start_time=now,
                attributes=_source_attributes(part, price),
            )
            told.end(now)
        self._before = compiled

    def _answered(self, message: AssembledMessage, cache: Attribution, *, aside: bool = False) -> None:
        request, self._request = self._request, None
        if request is None:
            return
        price = self._facts.price_of(request.model)
        dollars = None if price is None else cost(message.usage, price)
        request.span.set_attributes(
            {
                names.RESPONSE_ID: message.id,
                names.RESPONSE_MODEL: message.model,
                names.FINISH_REASONS: (message.stop_reason or "",),
                **_usage_attributes(message.usage),
                names.CACHE_VERDICT: cache.verdict.value,
                names.CACHE_CAUSE: cache.cause,
                names.CACHE_LOST: cache.lost,
                names.ASIDE: aside,
            }
        )
        if dollars is not None:
            request.span.set_attribute(names.COST, dollars)
        if request.first is not None:
            request.span.set_attribute(names.FIRST_CHUNK, request.first - request.begun)
        request.span.end()
        common = {**self._common("chat", request.model), names.RESPONSE_MODEL: message.model}
        self._counts.answered(common, message.usage, cache.lost, dollars)
        self._counts.timed(common, request.begun, request.first)

    def _end_request(self, why: str) -> None:
        """A request that got no answer."""
        request, self._request = self._request, None
        if request is None:
            return
        request.span.set_attribute(names.ERROR_TYPE, why)
        request.span.set_status(Status(StatusCode.ERROR))
        request.span.end()
        self._counts.timed({**self._common("chat", request.model), names.ERROR_TYPE: why}, request.begun, None)

    # ------------------------------------------------------------------------------------------------------- calls

    def _judged(self, event: CallJudged) -> None:
        call, verdict = event.call, event.verdict
        allowed = isinstance(verdict, Allow)
        self._calls[call.id] = self._tracer.start_span(
            f"execute_tool {call.name}",
            context=self._inside(self._turn),
            kind=SpanKind.INTERNAL,
            attributes={
                names.OPERATION: "execute_tool",
                names.TOOL_NAME: call.name,
                names.TOOL_TYPE: "function",
                names.TOOL_CALL_ID: call.id,
                names.CONVERSATION: self._facts.session_id,
                names.VERDICT: type(verdict).__name__.lower(),
                names.VERDICT_REASON: verdict.reason,
                **({} if allowed else {names.ERROR_TYPE: "denied"}),
            },
        )

    def _ended(self, event: CallEnded) -> None:
        span = self._calls.pop(event.call.id, None)
        outcome = event.outcome.kind
        self._counts.tool_calls.add(1, {names.TOOL_NAME: event.call.name, names.OUTCOME: outcome.value})
        if span is None:
            return
        span.set_attribute(names.OUTCOME, outcome.value)
        if outcome is not OutcomeKind.DONE:
            span.set_attribute(names.ERROR_TYPE, outcome.value)
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    # ----------------------------------------------------------------------------------------------------- remarks

    def _remark(self, event: AgentEvent) -> None:
        """What happens on the way, on the span that it belongs to."""
        request = None if self._request is None else self._request.span
        match event:
            case Retrying(notice=notice):
                said = {"attempt": notice.attempt, "delay_s": notice.delay, names.ERROR_TYPE: notice.failure.kind.value}
                _say(request, "compositor.retry", said)
            case Mended(remedy=remedy):
                _say(request, "compositor.mended", {"remedy": type(remedy).__name__})
                self._end_request("refused")
            case OutputWidened(before=before, limit=limit):
                _say(request, "compositor.output_widened", {"before": before, "limit": limit})
                self._end_request("max_tokens")
            case FailureMet(row=row):
                _say(self._turn, "compositor.failure", asdict(row))
            case PrefixMoves(move=move, refused=refused):
                said = {"lost_tokens": move.lost, "refused": refused, "text": move.text}
                _say(self._turn, "compositor.prefix_moves", said)
            case Compacted(before=before, after=after, method=method):
                _say(self._turn, "compositor.compacted", {"before": before, "after": after, "method": method})
            case _:
                pass

    def _common(self, operation: str, model: str) -> dict[str, Any]:
        facts = self._facts
        found: dict[str, Any] = {
            names.OPERATION: operation,
            names.PROVIDER: facts.provider,
            names.REQUEST_MODEL: model,
            names.SERVER_ADDRESS: facts.address,
        }
        return found if facts.port is None else {**found, names.SERVER_PORT: facts.port}

    def _inside(self, span: Span | None) -> Context | None:
        return self._parent if span is None else trace.set_span_in_context(span)


def _say(span: Span | None, name: str, attributes: Mapping[str, Any]) -> None:
    if span is not None:
        span.add_event(name, dict(attributes))


def _usage_attributes(usage: Usage) -> dict[str, int]:
    """Tokens as the conventions count them: input is everything that was read, cached or not."""
    return {
        names.INPUT_TOKENS: usage.total_input,
        names.OUTPUT_TOKENS: usage.output_tokens,
        names.READ_TOKENS: usage.read,
        names.WRITTEN_TOKENS: usage.written,
    }


def _source_attributes(part: Contribution, price: Price | None) -> dict[str, Any]:
    origin, source = part.origin, part.origin.source
    found: dict[str, Any] = {
        names.SOURCE_KIND: source.kind,
        names.SOURCE_NAME: source.name,
        names.SOURCE_REGION: part.region.value,
        names.SOURCE_LANE: origin.lane.value,
        names.SOURCE_LIFETIME: origin.lifetime.name.lower(),
        names.SOURCE_GATE: origin.gate,
        names.SOURCE_BYTES: part.size,
        names.SOURCE_TOKENS: part.tokens,
    }
    if source.path is not None:
        found[names.SOURCE_PATH] = source.path
    if source.line is not None:
        found[names.SOURCE_LINE] = source.line
    if price is not None:
        tier = price.tiers[0]
        found[names.SOURCE_WRITE_COST] = part.tokens * tier.write_5m / 1_000_000
        found[names.SOURCE_READ_COST] = part.tokens * tier.read / 1_000_000
    return found
