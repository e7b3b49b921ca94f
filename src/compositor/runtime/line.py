"""The line of one session to its model: each request is journaled before it is sent, and its outcome behind it (R424).

Decides nothing: what a request should cost is `loop/accounting.py`, what follows from an answer is the agent's business.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from compositor.context.cache.attribution import Attribution, service_verdict
from compositor.context.cache.book import SECONDS
from compositor.context.prefix import Prefix
from compositor.context.wire.assemble import AssembledMessage
from compositor.loop import attempt as model
from compositor.loop.accounting import (
    Account,
    Sent,
    expiry_note,
    forecast_request,
    new_events,
    seconds,
    settle_answer,
)
from compositor.loop.cleaning import Cleaning, clean, plan_cleaning
from compositor.loop.moves import describe_fault, find_move, is_fault, latched_names, restore_sent
from compositor.loop.retry import RetryPolicy
from compositor.loop.session import Conversation, compile_next, send_record
from compositor.ports import Clock, Ids, ModelTransport, SessionStore
from compositor.runtime.budget_gate import BudgetGate
from compositor.runtime.driver import ask_model
from compositor.runtime.events import (
    AgentEvent,
    AsideAnswered,
    CacheExpired,
    PrefixKept,
    PrefixMoves,
    RequestStarted,
    Streamed,
    Watcher,
)
from compositor.runtime.prefix_gate import PrefixGate
from compositor.runtime.summaries import Asked, is_too_long
from compositor.types.blocks import TextBlock
from compositor.types.gathering import Gathered
from compositor.types.journal import OutcomeRecord, SendOutcome
from compositor.types.usage import Usage


class LineParts(Struct, frozen=True, kw_only=True):
    """What a line is made of. `chance` gives numbers in [0, 1), `profile` names the model's profile in the journal.

    `gate` stands before a prefix that was paid for. `keep_results`: once the cache has expired, all but so many of the newest tool results are
    cleaned out; `None` keeps them all. `purpose` is set for a line outside the conversation (`types/journal.py`).
    """

    transport: ModelTransport
    store: SessionStore
    clock: Clock
    ids: Ids
    watch: Watcher
    chance: Callable[[], float]
    profile: str
    gate: PrefixGate | None = None
    budget: BudgetGate | None = None
    keep_results: int | None = None
    purpose: str = ""


class ModelLine:
    """`requests`, `usages` and `models` (one each an answer) count since `begin_turn`; the account goes on through the session."""

    def __init__(self, parts: LineParts, account: Account) -> None:
        self._parts = parts
        self.account = account
        self.requests = 0
        self.usages: list[Usage] = []
        self.models: list[str] = []

    def begin_turn(self) -> None:
        self.requests = 0
        self.usages, self.models = [], []
        if self._parts.budget is not None:
            self._parts.budget.begin_turn()

    async def over_budget(self, conversation: Conversation) -> str | None:
        """Why the budget lets no further request through."""
        budget = self._parts.budget
        return None if budget is None else await budget.refuses(conversation.options.model)

    def mind_prefix(self, conversation: Conversation) -> Conversation:
        """The conversation with the prefix that was sent where a fault moved it, and without old results once the cache has expired."""
        return self._without_expired(self._as_sent(conversation))

    def cleaning(self, prefix: Prefix, keep: int) -> Cleaning | None:
        """The cleaning of all results but the newest `keep` that could be done now; `None` while nobody knows what the cache holds."""
        if self.account.paid is None:
            return None
        return plan_cleaning(self.account, prefix, now=seconds(self._parts.clock.now()), keep=keep)

    def cached(self) -> int:
        """Tokens of the last request that the cache still holds."""
        paid, now = self.account.paid, seconds(self._parts.clock.now())
        return 0 if paid is None or now - paid.at >= SECONDS[paid.ttl] else paid.tokens

    async def refuses(self, conversation: Conversation) -> str | None:
        """Why the next request is not sent: an event gives up what was paid for, and the settings or a person say no.

        Compiles only when there is a new event.
        """
        if not new_events(self.account.sent, conversation.prefix):
            return None
        now = seconds(self._parts.clock.now())
        compiled = compile_next(conversation)
        self.account, forecast = forecast_request(self.account, conversation.prefix, compiled, now)
        move = find_move(self.account, conversation.prefix, forecast, now)
        if move is None:
            return None
        refused = await self._parts.gate.refuses(move) if self._parts.gate is not None else None
        self._parts.watch(PrefixMoves(move, refused is not None))
        return refused

    def _as_sent(self, conversation: Conversation) -> Conversation:
        sent, previous = self.account.sent, self.account.previous
        if sent is None or previous is None:
            return conversation
        if is_fault(sent, conversation.prefix):
            self._parts.watch(PrefixKept(describe_fault(previous, compile_next(conversation))))
            conversation = msgspec.structs.replace(conversation, prefix=restore_sent(sent, conversation.prefix))
        moved = latched_names(previous.options, conversation.options)
        if not moved or new_events(sent, conversation.prefix):
            return conversation
        self._parts.watch(PrefixKept(f"{', '.join(moved)} changed while the session runs; what was sent is sent again"))
        options = {name: getattr(previous.options, name) for name in moved}
        return msgspec.structs.replace(conversation, options=msgspec.structs.replace(conversation.options, **options))

    def _without_expired(self, conversation: Conversation) -> Conversation:
        paid, keep, now = self.account.paid, self._parts.keep_results, seconds(self._parts.clock.now())
        if paid is None or keep is None or now - paid.at < SECONDS[paid.ttl]:
            return conversation
        cleaning = plan_cleaning(self.account, conversation.prefix, now=now, keep=keep)
        if not cleaning.allowed:
            return conversation
        cleaned = clean(conversation.prefix, cleaning)
        self._parts.store.append(cleaned.events[len(conversation.prefix.events) :])
        return msgspec.structs.replace(conversation, prefix=cleaned)

    def prepare(
        self, conversation: Conversation, *, is_aside: bool = False, gathered: tuple[Gathered, ...] = ()
    ) -> Sent:
        """Compile, forecast and journal the next request; it is sent by `ask`. Raises what cannot be compiled.

        A request aside settles no entry of the conversation.
        """
        parts = self._parts
        compiled = compile_next(conversation)
        self.requests += 1
        request_id, time = parts.ids.new(), parts.clock.now()
        tally = self.account.tally
        self.account, forecast = forecast_request(self.account, conversation.prefix, compiled, seconds(time))
        if is_aside:
            # What was counted of the conversation stays counted, also where the request had another one.
            self.account = msgspec.structs.replace(self.account, tally=tally)
        journal = send_record(
            conversation,
            compiled,
            request_id=request_id,
            time=time,
            profile=parts.profile,
            forecast=forecast,
            gathered=gathered,
        )
        if is_aside:
            journal = msgspec.structs.replace(journal, sent=(), purpose=parts.purpose)
        parts.store.put_head(compiled.head)
        parts.store.append([journal])
        parts.watch(RequestStarted(self.requests, compiled, forecast))
        expired = expiry_note(self.account, forecast, compiled, seconds(time))
        if expired is not None:
            parts.watch(CacheExpired(expired))
        return Sent(compiled, forecast, request_id, seconds(time), is_aside)

    async def ask(self, sent: Sent, policy: RetryPolicy | None = None) -> model.Answered | model.Failed:
        """Send it until it is answered or given up. What comes of a request aside is not shown as it arrives."""
        parts = self._parts
        watch = self._without_stream if sent.is_aside else parts.watch
        return await ask_model(sent.compiled, parts.transport, watch=watch, chance=parts.chance, policy=policy)

    def _without_stream(self, event: AgentEvent) -> None:
        if not isinstance(event, Streamed):
            self._parts.watch(event)

    async def ask_aside(self, conversation: Conversation) -> Asked:
        """Ask outside the transcript: what is sent and answered stands in the journal only. A cancelled request was interrupted."""
        sent = self.prepare(conversation, is_aside=True)
        try:
            answer = await self.ask(sent)
        except BaseException:
            self.journal(sent, SendOutcome.INTERRUPTED, detail="interrupted by the user")
            raise
        if isinstance(answer, model.Failed):
            failure = answer.failure
            self.journal(sent, SendOutcome.REFUSED if failure.reply else SendOutcome.LOST, detail=failure.message)
            return Asked(problem=str(failure.error()), too_long=is_too_long(failure))
        cache = self.settle(conversation.prefix, sent, answer.message)
        self._parts.watch(AsideAnswered(answer.message, cache))
        texts = (block.text for block in answer.message.content if isinstance(block, TextBlock))
        return Asked(text="".join(texts), message=answer.message)

    def settle(self, prefix: Prefix, sent: Sent, message: AssembledMessage) -> Attribution:
        """Take in an answer: journal, account, usage; gives what became of the forecast."""
        self.usages.append(message.usage)
        self.models.append(sent.compiled.options.model)
        if self._parts.budget is not None:
            self._parts.budget.add(sent.compiled.options.model, message.usage)
        said = service_verdict(message.diagnostics)
        self.account, cache = settle_answer(self.account, prefix, sent, message.usage, said)
        self.journal(sent, SendOutcome.ANSWERED, message.usage, cache=cache)
        return cache

    def journal(
        self,
        sent: Sent,
        outcome: SendOutcome,
        usage: Usage | None = None,
        detail: str = "",
        cache: Attribution | None = None,
    ) -> None:
        """Record how a request ended."""
        time = self._parts.clock.now()
        ended = OutcomeRecord(request_id=sent.request_id, time=time, outcome=outcome, usage=usage, detail=detail)
        if cache is not None:
            ended = msgspec.structs.replace(
                ended, verdict=cache.verdict.value, cause=cache.cause, lost=cache.lost, said=cache.said
            )
        self._parts.store.append([ended])
