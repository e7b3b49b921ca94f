"""What an agent tells whoever watches it, as values in the order of what happens.

Decides the vocabulary between the runtime and its faces (command line, prompt, protocols). Nothing here influences a request.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from compositor.context.wire.assemble import AssembledMessage
from compositor.loop.attempt import RetryNotice
from compositor.loop.effects import EndReason
from compositor.policy.audit import GateFinding
from compositor.types.request import Compiled
from compositor.types.stream import StreamEvent
from compositor.types.tools import ToolCall, ToolOutcome
from compositor.types.usage import Usage, add_usage
from compositor.types.verdicts import Verdict


class RequestStarted(Struct, frozen=True):
    """Request `number` of the turn (from 1) is about to be sent."""

    number: int
    compiled: Compiled


class Streamed(Struct, frozen=True):
    """A piece of the answer on its way."""

    event: StreamEvent


class Retrying(Struct, frozen=True):
    """The same bytes will be sent again; what was shown of the broken answer is void."""

    notice: RetryNotice


class AnswerEnded(Struct, frozen=True):
    number: int
    message: AssembledMessage


class CallJudged(Struct, frozen=True):
    """The gate's verdict on a call, before it runs."""

    call: ToolCall
    display: str
    verdict: Verdict
    trace: tuple[GateFinding, ...]


class CallEnded(Struct, frozen=True):
    call: ToolCall
    outcome: ToolOutcome


class TurnResult(Struct, frozen=True, kw_only=True):
    """How a turn ended. `text` is the model's last answer; `usages` has one usage a request that was answered; `denied` the refused calls."""

    reason: EndReason
    detail: str
    text: str
    requests: int
    usages: tuple[Usage, ...]
    denied: tuple[ToolCall, ...]

    @property
    def usage(self) -> Usage:
        """The sum over the requests. Money is summed from `usages`: prices can depend on the size of one prompt."""
        return functools.reduce(add_usage, self.usages, Usage())


AgentEvent: TypeAlias = RequestStarted | Streamed | Retrying | AnswerEnded | CallJudged | CallEnded
Watcher: TypeAlias = Callable[[AgentEvent], None]
