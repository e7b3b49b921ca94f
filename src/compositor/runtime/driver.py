"""Drives the attempt machine over a transport and the batch machine over tools.

Decides nothing: the machines say what to do, this file does it and reports what happened. Owns cancellation: whatever stops a call, the batch
still ends with an outcome for each of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import anyio
import msgspec
from msgspec import Struct

from compositor.errors import ProviderUnavailableError, UsageError
from compositor.loop import attempt as model
from compositor.loop import batch
from compositor.loop.effects import BatchDone, BatchEffect, Judge, Run
from compositor.loop.retry import RetryPolicy
from compositor.ports import ModelTransport, Tool, ToolScope
from compositor.runtime.events import CallEnded, CallProgress, Retrying, Streamed, Watcher
from compositor.types.request import Compiled
from compositor.types.tools import Concurrency, OutcomeKind, ToolCall, ToolOutcome

STALL_SECONDS = 90.0
"""An answer under way may be silent so long: the service sends a ping every few seconds (wire page 7)."""

Admission: TypeAlias = ToolCall | ToolOutcome
"""The gate's answer: the call with its final input, or the outcome that tells the model why not."""

Gatekeeper: TypeAlias = Callable[[ToolCall], Awaitable[Admission]]
Decisive: TypeAlias = model.Send | model.Wait | model.Answered | model.Failed


async def ask_model(
    compiled: Compiled,
    transport: ModelTransport,
    *,
    watch: Watcher,
    chance: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    policy: RetryPolicy | None = None,
) -> model.Answered | model.Failed:
    """Send one request until it is answered or given up. `chance` gives numbers in [0, 1), `sleep` waits seconds and can be cancelled."""
    machine = model.Attempt(compiled, policy)
    order = _perform(machine.handle(model.Started(), jitter=chance()), watch)
    while not isinstance(order, (model.Answered, model.Failed)):
        match order:
            case model.Send(compiled=snapshot):
                order = await _exchange(machine, snapshot, transport, watch, chance)
            case model.Wait(seconds=seconds):
                await sleep(seconds)
                order = _perform(machine.handle(model.TimerFired(), jitter=chance()), watch)
            case None:
                raise UsageError("an attempt stopped without saying what comes next")
    return order


async def _exchange(
    machine: model.Attempt,
    compiled: Compiled,
    transport: ModelTransport,
    watch: Watcher,
    chance: Callable[[], float],
) -> Decisive | None:
    """One sending, read until the machine knows what comes next."""

    def report(event: model.Event) -> Decisive | None:
        return _perform(machine.handle(event, jitter=chance()), watch)

    try:
        async with transport.send(compiled.headers, compiled.pieces(), compiled.size) as response:
            order = report(model.Headers(response.status, response.headers))
            if order is not None:
                return order
            async for chunk in while_heard(response.chunks()):
                order = report(model.Bytes(chunk))
                if order is not None:
                    return order
        return report(model.BodyEnded())
    except ProviderUnavailableError as problem:
        return report(model.ConnectionLost(problem.message))


async def while_heard(chunks: AsyncIterator[bytes], seconds: float = STALL_SECONDS) -> AsyncIterator[bytes]:
    """The chunks, until one is late: an answer under way that falls silent is lost, however long the service may take to begin one.

    Raises `ProviderUnavailableError` with the time.
    """
    begun = False
    while True:
        try:
            with anyio.fail_after(seconds if begun else None):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError as problem:
            raise ProviderUnavailableError(f"The answer fell silent for {seconds:g} s") from problem
        begun = True
        yield chunk


def _perform(effects: Sequence[model.Effect], watch: Watcher) -> Decisive | None:
    """Show what is to be shown; give back the one effect that decides how it goes on."""
    decisive: Decisive | None = None
    for effect in effects:
        if isinstance(effect, model.Emit):
            item = effect.item
            watch(Retrying(item) if isinstance(item, model.RetryNotice) else Streamed(item))
        else:
            decisive = effect
    return decisive


class Workshop(Struct, frozen=True, kw_only=True):
    """What the calls of a batch are run with.

    `limit` keeps all results of a batch together within what a turn may cost (F40).

    `after` hears of each call that ran, before its result goes on.
    """

    tools: Mapping[str, Tool]
    scope: Callable[[], ToolScope]
    judge: Gatekeeper
    watch: Watcher
    limit: Callable[[Sequence[ToolOutcome]], Sequence[ToolOutcome]] = tuple
    after: Callable[[ToolCall, ToolOutcome], Awaitable[None]] | None = None


class BatchRun:
    """One batch under way. `stop` interrupts it; `outcomes` waits for its end."""

    def __init__(self, calls: Sequence[ToolCall], workshop: Workshop) -> None:
        self._calls = tuple(calls)
        self._workshop = workshop
        self._scopes: set[anyio.CancelScope] = set()
        self._send, self._receive = anyio.create_memory_object_stream[batch.BatchEvent](len(self._calls) * 2 + 2)

    def stop(self) -> None:
        """Interrupt: nothing new starts, running calls are cancelled and end as interrupted."""
        self._send.send_nowait(batch.Stopped())

    async def outcomes(self) -> tuple[ToolOutcome, ...]:
        """One outcome a call, in call order."""
        classes = [self._class_of(call) for call in self._calls]
        state, effects = batch.start(self._calls, classes)
        async with self._send, self._receive, anyio.create_task_group() as tasks:
            while not any(isinstance(effect, BatchDone) for effect in effects):
                for effect in effects:
                    tasks.start_soon(self._task, effect)
                event = await self._receive.receive()
                state, effects = batch.advance(state, event)
                if isinstance(event, batch.Stopped):
                    self._cancel_all()
        outcomes = tuple(outcome for done in effects if isinstance(done, BatchDone) for outcome in done.outcomes)
        return tuple(await anyio.to_thread.run_sync(self._workshop.limit, outcomes))

    def _cancel_all(self) -> None:
        for scope in tuple(self._scopes):
            scope.cancel()

    def _class_of(self, call: ToolCall) -> Concurrency:
        tool = self._workshop.tools.get(call.name)
        return Concurrency.EXCLUSIVE if tool is None else tool.definition.concurrency

    async def _task(self, effect: BatchEffect) -> None:
        """Judge or run one call, and report, unless it was only being judged when all was stopped."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            match effect:
                case Judge(call=call):
                    event: batch.BatchEvent = await self._judge(call)
                case Run(call=call):
                    event = batch.Finished(await self._run(call))
                case _:
                    return
        self._scopes.discard(scope)
        if scope.cancelled_caught:
            if not isinstance(effect, Run):
                return
            event = batch.Finished(self._interrupted(effect.call))
        self._send.send_nowait(event)

    async def _judge(self, call: ToolCall) -> batch.BatchEvent:
        admission = await self._workshop.judge(call)
        return batch.Admitted(admission) if isinstance(admission, ToolCall) else batch.Refused(admission)

    async def _run(self, call: ToolCall) -> ToolOutcome:
        tool = self._workshop.tools[call.name]
        try:
            outcome = await tool.run(call, self._scope_of(call))
        except Exception as problem:  # noqa: BLE001 - a broken tool must not leave its call unanswered (F02)
            text = f"The tool {call.name!r} failed: {type(problem).__name__}: {problem}"
            outcome = ToolOutcome(call_id=call.id, kind=OutcomeKind.FAILED, content=text, display=text)
        self._workshop.watch(CallEnded(call, outcome))
        if self._workshop.after is not None:
            await self._workshop.after(call, outcome)
        return outcome

    def _scope_of(self, call: ToolCall) -> ToolScope:
        """Where the call works; what it reports goes to the watcher as its own."""
        watch = self._workshop.watch
        return msgspec.structs.replace(self._workshop.scope(), report=lambda text: watch(CallProgress(call, text)))

    def _interrupted(self, call: ToolCall) -> ToolOutcome:
        text = "The call was interrupted by the user. What it had done until then was not undone."
        outcome = ToolOutcome(
            call_id=call.id, kind=OutcomeKind.INTERRUPTED, content=text, display=f"{call.name}: interrupted"
        )
        self._workshop.watch(CallEnded(call, outcome))
        return outcome
