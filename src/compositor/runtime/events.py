"""What an agent tells whoever watches it, as values in the order of what happens.

Decides the vocabulary between the runtime and its faces (command line, prompt, protocols). Nothing here influences a request.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from compositor.context.cache.attribution import Attribution
from compositor.context.cache.forecast import Forecast
from compositor.context.compaction.ladder import Ladder, Step, Trigger
from compositor.context.compaction.loss import LossReport, Standing
from compositor.context.wire.assemble import AssembledMessage
from compositor.loop.attempt import RetryNotice
from compositor.loop.effects import EndReason
from compositor.loop.failure_matrix import FailureMet
from compositor.loop.moves import Move
from compositor.loop.remedies import Remedy
from compositor.policy.audit import GateFinding
from compositor.types.attachments import Attachment
from compositor.types.diagnostics import Diagnostic
from compositor.types.gathering import Gathered
from compositor.types.provenance import Omission
from compositor.types.request import Compiled
from compositor.types.snapshot import PrefixEvent
from compositor.types.stream import StreamEvent
from compositor.types.tools import ToolCall, ToolOutcome
from compositor.types.usage import Usage, add_usage
from compositor.types.verdicts import Verdict


class TurnStarted(Struct, frozen=True):
    """Somebody submitted a prompt; hooks have not heard it yet."""


class RequestStarted(Struct, frozen=True):
    """Request `number` of the turn (from 1) is about to be sent."""

    number: int
    compiled: Compiled
    forecast: Forecast


class Streamed(Struct, frozen=True):
    """A piece of the answer on its way."""

    event: StreamEvent


class Retrying(Struct, frozen=True):
    """The same bytes will be sent again; what was shown of the broken answer is void."""

    notice: RetryNotice


class Mended(Struct, frozen=True):
    """The request was refused for a cause that can be mended; another one follows. `events` are prefix events that this made."""

    cause: str
    remedy: Remedy
    events: tuple[PrefixEvent, ...]


class OutputWidened(Struct, frozen=True):
    """The answer was cut at `before` tokens; the same prefix is sent once more with `limit` (R381). What was shown of it is void."""

    before: int
    limit: int


class PrefixMoves(Struct, frozen=True):
    """The next request gives up what was paid for, by an event: shown with its price before it is sent. `refused`: it is not sent."""

    move: Move
    refused: bool


class PrefixKept(Struct, frozen=True):
    """The prefix had changed and no event says why; the request is made of what was sent. `fault` is one sentence."""

    fault: str


class CacheExpired(Struct, frozen=True):
    """What was written has expired before this request; `text` says what that costs and which plan would be cheaper."""

    text: str


class AnswerEnded(Struct, frozen=True):
    """The answer is whole; `cache` says what became of the forecast."""

    number: int
    message: AssembledMessage
    cache: Attribution


class AsideAnswered(Struct, frozen=True):
    """A request beside the conversation was answered: a summary, a note for the session's memory."""

    message: AssembledMessage
    cache: Attribution


class CallJudged(Struct, frozen=True):
    """The gate's verdict on a call, before it runs."""

    call: ToolCall
    display: str
    verdict: Verdict
    trace: tuple[GateFinding, ...]


class CallProgress(Struct, frozen=True):
    """How far a long call is, in one line."""

    call: ToolCall
    text: str


class CallEnded(Struct, frozen=True):
    call: ToolCall
    outcome: ToolOutcome


class NotesCollected(Struct, frozen=True):
    """Notes that go to the tail of the next request, and what was worth a remark while they were collected.

    `gathered` says for each source how it stood, how long it took and how long the request waited for it (R206, R207).
    """

    attachments: tuple[Attachment, ...]
    diagnostics: tuple[Diagnostic, ...]
    gathered: tuple[Gathered, ...] = ()


class TypedJoined(Struct, frozen=True):
    """What the person typed while the turn is under way goes with its next request; not at all where a hook refused it."""

    text: str
    refusal: str | None


class HeadRenewed(Struct, frozen=True):
    """Tools, system prompt and user context were made anew: what the cache holds of them is no longer read. `event` says why."""

    event: PrefixEvent


class CompactionStep(Struct, frozen=True):
    """A compaction begins; `ladder` says what was weighed."""

    step: Step
    ladder: Ladder


class Compacted(Struct, frozen=True, kw_only=True):
    """A compaction is done and stored. Sizes of the next request in estimated tokens; `kept` counts the messages kept word for word.

    `standing` are the things that the next request must hold; `files` were handed over again.
    """

    trigger: Trigger
    method: str
    summary: str
    before: int
    after: int
    kept: int
    files: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()
    standing: tuple[Standing, ...] = ()


class CompactionFailed(Struct, frozen=True):
    """Nothing was compacted, all is as it was (R308). `reason` is one sentence."""

    trigger: Trigger
    reason: str


class CompactionProved(Struct, frozen=True):
    """The first request behind a compaction: what of the standing things is in its bytes, and what is not (F27)."""

    report: LossReport


class AgentWorked(Struct, frozen=True):
    """What happened in an agent at work for this session. `call_id` is the call that started it, empty for none."""

    worker: str
    kind: str
    call_id: str
    event: AgentEvent


class AgentEnded(Struct, frozen=True):
    """An agent at work for this session has reported."""

    worker: str
    kind: str
    report: str


class TurnResult(Struct, frozen=True, kw_only=True):
    """How a turn ended. `text` is the model's last answer; `usages` has one usage a request that was answered, `models` whom each went to; `denied` the refused calls."""

    reason: EndReason
    detail: str
    text: str
    requests: int
    usages: tuple[Usage, ...]
    models: tuple[str, ...] = ()
    denied: tuple[ToolCall, ...]

    @property
    def usage(self) -> Usage:
        """The sum over the requests. Money is summed from `usages`: prices can depend on the size of one prompt."""
        return functools.reduce(add_usage, self.usages, Usage())


class TurnEnded(Struct, frozen=True):
    result: TurnResult


AgentEvent: TypeAlias = (
    TurnStarted
    | RequestStarted
    | PrefixMoves
    | PrefixKept
    | CacheExpired
    | Streamed
    | Retrying
    | Mended
    | OutputWidened
    | AnswerEnded
    | AsideAnswered
    | CallJudged
    | CallProgress
    | CallEnded
    | NotesCollected
    | TypedJoined
    | HeadRenewed
    | CompactionStep
    | Compacted
    | CompactionFailed
    | CompactionProved
    | FailureMet
    | TurnEnded
    | AgentWorked
    | AgentEnded
)
Watcher: TypeAlias = Callable[[AgentEvent], None]
