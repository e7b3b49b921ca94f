"""The agent: one session that takes prompts and runs turns, through ports only.

Decides nothing about context or permission: it asks the turn machine what to do, compiles with the fold, and stores before it acts. What is
in memory is always what the transcript says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from compositor.context.compaction.ladder import Step
from compositor.errors import UsageError
from compositor.loop import turn
from compositor.loop.accounting import Account
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
    begin_anew,
    note_entries,
    prompt_entry,
    results_entry,
)
from compositor.ports import Modes, Reply
from compositor.runtime.asking import Asking
from compositor.runtime.collect import reached_paths
from compositor.runtime.compaction import by_hand
from compositor.runtime.desk import Desk
from compositor.runtime.driver import BatchRun
from compositor.runtime.events import Compacted, HeadRenewed, TurnEnded, TurnResult, TurnStarted
from compositor.runtime.parts import Parts
from compositor.types.attachments import MediaAttachment, QueuedInput
from compositor.types.blocks import DocumentBlock, ImageBlock, TextBlock
from compositor.types.collected import Occasion
from compositor.types.entries import TranscriptEntry
from compositor.types.origin import Origin
from compositor.types.snapshot import EventName
from compositor.types.tools import OutcomeKind, ToolCall


class Agent:
    """One session. `submit` runs one turn at a time; `stop` may be called from anywhere in the same event loop."""

    def __init__(self, parts: Parts, conversation: Conversation) -> None:
        self._parts = parts
        self._line = parts.line
        self._desk = Desk(parts, conversation)
        self._asking = Asking(self._desk)
        self._denied: list[ToolCall] = []

    @property
    def conversation(self) -> Conversation:
        return self._desk.conversation

    @property
    def account(self) -> Account:
        """What was paid for so far, and what the cache holds of it."""
        return self._line.account

    @property
    def workers(self) -> tuple[str, ...]:
        """The agents at work for this session, a line each."""
        return () if self._parts.workforce is None else self._parts.workforce.running

    @property
    def modes(self) -> Modes | None:
        return self._parts.modes

    def stop(self) -> None:
        """Interrupt the turn. The history stays legal: open calls get a result that says so."""
        self._desk.stop()

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
        self._parts.watch(TurnStarted())
        entry = prompt_entry(prompt, stamp=self._desk.stamp(), parent=self._desk.conversation.leaf, media=media)
        refused = await self._desk.tail.hear(prompt, self._desk.conversation)
        if refused is not None:
            return self._result(refused)
        shown = note_entries(pictures, stamp=self._desk.stamp, parent=entry.uuid)
        tip = shown[-1].uuid if shown else entry.uuid
        return await self._worked((entry, *shown), tip)

    async def assign(self, task: str) -> TurnResult:
        """Run one turn for a task that another agent gives. No person said it: nothing in it calls a skill, and no prompt hook hears it (R422)."""
        self._begin()
        stamp, leaf = self._desk.stamp(), self._desk.conversation.leaf
        entry = prompt_entry(task, stamp=stamp, parent=leaf, origin=Origin.PEER)
        self._desk.tail.prompt = task
        if self._parts.hooks is not None:
            await self._parts.hooks.on_start("agent", self._desk.conversation.options.model)
        return await self._worked((entry,), entry.uuid)

    async def invoke(self, skill: str) -> Reply:
        """Load a skill: its text comes to the tail of the next request."""
        return (
            Reply(problem="there are no skills here")
            if self._parts.skills is None
            else await self._parts.skills.invoke(skill, "")
        )

    async def _worked(self, entries: tuple[TranscriptEntry, ...], tip: str) -> TurnResult:
        """The turn that these entries begin, for as long as something makes it go on."""
        end = await self._drive((*entries, *await self._desk.told(Occasion.SUBMISSION, (), tip)))
        while end.reason is EndReason.COMPLETED and not self._desk.stopped:
            more: tuple[TranscriptEntry, ...] = ()
            with self._desk.stoppable():
                more = await self._desk.tail.kept_going(self._desk.conversation, self._text())
            if not more:
                break
            end = await self._drive(more)
        return self._result(end)

    async def compact(self, focus: str = "", pins: Sequence[str] = (), step: Step | None = None) -> Compacted | None:
        """Compact the conversation because a person asks for it; `None` when nothing could be done, which the watcher was told.

        `step` takes a way that the ladder would not choose.
        """
        self._begin()
        return await self._asking.compact(by_hand(focus, pins, step))

    async def switch_model(self, model: str) -> str:
        """Go on with another model, an alias or an id; gives the id. What the cache holds of the session is not read by it.

        Raises `ConfigError` for a model that may not be used here; nothing has changed then.
        """
        return await self._desk.switch_model(model, "a person chose it", by_person=True)

    async def clear(self) -> None:
        """Begin anew in the same session: sections and options are computed anew, no file counts as read, the transcript keeps everything."""
        heads = self._parts.heads
        if heads is None:
            raise UsageError("this agent cannot begin anew: nobody plans its head")
        renewal = await heads.reset(self._desk.conversation.prefix.head.parts, EventName.CLEAR)
        self._parts.store.append([renewal.event])
        self._desk.conversation = begin_anew(self._desk.conversation, renewal.parts, renewal.options, renewal.event)
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
        self._desk.tail.receive(QueuedInput(kind=kind, text=text, origin=origin))

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
            ends = self._desk.stopped or (hooks is not None and hooks.is_stopped)
            if ends and state.phase is turn.Phase.RUNNING and isinstance(event, turn.Results):
                state, _ = turn.advance(state, turn.StopRequested())
        raise AssertionError("a turn ends with EndTurn")

    def _begin(self) -> None:
        self._desk.begin()
        self._asking.message = None
        self._denied = []

    async def _perform(self, effect: TurnEffect) -> turn.TurnEvent | None:
        match effect:
            case Record(entries=entries):
                self._desk.record(entries)
                return None
            case RequestModel():
                return await self._asking.answer()
            case RunBatch(calls=calls):
                return await self._run_batch(calls)
            case StopAttempt() | StopBatch() | EndTurn():
                return None
            case _:
                assert_never(effect)

    async def _run_batch(self, calls: tuple[ToolCall, ...]) -> turn.Results:
        running = BatchRun(calls, self._parts.workshop)
        if self._desk.stopped:
            running.stop()
        with self._desk.stoppable(running.stop):
            outcomes = await running.outcomes()
        denied = {outcome.call_id for outcome in outcomes if outcome.kind is OutcomeKind.DENIED}
        self._denied.extend(call for call in calls if call.id in denied)
        results = results_entry(outcomes, stamp=self._desk.stamp(), parent=self._desk.conversation.leaf)
        reached = reached_paths(calls, outcomes, self._parts.workshop)
        if self._parts.hooks is not None and not self._desk.stopped:
            await self._parts.hooks.after_batch(calls, outcomes)
        return turn.Results((results, *await self._desk.told(Occasion.BATCH, reached, results.uuid)))

    def _text(self) -> str:
        blocks = self._asking.message.content if self._asking.message is not None else ()
        return "".join(block.text for block in blocks if isinstance(block, TextBlock))

    def _result(self, end: EndTurn) -> TurnResult:
        result = TurnResult(
            reason=end.reason,
            detail=end.detail,
            text=self._text(),
            requests=self._line.requests,
            usages=tuple(self._line.usages),
            models=tuple(self._line.models),
            denied=tuple(self._denied),
        )
        self._parts.watch(TurnEnded(result))
        return result
