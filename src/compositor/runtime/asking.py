"""Asks for the next answer: what has to happen before the request, what may be mended behind a refusal, and what an answer settles.

Decides only the order. Which refusal has a remedy, when a cut answer is asked for again and when a conversation is compacted stands in `loop` and
`context/compaction`.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from compositor.context.compaction.ladder import Trigger
from compositor.context.wire.assemble import AssembledMessage
from compositor.errors import CompositorError
from compositor.loop import attempt as model
from compositor.loop import turn
from compositor.loop.accounting import Sent
from compositor.loop.effects import EndReason
from compositor.loop.offering import take_in
from compositor.loop.output import cut_note, fills_window, widen_output
from compositor.loop.remedies import DropField, Remedy, apply_remedy, drop_field
from compositor.loop.retry import IMPATIENT, may_fall_back
from compositor.loop.session import message_entry, note_entries, renew_head
from compositor.runtime.compacting import Cleaned, Compacting
from compositor.runtime.compaction import Compaction, Wish
from compositor.runtime.desk import Desk
from compositor.runtime.events import AnswerEnded, Compacted, HeadRenewed, Mended, NotesCollected, OutputWidened
from compositor.runtime.summaries import is_too_long
from compositor.types.collected import Occasion
from compositor.types.diagnostics import Diagnostic
from compositor.types.journal import SendOutcome
from compositor.types.request import RequestOptions


class Asking:
    """One session's requests. `message` is the last answer of the turn."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.message: AssembledMessage | None = None
        self._fallbacks = desk.parts.fallbacks

    async def answer(self) -> turn.TurnEvent:
        """Ask for the next answer. A refusal that can be mended is: each kind of remedy once a request (R222, R224, F06)."""
        over = await self._desk.parts.line.over_budget(self._desk.conversation)
        if over is not None:
            return turn.Failed(EndReason.BUDGET, over)
        if self._desk.parts.keeper is not None:
            self._desk.parts.keeper.consider(self._desk.conversation)
        await self._renew_head()
        await self._take_in_tools()
        await self.compact(Wish(trigger=Trigger.AUTO))
        tried: set[type] = set()
        wider: RequestOptions | None = None
        self._desk.conversation = self._desk.parts.line.mind_prefix(self._desk.conversation)
        while True:
            refused = await self._desk.parts.line.refuses(self._desk.conversation)
            if refused is not None:
                return turn.Failed(EndReason.CACHE_REFUSED, refused)
            answer, sent = await self._send(wider)
            if await self._squeezed(answer, sent):
                continue
            wider = self._widened(answer, sent)
            if wider is not None:
                continue
            if await self._fallen_back(answer, sent):
                continue
            if not isinstance(answer, model.Failed) or answer.remedy is None or type(answer.remedy) in tried:
                return await self._ended(answer, sent)
            tried.add(type(answer.remedy))
            if not self._mend(answer.failure.message, answer.remedy, sent):
                return await self._ended(answer, sent)

    async def _take_in_tools(self) -> None:
        """Tools that came, went or came back since the last request."""
        if self._desk.parts.offering is None or self._desk.stopped:
            return
        news = None
        with self._desk.stoppable():
            news = await self._desk.parts.offering.news()
        if news is not None:
            self._desk.conversation, entries = take_in(self._desk.conversation, news, stamp=self._desk.stamp)
            self._desk.record(entries)

    async def _renew_head(self) -> None:
        """Reset events of the session, and sections that are computed for every request: shown, recorded, a prefix event each."""
        heads = self._desk.parts.heads
        renewal = (
            None if heads is None or self._desk.stopped else await heads.due(self._desk.conversation.prefix.head.parts)
        )
        if renewal is not None:
            self._desk.parts.store.append([renewal.event])
            self._desk.conversation = renew_head(self._desk.conversation, renewal.parts, renewal.options, renewal.event)
            self._desk.parts.watch(HeadRenewed(renewal.event))

    async def _squeezed(self, answer: model.Answered | model.Failed | None, sent: Sent) -> bool:
        """Whether a conversation that was too large has been made smaller: refused for its size, or its answer filled the window."""
        refused = isinstance(answer, model.Failed) and is_too_long(answer.failure)
        if not refused and not fills_window(answer):
            return False
        before = self._desk.conversation.prefix
        if await self.compact(Wish(trigger=Trigger.OVERFLOW)) is None:
            return False
        if isinstance(answer, model.Failed):
            self._desk.parts.line.journal(sent, SendOutcome.REFUSED, detail=answer.failure.message)
        elif answer is not None:
            self._desk.parts.line.settle(before, sent, answer.message)
        return True

    async def compact(self, wish: Wish) -> Compacted | None:
        """Consider a compaction and take it in: records first, then what hooks and collectors tell anew (R307)."""
        compacting, done = self._desk.parts.compacting, None
        if compacting is None or self._desk.stopped:
            return None
        with self._desk.stoppable():
            done = await compacting.consider(self._desk.conversation, wish, self._desk.parts.line, self._desk.stamp)
        if isinstance(done, Cleaned):
            self._desk.parts.store.append(done.events)
            self._desk.conversation = done.conversation
            return None
        return None if done is None else await self._take_compaction(done, compacting)

    async def _take_compaction(self, done: Compaction, compacting: Compacting) -> Compacted:
        self._desk.parts.store.append((*done.records, *done.events))
        self._desk.conversation = done.conversation
        if self._desk.parts.offering is not None:
            self._desk.parts.offering.tell_again()
        await compacting.begin_anew(self._desk.conversation.options.model)
        self._desk.record(
            await self._desk.told(Occasion.COMPACTION, done.report.files, self._desk.conversation.leaf or "")
        )
        await compacting.end(done.report)
        return done.report

    async def _fallen_back(self, answer: model.Answered | model.Failed | None, sent: Sent) -> bool:
        """Whether another model is asked from now on, because this one gives no answer."""
        if not isinstance(answer, model.Failed) or answer.remedy is not None or not may_fall_back(answer.failure):
            return False
        while self._fallbacks:
            other, *rest = self._fallbacks
            self._fallbacks = tuple(rest)
            try:
                await self._desk.switch_model(other, answer.failure.message)
            except CompositorError as problem:
                self._desk.parts.watch(NotesCollected((), (_no_fallback(other, problem),)))
                continue
            self._desk.parts.line.journal(sent, SendOutcome.REFUSED, detail=answer.failure.message)
            return True
        return False

    def _mend(self, cause: str, remedy: Remedy, sent: Sent) -> bool:
        """Whether there is something new to send. The refused request settles nothing."""
        if isinstance(remedy, DropField):
            self._desk.parts.line.journal(sent, SendOutcome.REFUSED, detail=cause)
            options = drop_field(self._desk.conversation.options, remedy)
            self._desk.conversation = msgspec.structs.replace(self._desk.conversation, options=options)
            self._desk.parts.watch(Mended(cause, remedy, ()))
            return True
        before = self._desk.conversation.prefix
        mended = apply_remedy(before, remedy, cause)
        if mended is None:
            return False
        self._desk.parts.line.journal(sent, SendOutcome.REFUSED, detail=cause)
        events = mended.events[len(before.events) :]
        if events:
            self._desk.parts.store.append(events)
        self._desk.conversation = msgspec.structs.replace(self._desk.conversation, prefix=mended)
        self._desk.parts.watch(Mended(cause, remedy, events))
        return True

    def _widened(self, answer: model.Answered | model.Failed | None, sent: Sent) -> RequestOptions | None:
        """The options with more room for output, where the answer was cut. It was paid for, and settles nothing (R381)."""
        wider = widen_output(answer, sent.compiled.options, self._desk.parts.output_limit)
        if wider is not None and isinstance(answer, model.Answered):
            self._desk.parts.line.settle(self._desk.conversation.prefix, sent, answer.message)
            self._desk.parts.watch(OutputWidened(sent.compiled.options.max_tokens, wider.max_tokens))
        return wider

    async def _send(self, wider: RequestOptions | None) -> tuple[model.Answered | model.Failed | None, Sent]:
        conversation = self._desk.conversation
        if wider is not None:
            conversation = msgspec.structs.replace(conversation, options=wider)
        sent = self._desk.parts.line.prepare(conversation, gathered=self._desk.tail.take_gathered())
        if self._desk.parts.compacting is not None:
            self._desk.parts.compacting.prove(sent.compiled)
        answer: model.Answered | model.Failed | None = None
        with self._desk.stoppable():
            if not self._desk.stopped:
                answer = await self._desk.parts.line.ask(sent, IMPATIENT if self._fallbacks else None)
        return answer, sent

    async def _ended(self, answer: model.Answered | model.Failed | None, sent: Sent) -> turn.TurnEvent:
        event, hooks = self._after(answer, sent), self._desk.parts.hooks
        if isinstance(answer, model.Failed) and hooks is not None:
            failure = answer.failure
            said = failure.type or (failure.reply.type if failure.reply is not None else None)
            await hooks.on_failure(said or "", failure.message)
        return event

    def _after(self, answer: model.Answered | model.Failed | None, sent: Sent) -> turn.TurnEvent:
        match answer:
            case None:
                self._desk.parts.line.journal(sent, SendOutcome.INTERRUPTED, detail="interrupted by the user")
                return turn.StopRequested()
            case model.Failed(failure=failure):
                lost = SendOutcome.REFUSED if failure.reply is not None else SendOutcome.LOST
                self._desk.parts.line.journal(sent, lost, detail=failure.message)
                return turn.Failed(EndReason.API_ERROR, str(failure.error()))
            case model.Answered(message=message):
                return self._answered(message, sent)
            case _:
                assert_never(answer)

    def _answered(self, message: AssembledMessage, sent: Sent) -> turn.Answered:
        compiled = sent.compiled
        self.message = message
        cache = self._desk.parts.line.settle(self._desk.conversation.prefix, sent, message)
        self._desk.parts.watch(AnswerEnded(self._desk.parts.line.requests, message, cache))
        entry = message_entry(
            message,
            stamp=self._desk.stamp(),
            parent=self._desk.conversation.leaf,
            model=compiled.options.model,
            prefix_digest=compiled.view_digest,
        )
        note = cut_note(message, compiled.options.max_tokens)
        if note is None:
            return turn.Answered(entry, message.calls)
        if message.calls:
            self._desk.tail.receive(note)  # it stands behind the results of the calls that are whole
            return turn.Answered(entry, message.calls)
        return turn.Answered(entry, (), note_entries((note,), stamp=self._desk.stamp, parent=entry.uuid))


def _no_fallback(model_name: str, problem: CompositorError) -> Diagnostic:
    return Diagnostic("fallback.left_out", f"The fallback model {model_name!r} is left out: {problem}", step="asking")
