"""Performs a compaction: gets a summary, lets the owners hand over what stands, and makes the records and the new prefix.

Decides nothing about what is kept: budget, ladder, restore and records are `context/compaction`. Holds to one order (R307): summary first; only when
there is one are file state and conversation touched; boundary; restore; session-start hooks; the post-compact hook last. A summary that
fails leaves everything as it was (R308).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from compositor.config.price import Price
from compositor.context.compaction.budget import Budget, fixed_size, next_size
from compositor.context.compaction.cut import entry_tokens
from compositor.context.compaction.kept import KEPT_TOKENS, Kept, keep_tail
from compositor.context.compaction.ladder import Ladder, Situation, Step, Trigger, climb, takes_space
from compositor.context.compaction.loss import Standing, standing_things
from compositor.context.compaction.outline import outline_of
from compositor.context.compaction.rebuild import Rebuild, compacted_prefix, rebuild, with_notes
from compositor.context.compaction.record import Report, discovered_tools
from compositor.context.compaction.restore import plan_room
from compositor.context.compaction.session_memory import usable_memory
from compositor.context.compaction.summary import Summary, carried_content, compact_instructions, summary_prompt
from compositor.context.freshness.read_state import seen_files
from compositor.context.head import compile_head
from compositor.context.tokens import estimate_tokens
from compositor.context.tools.deferral import catalog_again
from compositor.loop.cleaning import Cleaning
from compositor.loop.session import Conversation, Stamp
from compositor.ports import HeadPlanner, Owners
from compositor.runtime.events import Compacted, CompactionFailed, CompactionStep, Watcher
from compositor.runtime.restoring import Handed, restore_standing
from compositor.runtime.summaries import AskAside, Asked, ask_service, ask_summary
from compositor.types.entries import TranscriptEntry
from compositor.types.snapshot import EventName, PrefixEvent


class Wish(Struct, frozen=True, kw_only=True):
    """Why a compaction is considered, what the person wants it to look at, and texts to be kept word for word.

    `step` takes a way that the ladder would not choose.
    """

    trigger: Trigger
    focus: str = ""
    pins: tuple[str, ...] = ()
    step: Step | None = None


def by_hand(focus: str = "", pins: Sequence[str] = (), step: Step | None = None) -> Wish:
    """What a person asks for."""
    return Wish(trigger=Trigger.MANUAL, focus=focus, pins=tuple(pins), step=step)


class State(Struct, frozen=True, kw_only=True):
    """What is known beside the entries.

    `scale` of the estimate, `cached` tokens of the next request that the cache holds, and the cleaning of old results that could be done.
    """

    scale: float = 1.0
    cached: int = 0
    cleaning: Cleaning | None = None


class Compaction(Struct, frozen=True, kw_only=True):
    """What came of it: the conversation behind it, and what is to be written before it is used."""

    ladder: Ladder
    conversation: Conversation
    records: tuple[TranscriptEntry, ...]
    events: tuple[PrefixEvent, ...]
    report: Compacted


class NotCompacted(Struct, frozen=True, kw_only=True):
    """All stays as it was; `reason` is one sentence."""

    ladder: Ladder
    reason: str


class Plan(Struct, frozen=True, kw_only=True):
    """What is decided once there is a summary."""

    ladder: Ladder
    kept: Kept
    summary: Summary
    wish: Wish


class Compactor:
    """The compactions of one session. `has_model` is false where no request may be sent, `server_summary` true where the service may write summaries."""

    def __init__(
        self,
        owners: Owners,
        heads: HeadPlanner,
        budget: Budget,
        watch: Watcher,
        *,
        price: Price | None = None,
        has_model: bool = True,
        server_summary: bool = False,
    ) -> None:
        self._owners = owners
        self._heads = heads
        self._budget = budget
        self._watch = watch
        self._price = price
        self._has_model = has_model
        self._server_summary = server_summary

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def owners(self) -> Owners:
        return self._owners

    def preview(self, conversation: Conversation, wish: Wish, state: State) -> tuple[Ladder, Kept]:
        """What would be done, with gain and cost of every step, and the cut. Changes nothing."""
        prefix = conversation.prefix
        # Who asks for a compaction wants all of it summarized that has an answer.
        newest = 0 if wish.trigger is Trigger.MANUAL else KEPT_TOKENS
        kept = keep_tail(tuple(prefix.entries), self._budget.usable, state.scale, newest)
        memory, _ = usable_memory(self._owners.session_memory())
        situation = Situation(
            trigger=wish.trigger,
            budget=self._budget,
            tokens=next_size(prefix, state.scale),
            fixed=fixed_size(prefix, state.scale),
            kept=sum(entry_tokens(entry, state.scale) for entry in kept.entries),
            cached=state.cached,
            clearable=0 if state.cleaning is None else state.cleaning.tokens,
            edits=_clears_itself(conversation),
            cold=state.cleaning is not None and state.cleaning.allowed,
            memory=estimate_tokens(memory.encode("utf-8", "replace"), state.scale),
            server_summary=self._server_summary and conversation.options.context_management is None,
            has_model=self._has_model,
            price=self._price,
        )
        return climb(situation), kept

    async def run(
        self, conversation: Conversation, wish: Wish, state: State, *, ask: AskAside, stamp: Callable[[], Stamp]
    ) -> Compaction | NotCompacted:
        """One compaction, or the reason why there is none."""
        await self._owners.settle_memory()
        ladder, kept = self.preview(conversation, wish, state)
        step = wish.step or ladder.chosen
        if step not in _SUMMARIES or not kept.before:
            reason = "there is nothing to summarize" if not kept.before else takes_space(ladder.situation)
            return NotCompacted(ladder=ladder, reason=f"nothing was compacted: {reason}")
        self._watch(CompactionStep(step, ladder))
        found = await self._summary(step, conversation, wish, ask, stamp)
        if isinstance(found, Asked):
            if wish.trigger is not Trigger.OVERFLOW and not found.too_long:
                return NotCompacted(ladder=ladder, reason=f"nothing was compacted: {found.problem}")
            found = Summary(text=outline_of(kept.before), method="records")
        plan = Plan(ladder=ladder, kept=kept, summary=found, wish=wish)
        return await self._rebuilt(conversation, plan, state.scale, stamp)

    async def _summary(
        self,
        step: Step,
        conversation: Conversation,
        wish: Wish,
        ask: AskAside,
        stamp: Callable[[], Stamp],
    ) -> Summary | Asked:
        if step is Step.SESSION_MEMORY:
            text, _ = usable_memory(self._owners.session_memory())
            return Summary(text=text, method="session memory")
        if step is Step.OUTLINE:
            return Summary(text=outline_of(tuple(conversation.prefix.entries)), method="records")
        instructions = compact_instructions(text for _, text in self._owners.instructions())
        fits = next_size(conversation.prefix) + self._budget.summary <= self._budget.window
        words = summary_prompt(wish.focus, instructions)
        if step is Step.SERVER_SUMMARY:
            found = await ask_service(conversation, words, ask=ask)
            if isinstance(found, Summary):
                return found
            self._watch(CompactionFailed(wish.trigger, f"{found.problem}; the model is asked"))
        return await ask_summary(conversation, words, budget=self._budget, fits=fits, ask=ask, stamp=stamp())

    async def _rebuilt(
        self, conversation: Conversation, plan: Plan, scale: float, stamp: Callable[[], Stamp]
    ) -> Compaction:
        prefix, owners = conversation.prefix, self._owners
        entries = tuple(prefix.entries)
        size = next_size(prefix, scale)
        seen = seen_files(entries, owners.cwd)
        owners.forget_files()
        renewal = await self._heads.reset(prefix.head.parts, EventName.COMPACT)
        parts = renewal.parts
        tools = tuple(tool for tool in parts.tools if tool.definition.deferred)
        report = Report(
            trigger=plan.wish.trigger.value,
            method=plan.summary.method,
            before=size,
            discovered=discovered_tools(entries),
            ladder=plan.ladder.options,
        )
        content = carried_content(plan.summary, request=plan.kept.request, record=owners.transcript)
        what = Rebuild(report=report, content=content, kept=plan.kept.entries, tools=tools)
        rebuilt = rebuild(what, model=conversation.options.model, parent=prefix.leaf, stamp=lambda: _pair(stamp()))
        handed = await restore_standing(owners, plan.kept, seen, plan_room(self._budget.usable, scale), plan.wish.pins)
        notes = (*handed.restored.notes, *catalog_again(tools, self._budget.window))
        rebuilt = with_notes(rebuilt, notes, stamp=lambda: _pair(stamp()))
        cause = f"{plan.wish.trigger.value}: {size:,} tokens, summary by {plan.summary.method}"
        fresh = compacted_prefix(prefix, compile_head(parts), rebuilt, cause)
        done = Compacted(
            trigger=plan.wish.trigger,
            method=plan.summary.method,
            summary=plan.summary.text,
            before=size,
            after=next_size(fresh, scale),
            kept=len(plan.kept.entries),
            files=handed.files,
            omissions=(*plan.kept.omissions, *handed.restored.omissions),
            standing=self._standing(handed, report),
        )
        return Compaction(
            ladder=plan.ladder,
            conversation=Conversation(prefix=fresh, options=renewal.options),
            records=rebuilt.records,
            events=(fresh.events[-1],),
            report=done,
        )

    def _standing(self, handed: Handed, report: Report) -> tuple[Standing, ...]:
        return standing_things(
            rules=self._owners.instructions(),
            files=handed.files,
            tasks=handed.tasks,
            plan=handed.plan,
            skills=handed.skills,
            tools=report.discovered,
            pins=handed.pins,
        )


def _clears_itself(conversation: Conversation) -> bool:
    """Whether the service was asked to clear old results (R272)."""
    asked = conversation.options.context_management
    return asked is not None and b'"clear_tool_uses' in bytes(asked)


_SUMMARIES = frozenset({Step.SESSION_MEMORY, Step.SERVER_SUMMARY, Step.SUMMARY, Step.OUTLINE})


def _pair(stamp: Stamp) -> tuple[str, str]:
    return stamp.uuid, stamp.time
