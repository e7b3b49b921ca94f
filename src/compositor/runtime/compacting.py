"""When a session is compacted: before a request that is too large, after one that was refused for its size, and when a person asks.

Decides the guards against loops (F28): no second automatic pass without progress, a fixed number of passes in a turn. What a compaction does is
`compaction.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from compositor.context.compaction.budget import next_size
from compositor.context.compaction.ladder import Step, Trigger, takes_space
from compositor.context.compaction.loss import Standing, find_losses
from compositor.context.tokens import MARGIN
from compositor.loop.cleaning import clean
from compositor.loop.session import Conversation, Stamp
from compositor.runtime.compaction import Compaction, Compactor, NotCompacted, State, Wish
from compositor.runtime.events import Compacted, CompactionFailed, CompactionProved, CompactionStep, Watcher
from compositor.runtime.hooks import Hooks
from compositor.runtime.line import ModelLine
from compositor.types.request import Compiled
from compositor.types.snapshot import PrefixEvent

MAX_PASSES = 3
"""Automatic compactions within one turn: a context that refills that fast will not be mended by another one."""


KEPT_RESULTS = 3
"""The newest tool results that a cleaning leaves (wire page 5.1)."""


class Cleaned(Struct, frozen=True):
    """A conversation without its old tool results, and the event that this is."""

    conversation: Conversation
    events: tuple[PrefixEvent, ...]


class Compacting:
    """The guards of one session around its compactor."""

    def __init__(self, compactor: Compactor, watch: Watcher, hooks: Hooks | None = None) -> None:
        self._compactor = compactor
        self._watch = watch
        self._hooks = hooks
        self._passes = 0
        self._stuck_at: int | None = None
        self._standing: tuple[Standing, ...] = ()

    @property
    def compactor(self) -> Compactor:
        return self._compactor

    def begin_turn(self) -> None:
        self._passes = 0

    async def consider(
        self, conversation: Conversation, wish: Wish, line: ModelLine, stamp: Callable[[], Stamp]
    ) -> Compaction | Cleaned | None:
        """What `wish` leads to: a compaction, or a cleaning that makes enough room; `None` when there is nothing to be done now.

        Failures are told.
        """
        scale, prefix = line.account.scale, conversation.prefix
        # Near the threshold too early is better than too late: what is only estimated counts as an upper bound.
        size = next_size(prefix, scale, MARGIN if wish.trigger is Trigger.AUTO else 1.0)
        if wish.trigger is Trigger.AUTO and not self._is_due(size):
            return None
        state = State(scale=scale, cached=line.cached(), cleaning=line.cleaning(prefix, KEPT_RESULTS))
        if wish.trigger is Trigger.AUTO:
            ladder, _ = self._compactor.preview(conversation, wish, state)
            if ladder.chosen is Step.SERVER_EDIT:
                return None
            if ladder.chosen is Step.COLD_CLEAN and state.cleaning is not None:
                cleaned = clean(prefix, state.cleaning)
                self._watch(CompactionStep(ladder.chosen, ladder))
                return Cleaned(
                    msgspec.structs.replace(conversation, prefix=cleaned), cleaned.events[len(prefix.events) :]
                )
        if wish.trigger is not Trigger.MANUAL:
            if self._passes == MAX_PASSES:
                self._fail(wish, f"the context filled up again after {MAX_PASSES} compactions in one turn")
                return None
            self._passes += 1
        refusal = None if self._hooks is None else await self._hooks.on_compact(wish.trigger.value, wish.focus)
        if refusal is not None:
            self._stuck_at = size
            self._fail(wish, f"a hook forbids it: {refusal}")
            return None
        done = await self._compactor.run(conversation, wish, state, ask=line.ask_aside, stamp=stamp)
        if isinstance(done, NotCompacted):
            self._stuck_at = size
            self._fail(wish, done.reason)
            return None
        self._stuck_at = self._without_progress(done)
        self._standing = done.report.standing
        return done

    def forget(self) -> None:
        """The conversation begins anew: no file counts as read, and nothing has to stand in it."""
        self._compactor.owners.forget_files()
        self._stuck_at, self._standing = None, ()

    async def begin_anew(self, model: str) -> None:
        """The session-start hooks run again; what they say joins the new tail (R322)."""
        if self._hooks is not None:
            await self._hooks.on_start("compact", model)

    async def end(self, report: Compacted) -> None:
        """Success is told once all is stored; the post-compact hook comes last (R307, F26)."""
        self._watch(report)
        if self._hooks is not None:
            await self._hooks.on_compacted(report.trigger.value, report.summary)

    def prove(self, compiled: Compiled) -> None:
        """Look for the standing things in the first request behind a compaction."""
        if self._standing:
            standing, self._standing = self._standing, ()
            self._watch(CompactionProved(find_losses(standing, compiled)))

    def _is_due(self, size: int) -> bool:
        if not self._compactor.budget.is_due(size):
            self._stuck_at = None
            return False
        # Without progress only what has grown by a tenth of the budget since is worth another try.
        grown = self._compactor.budget.usable // 10
        return self._stuck_at is None or size >= self._stuck_at + grown

    def _without_progress(self, done: Compaction) -> int | None:
        if not self._compactor.budget.is_due(done.report.after):
            return None
        left = msgspec.structs.replace(done.ladder.situation, tokens=done.report.after)
        reason = f"the compaction did not make enough room: {takes_space(left)}"
        self._watch(CompactionFailed(done.report.trigger, reason))
        return done.report.after

    def _fail(self, wish: Wish, reason: str) -> None:
        self._watch(CompactionFailed(wish.trigger, reason))
