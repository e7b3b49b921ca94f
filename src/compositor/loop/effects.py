"""What the loop asks of its driver, as values.

Decides the vocabulary of the turn and the batch machine. Performs nothing: concurrency, deadlines and cancellation belong to the driver.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

from msgspec import Struct

from compositor.types.entries import TranscriptEntry
from compositor.types.tools import ToolCall, ToolOutcome


class EndReason(enum.StrEnum):
    """Why a turn ended (project-conventions 11.2, terminal_reason, as far as these exist)."""

    COMPLETED = "completed"
    MAX_TURNS = "max_turns"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    PROMPT_TOO_LONG = "prompt_too_long"
    API_ERROR = "api_error"
    CACHE_REFUSED = "cache_refused"
    BUDGET = "budget"
    ABORTED_STREAMING = "aborted_streaming"
    ABORTED_TOOLS = "aborted_tools"
    HOOK_STOPPED = "hook_stopped"
    TURN_SETUP_FAILED = "turn_setup_failed"
    STOPPED = "stopped"


class Record(Struct, frozen=True):
    """Append these entries to the transcript, in order, before anything else happens."""

    entries: tuple[TranscriptEntry, ...]


class RequestModel(Struct, frozen=True):
    """Compile the conversation as it stands and send it."""


class RunBatch(Struct, frozen=True):
    """Judge and run these calls; the message that holds them has ended (R014)."""

    calls: tuple[ToolCall, ...]


class StopBatch(Struct, frozen=True):
    """Cancel what is running; its results are still wanted."""


class StopAttempt(Struct, frozen=True):
    """Cancel the request that is under way."""


class EndTurn(Struct, frozen=True):
    reason: EndReason
    detail: str = ""


TurnEffect: TypeAlias = Record | RequestModel | RunBatch | StopBatch | StopAttempt | EndTurn


class Judge(Struct, frozen=True):
    """Put the call through the gate."""

    call: ToolCall


class Run(Struct, frozen=True):
    """Perform an allowed call. Several of these at once may run side by side."""

    call: ToolCall


class BatchDone(Struct, frozen=True):
    """Every call has its outcome, in call order."""

    outcomes: tuple[ToolOutcome, ...]


BatchEffect: TypeAlias = Judge | Run | BatchDone
