"""The line of one session to its model: each request is journaled before it is sent, and its outcome behind it (R424).

Decides nothing: what a request should cost is `loop/accounting.py`, what follows from an answer is the agent's business.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from compositor.context.cache.attribution import Attribution
from compositor.context.prefix import Prefix
from compositor.loop import attempt as model
from compositor.loop.accounting import Account, Sent, forecast_request, seconds, settle_answer
from compositor.loop.session import Conversation, compile_next, send_record
from compositor.ports import Clock, Ids, ModelTransport, SessionStore
from compositor.runtime.driver import ask_model
from compositor.runtime.events import RequestStarted, Watcher
from compositor.runtime.summaries import Asked, is_too_long
from compositor.types.blocks import TextBlock
from compositor.types.journal import OutcomeRecord, SendOutcome
from compositor.types.usage import Usage


class LineParts(Struct, frozen=True, kw_only=True):
    """What a line is made of. `chance` gives numbers in [0, 1), `profile` names the model's profile in the journal."""

    transport: ModelTransport
    store: SessionStore
    clock: Clock
    ids: Ids
    watch: Watcher
    chance: Callable[[], float]
    profile: str


class ModelLine:
    """`requests` and `usages` count since `begin_turn`; the account goes on through the session."""

    def __init__(self, parts: LineParts, account: Account) -> None:
        self._parts = parts
        self.account = account
        self.requests = 0
        self.usages: list[Usage] = []

    def begin_turn(self) -> None:
        self.requests = 0
        self.usages = []

    def prepare(self, conversation: Conversation, *, is_aside: bool = False) -> Sent:
        """Compile, forecast and journal the next request; it is sent by `ask`. Raises what cannot be compiled.

        A request aside settles no entry of the conversation.
        """
        parts = self._parts
        compiled = compile_next(conversation)
        self.requests += 1
        request_id, time = parts.ids.new(), parts.clock.now()
        self.account, forecast = forecast_request(self.account, conversation.prefix, compiled, seconds(time))
        journal = send_record(
            conversation, compiled, request_id=request_id, time=time, profile=parts.profile, forecast=forecast
        )
        if is_aside:
            journal = msgspec.structs.replace(journal, sent=())
        parts.store.put_head(compiled.head)
        parts.store.append([journal])
        parts.watch(RequestStarted(self.requests, compiled, forecast))
        return Sent(compiled, forecast, request_id, seconds(time))

    async def ask(self, sent: Sent) -> model.Answered | model.Failed:
        """Send it until it is answered or given up."""
        parts = self._parts
        return await ask_model(sent.compiled, parts.transport, watch=parts.watch, chance=parts.chance)

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
        self.settle(conversation.prefix, sent, answer.message.usage)
        return Asked(text="".join(block.text for block in answer.message.content if isinstance(block, TextBlock)))

    def settle(self, prefix: Prefix, sent: Sent, usage: Usage) -> Attribution:
        """Take in an answer: journal, account, usage; gives what became of the forecast."""
        self.journal(sent, SendOutcome.ANSWERED, usage)
        self.usages.append(usage)
        self.account, cache = settle_answer(self.account, prefix, sent, usage)
        return cache

    def journal(self, sent: Sent, outcome: SendOutcome, usage: Usage | None = None, detail: str = "") -> None:
        """Record how a request ended."""
        time = self._parts.clock.now()
        ended = OutcomeRecord(request_id=sent.request_id, time=time, outcome=outcome, usage=usage, detail=detail)
        self._parts.store.append([ended])
