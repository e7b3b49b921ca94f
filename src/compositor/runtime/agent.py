"""The agent: one session that takes prompts and runs turns, through ports only.

Decides nothing about context or permission: it asks the turn machine what to do, compiles with the fold, and stores before it acts. What is
in memory is always what the transcript says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

import anyio
from msgspec import Struct

from compositor.context.wire.assemble import AssembledMessage
from compositor.loop import attempt as model
from compositor.loop import turn
from compositor.loop.effects import (
    EndReason,
    EndTurn,
    Record,
    RequestModel,
    RunBatch,
    StopAttempt,
    StopBatch,
    TurnEffect,
)
from compositor.loop.session import (
    Conversation,
    Stamp,
    answer_entry,
    compile_next,
    prompt_entry,
    record,
    results_entry,
    send_record,
)
from compositor.ports import Clock, Ids, ModelTransport, SessionStore
from compositor.runtime.driver import BatchRun, Workshop, ask_model
from compositor.runtime.events import AnswerEnded, RequestStarted, TurnResult, Watcher
from compositor.types.blocks import TextBlock
from compositor.types.entries import TranscriptEntry
from compositor.types.journal import OutcomeRecord, SendOutcome
from compositor.types.request import Compiled
from compositor.types.tools import OutcomeKind, ToolCall
from compositor.types.usage import Usage


class Parts(Struct, frozen=True, kw_only=True):
    """What an agent is put together from; `wiring.build_agent` is the one place that does it."""

    transport: ModelTransport
    store: SessionStore
    clock: Clock
    ids: Ids
    workshop: Workshop
    watch: Watcher
    chance: Callable[[], float]
    profile: str
    max_requests: int | None = None


class Agent:
    """One session. `submit` runs one turn at a time; `stop` may be called from anywhere in the same event loop."""

    def __init__(self, parts: Parts, conversation: Conversation) -> None:
        self._parts = parts
        self._conversation = conversation
        self._stop: Callable[[], None] | None = None
        self._stopped = False
        self._message: AssembledMessage | None = None
        self._usages: list[Usage] = []
        self._requests = 0
        self._denied: list[ToolCall] = []

    @property
    def conversation(self) -> Conversation:
        return self._conversation

    def stop(self) -> None:
        """Interrupt the turn. The history stays legal: open calls get a result that says so."""
        self._stopped = True
        if self._stop is not None:
            self._stop()

    async def submit(self, prompt: str) -> TurnResult:
        """Run one turn to its end. Raises what a request that cannot be compiled raises; provider failures end the turn."""
        self._begin()
        entry = prompt_entry(prompt, stamp=self._stamp(), parent=self._conversation.leaf)
        state = turn.TurnState(max_requests=self._parts.max_requests)
        event: turn.TurnEvent | None = turn.Submitted((entry,))
        while event is not None:
            state, effects = turn.advance(state, event)
            event = None
            for effect in effects:
                if isinstance(effect, EndTurn):
                    return self._result(effect)
                event = await self._perform(effect) or event
            if self._stopped and state.phase is turn.Phase.RUNNING and isinstance(event, turn.Results):
                state, _ = turn.advance(state, turn.StopRequested())
        raise AssertionError("a turn ends with EndTurn")

    def _begin(self) -> None:
        self._stopped = False
        self._message = None
        self._usages = []
        self._requests = 0
        self._denied = []

    async def _perform(self, effect: TurnEffect) -> turn.TurnEvent | None:
        match effect:
            case Record(entries=entries):
                self._record(entries)
                return None
            case RequestModel():
                return await self._request()
            case RunBatch(calls=calls):
                return await self._run_batch(calls)
            case StopAttempt() | StopBatch() | EndTurn():
                return None
            case _:
                assert_never(effect)

    def _record(self, entries: Sequence[TranscriptEntry]) -> None:
        self._parts.store.append(entries)
        self._conversation = record(self._conversation, entries)

    async def _request(self) -> turn.TurnEvent:
        parts = self._parts
        compiled = compile_next(self._conversation)
        self._requests += 1
        request_id = parts.ids.new()
        journal = send_record(
            self._conversation, compiled, request_id=request_id, time=parts.clock.now(), profile=parts.profile
        )
        parts.store.put_head(compiled.head)
        parts.store.append([journal])
        parts.watch(RequestStarted(self._requests, compiled))
        answer: model.Answered | model.Failed | None = None
        with anyio.CancelScope() as scope:
            self._stop = scope.cancel
            if not self._stopped:
                answer = await ask_model(compiled, parts.transport, watch=parts.watch, chance=parts.chance)
        self._stop = None
        return self._after(answer, compiled, request_id)

    def _after(
        self, answer: model.Answered | model.Failed | None, compiled: Compiled, request_id: str
    ) -> turn.TurnEvent:
        match answer:
            case None:
                self._journal_outcome(request_id, SendOutcome.INTERRUPTED, None, "interrupted by the user")
                return turn.StopRequested()
            case model.Failed(failure=failure):
                lost = SendOutcome.REFUSED if failure.reply is not None else SendOutcome.LOST
                self._journal_outcome(request_id, lost, None, failure.message)
                return turn.Failed(EndReason.API_ERROR, str(failure.error()))
            case model.Answered(message=message):
                self._journal_outcome(request_id, SendOutcome.ANSWERED, message.usage, "")
                return self._answered(message, compiled)
            case _:
                assert_never(answer)

    def _answered(self, message: AssembledMessage, compiled: Compiled) -> turn.Answered:
        self._usages.append(message.usage)
        self._message = message
        self._parts.watch(AnswerEnded(self._requests, message))
        entry = answer_entry(
            stamp=self._stamp(),
            parent=self._conversation.leaf,
            message_id=message.id,
            model=compiled.options.model,
            content=message.content,
            stop_reason=message.stop_reason,
            usage=message.usage,
            prefix_digest=compiled.view_digest,
        )
        return turn.Answered(entry, message.calls)

    def _journal_outcome(self, request_id: str, outcome: SendOutcome, usage: Usage | None, detail: str) -> None:
        ended = OutcomeRecord(
            request_id=request_id, time=self._parts.clock.now(), outcome=outcome, usage=usage, detail=detail
        )
        self._parts.store.append([ended])

    async def _run_batch(self, calls: tuple[ToolCall, ...]) -> turn.Results:
        running = BatchRun(calls, self._parts.workshop)
        self._stop = running.stop
        if self._stopped:
            running.stop()
        outcomes = await running.outcomes()
        self._stop = None
        denied = {outcome.call_id for outcome in outcomes if outcome.kind is OutcomeKind.DENIED}
        self._denied.extend(call for call in calls if call.id in denied)
        return turn.Results((results_entry(outcomes, stamp=self._stamp(), parent=self._conversation.leaf),))

    def _stamp(self) -> Stamp:
        return Stamp(self._parts.ids.new(), self._parts.clock.now())

    def _result(self, end: EndTurn) -> TurnResult:
        blocks = self._message.content if self._message is not None else ()
        return TurnResult(
            reason=end.reason,
            detail=end.detail,
            text="".join(block.text for block in blocks if isinstance(block, TextBlock)),
            requests=self._requests,
            usages=tuple(self._usages),
            denied=tuple(self._denied),
        )
