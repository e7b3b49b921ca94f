"""The agent: one session that takes prompts and runs turns, through ports only.

Decides nothing about context or permission: it asks the turn machine what to do, compiles with the fold, and stores before it acts. What is
in memory is always what the transcript says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

import anyio
import msgspec

from compositor.context.compaction.ladder import Step, Trigger
from compositor.context.wire.assemble import AssembledMessage
from compositor.errors import UsageError
from compositor.loop import attempt as model
from compositor.loop import turn
from compositor.loop.accounting import Sent
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
from compositor.loop.offering import take_in
from compositor.loop.output import widen_output
from compositor.loop.remedies import Remedy, apply_remedy
from compositor.loop.session import (
    Conversation,
    Stamp,
    begin_anew,
    message_entry,
    note_entries,
    prompt_entry,
    record,
    renew_head,
    results_entry,
)
from compositor.ports import Modes, Occasion
from compositor.runtime.collect import reached_paths
from compositor.runtime.compacting import Cleaned, Compacting
from compositor.runtime.compaction import Compaction, Wish, by_hand
from compositor.runtime.driver import BatchRun
from compositor.runtime.events import AnswerEnded, Compacted, HeadRenewed, Mended, OutputWidened, TurnResult
from compositor.runtime.parts import Parts
from compositor.runtime.summaries import is_too_long
from compositor.runtime.tail import Tail
from compositor.types.attachments import MediaAttachment, QueuedInput
from compositor.types.blocks import DocumentBlock, ImageBlock, TextBlock
from compositor.types.entries import AttachmentEntry, TranscriptEntry
from compositor.types.journal import SendOutcome
from compositor.types.origin import Origin
from compositor.types.request import RequestOptions
from compositor.types.snapshot import EventName
from compositor.types.tools import OutcomeKind, ToolCall


class Agent:
    """One session. `submit` runs one turn at a time; `stop` may be called from anywhere in the same event loop."""

    def __init__(self, parts: Parts, conversation: Conversation) -> None:
        self._parts = parts
        self._conversation = conversation
        self._line = parts.line
        self._stop: Callable[[], None] | None = None
        self._stopped = False
        self._message: AssembledMessage | None = None
        self._tail = Tail(parts.collection, parts.hooks, parts.watch, self._stamp, parts.form)
        self._denied: list[ToolCall] = []

    @property
    def conversation(self) -> Conversation:
        return self._conversation

    @property
    def modes(self) -> Modes | None:
        return self._parts.modes

    def stop(self) -> None:
        """Interrupt the turn. The history stays legal: open calls get a result that says so."""
        self._stopped = True
        if self._stop is not None:
            self._stop()

    async def submit(
        self,
        prompt: str,
        media: tuple[ImageBlock | DocumentBlock, ...] = (),
        pictures: Sequence[MediaAttachment] = (),
    ) -> TurnResult:
        """Run one turn to its end. Raises what a request that cannot be compiled raises; provider failures end the turn.

        `media` are blocks of the prompt itself, `pictures` were pasted into it (R196).
        """
        self._begin()
        entry = prompt_entry(prompt, stamp=self._stamp(), parent=self._conversation.leaf, media=media)
        refusal = await self._tail.hear(prompt, self._conversation)
        if refusal is not None:
            return self._result(EndTurn(EndReason.HOOK_STOPPED, refusal))
        shown = note_entries(pictures, stamp=self._stamp, parent=entry.uuid)
        tip = shown[-1].uuid if shown else entry.uuid
        end = await self._drive((entry, *shown, *await self._told(Occasion.SUBMISSION, (), tip)))
        while end.reason is EndReason.COMPLETED and not self._stopped:
            more = await self._tail.kept_going(self._conversation, self._text())
            if not more:
                break
            end = await self._drive(more)
        return self._result(end)

    async def compact(self, focus: str = "", pins: Sequence[str] = (), step: Step | None = None) -> Compacted | None:
        """Compact the conversation because a person asks for it; `None` when nothing could be done, which the watcher was told.

        `step` takes a way that the ladder would not choose.
        """
        self._begin()
        return await self._compact(by_hand(focus, pins, step))

    async def clear(self) -> None:
        """Begin anew in the same session: sections and options are computed anew, no file counts as read, the transcript keeps everything."""
        heads = self._parts.heads
        if heads is None:
            raise UsageError("this agent cannot begin anew: nobody plans its head")
        renewal = await heads.reset(self._conversation.prefix.head.parts, EventName.CLEAR)
        self._parts.store.append([renewal.event])
        self._conversation = begin_anew(self._conversation, renewal.parts, renewal.options, renewal.event)
        if self._parts.compacting is not None:
            self._parts.compacting.forget()
        if self._parts.offering is not None:
            self._parts.offering.tell_again()
        if self._parts.hooks is not None:
            await self._parts.hooks.on_start("clear", renewal.options.model)
        self._parts.watch(HeadRenewed(renewal.event))

    def receive(self, text: str, *, kind: str, origin: Origin) -> None:
        """Take in what somebody else said: a peer, a channel, an observer, a finished task (R422).

        It joins the tail of the next request under its own origin. This call is the only way to set one: no text can. What a person types
        comes by `submit`; `Origin.HUMAN` raises `UsageError`.
        """
        if origin is Origin.HUMAN:
            raise UsageError("what a person says comes by 'submit'", hint="Name the origin that the text really has")
        self._tail.receive(QueuedInput(kind=kind, text=text, origin=origin))

    async def settle(self) -> None:
        """Wait for what runs in the background for the session, within its limit."""
        if self._parts.keeper is not None:
            await self._parts.keeper.settle()

    async def end(self, reason: str = "other") -> None:
        """Tell the hooks that the session ends, and close what ran beside it. Call it once, before the store is closed."""
        if self._parts.hooks is not None:
            await self._parts.hooks.on_end(reason)
        for close in self._parts.closing:
            close()

    async def _drive(self, submitted: tuple[TranscriptEntry, ...]) -> EndTurn:
        """Ask, run tools and ask again until the turn machine says that it ends, or a hook does."""
        state = turn.TurnState(requests=self._line.requests, max_requests=self._parts.max_requests)
        event: turn.TurnEvent | None = turn.Submitted(submitted)
        while event is not None:
            state, effects = turn.advance(state, event)
            event = None
            for effect in effects:
                if isinstance(effect, EndTurn):
                    stop = self._parts.hooks.take_stop() if self._parts.hooks is not None else None
                    return effect if stop is None else EndTurn(EndReason.HOOK_STOPPED, stop)
                event = await self._perform(effect) or event
            hooks = self._parts.hooks
            ends = self._stopped or (hooks is not None and hooks.is_stopped)
            if ends and state.phase is turn.Phase.RUNNING and isinstance(event, turn.Results):
                state, _ = turn.advance(state, turn.StopRequested())
        raise AssertionError("a turn ends with EndTurn")

    def _begin(self) -> None:
        self._stopped = False
        self._message = None
        self._line.begin_turn()
        self._denied = []
        if self._parts.compacting is not None:
            self._parts.compacting.begin_turn()

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """What `stop` interrupts; the code behind it goes on."""
        with anyio.CancelScope() as scope:
            self._stop = scope.cancel
            yield
        self._stop = None

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
        if not entries:
            return
        self._parts.store.append(entries)
        self._conversation = record(self._conversation, entries)
        if self._parts.keeper is not None:
            self._parts.keeper.saw(entries)

    async def _request(self) -> turn.TurnEvent:
        """Ask for the next answer. A refusal that can be mended is: each kind of remedy once a request (R222, R224, F06)."""
        over = await self._line.over_budget(self._conversation)
        if over is not None:
            return turn.Failed(EndReason.BUDGET, over)
        if self._parts.keeper is not None:
            self._parts.keeper.consider(self._conversation)
        await self._renew_head()
        await self._take_in_tools()
        await self._compact(Wish(trigger=Trigger.AUTO))
        tried: set[type] = set()
        wider: RequestOptions | None = None
        self._conversation = self._line.mind_prefix(self._conversation)
        while True:
            refused = await self._line.refuses(self._conversation)
            if refused is not None:
                return turn.Failed(EndReason.CACHE_REFUSED, refused)
            answer, sent = await self._send(wider)
            if await self._squeezed(answer, sent):
                continue
            wider = self._widened(answer, sent)
            if wider is not None:
                continue
            if not isinstance(answer, model.Failed) or answer.remedy is None or type(answer.remedy) in tried:
                return self._after(answer, sent)
            tried.add(type(answer.remedy))
            if not self._mend(answer.failure.message, answer.remedy, sent):
                return self._after(answer, sent)

    async def _take_in_tools(self) -> None:
        """Tools that came, went or came back since the last request."""
        if self._parts.offering is None or self._stopped:
            return
        news = None
        with self._stoppable():
            news = await self._parts.offering.news()
        if news is not None:
            self._conversation, entries = take_in(self._conversation, news, stamp=self._stamp)
            self._record(entries)

    async def _renew_head(self) -> None:
        """Reset events of the session, and sections that are computed for every request: shown, recorded, a prefix event each."""
        heads = self._parts.heads
        renewal = None if heads is None or self._stopped else await heads.due(self._conversation.prefix.head.parts)
        if renewal is not None:
            self._parts.store.append([renewal.event])
            self._conversation = renew_head(self._conversation, renewal.parts, renewal.options, renewal.event)
            self._parts.watch(HeadRenewed(renewal.event))

    async def _squeezed(self, answer: model.Answered | model.Failed | None, sent: Sent) -> bool:
        """Whether a conversation that was refused for its size has been made smaller."""
        if not isinstance(answer, model.Failed) or not is_too_long(answer.failure):
            return False
        if await self._compact(Wish(trigger=Trigger.OVERFLOW)) is None:
            return False
        self._line.journal(sent, SendOutcome.REFUSED, detail=answer.failure.message)
        return True

    async def _compact(self, wish: Wish) -> Compacted | None:
        """Consider a compaction and take it in: records first, then what hooks and collectors tell anew (R307)."""
        compacting, done = self._parts.compacting, None
        if compacting is None or self._stopped:
            return None
        with self._stoppable():
            done = await compacting.consider(self._conversation, wish, self._line, self._stamp)
        if isinstance(done, Cleaned):
            self._parts.store.append(done.events)
            self._conversation = done.conversation
            return None
        return None if done is None else await self._take_compaction(done, compacting)

    async def _take_compaction(self, done: Compaction, compacting: Compacting) -> Compacted:
        self._parts.store.append((*done.records, *done.events))
        self._conversation = done.conversation
        if self._parts.offering is not None:
            self._parts.offering.tell_again()
        await compacting.begin_anew(self._conversation.options.model)
        self._record(await self._told(Occasion.COMPACTION, done.report.files, self._conversation.leaf or ""))
        await compacting.end(done.report)
        return done.report

    def _mend(self, cause: str, remedy: Remedy, sent: Sent) -> bool:
        """Whether there is something new to send. The refused request settles nothing."""
        before = self._conversation.prefix
        mended = apply_remedy(before, remedy, cause)
        if mended is None:
            return False
        self._line.journal(sent, SendOutcome.REFUSED, detail=cause)
        events = mended.events[len(before.events) :]
        if events:
            self._parts.store.append(events)
        self._conversation = msgspec.structs.replace(self._conversation, prefix=mended)
        self._parts.watch(Mended(cause, remedy, events))
        return True

    def _widened(self, answer: model.Answered | model.Failed | None, sent: Sent) -> RequestOptions | None:
        """The options with more room for output, where the answer was cut. It was paid for, and settles nothing (R381)."""
        wider = widen_output(answer, sent.compiled.options, self._parts.output_limit)
        if wider is not None and isinstance(answer, model.Answered):
            self._line.settle(self._conversation.prefix, sent, answer.message)
            self._parts.watch(OutputWidened(sent.compiled.options.max_tokens, wider.max_tokens))
        return wider

    async def _send(self, wider: RequestOptions | None) -> tuple[model.Answered | model.Failed | None, Sent]:
        conversation = self._conversation
        if wider is not None:
            conversation = msgspec.structs.replace(conversation, options=wider)
        sent = self._line.prepare(conversation, gathered=self._tail.take_gathered())
        if self._parts.compacting is not None:
            self._parts.compacting.prove(sent.compiled)
        answer: model.Answered | model.Failed | None = None
        with self._stoppable():
            if not self._stopped:
                answer = await self._line.ask(sent)
        return answer, sent

    def _after(self, answer: model.Answered | model.Failed | None, sent: Sent) -> turn.TurnEvent:
        match answer:
            case None:
                self._line.journal(sent, SendOutcome.INTERRUPTED, detail="interrupted by the user")
                return turn.StopRequested()
            case model.Failed(failure=failure):
                lost = SendOutcome.REFUSED if failure.reply is not None else SendOutcome.LOST
                self._line.journal(sent, lost, detail=failure.message)
                return turn.Failed(EndReason.API_ERROR, str(failure.error()))
            case model.Answered(message=message):
                return self._answered(message, sent)
            case _:
                assert_never(answer)

    def _answered(self, message: AssembledMessage, sent: Sent) -> turn.Answered:
        compiled = sent.compiled
        self._message = message
        cache = self._line.settle(self._conversation.prefix, sent, message)
        self._parts.watch(AnswerEnded(self._line.requests, message, cache))
        entry = message_entry(
            message,
            stamp=self._stamp(),
            parent=self._conversation.leaf,
            model=compiled.options.model,
            prefix_digest=compiled.view_digest,
        )
        return turn.Answered(entry, message.calls)

    async def _run_batch(self, calls: tuple[ToolCall, ...]) -> turn.Results:
        running = BatchRun(calls, self._parts.workshop)
        self._stop = running.stop
        if self._stopped:
            running.stop()
        outcomes = await running.outcomes()
        self._stop = None
        denied = {outcome.call_id for outcome in outcomes if outcome.kind is OutcomeKind.DENIED}
        self._denied.extend(call for call in calls if call.id in denied)
        results = results_entry(outcomes, stamp=self._stamp(), parent=self._conversation.leaf)
        reached = reached_paths(calls, outcomes, self._parts.workshop)
        if self._parts.hooks is not None and not self._stopped:
            await self._parts.hooks.after_batch(calls, outcomes)
        return turn.Results((results, *await self._told(Occasion.BATCH, reached, results.uuid)))

    async def _told(self, occasion: Occasion, reached: tuple[str, ...], parent: str) -> tuple[AttachmentEntry, ...]:
        """What stands at the tail behind `parent`; once the turn is to stop, nothing is collected for it any more."""
        if self._stopped:
            return self._tail.said(parent)
        return await self._tail.collect(self._conversation, occasion, reached, parent)

    def _text(self) -> str:
        blocks = self._message.content if self._message is not None else ()
        return "".join(block.text for block in blocks if isinstance(block, TextBlock))

    def _stamp(self) -> Stamp:
        return Stamp(self._parts.ids.new(), self._parts.clock.now())

    def _result(self, end: EndTurn) -> TurnResult:
        return TurnResult(
            reason=end.reason,
            detail=end.detail,
            text=self._text(),
            requests=self._line.requests,
            usages=tuple(self._line.usages),
            denied=tuple(self._denied),
        )
