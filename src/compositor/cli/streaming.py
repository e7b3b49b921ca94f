"""The machine-readable forms of a run (project-conventions 11.2): JSON lines as it happens, and the one result object.

Decides field names and order. Prints lines of JSON and nothing else.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import click

from compositor._version import __version__
from compositor.cli.watching import money
from compositor.context.compaction.ladder import Trigger
from compositor.context.wire.canonical import encode_json
from compositor.loop.effects import EndReason
from compositor.runtime.events import (
    AgentEvent,
    AnswerEnded,
    CacheExpired,
    CallEnded,
    CallJudged,
    Compacted,
    CompactionFailed,
    CompactionStep,
    Mended,
    OutputWidened,
    PrefixKept,
    PrefixMoves,
    Retrying,
)
from compositor.types.blocks import ToolResultBlock
from compositor.types.usage import Usage

if TYPE_CHECKING:
    from compositor.cli.running import Ran
    from compositor.opened import Opened
    from compositor.runtime.events import TurnResult


class JsonLines:
    """Prints each event as one JSON object a line."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._session = opened.header.session_id

    def begin(self) -> None:
        """`system/init`: what the run opens with."""
        contract = self._opened.contract
        self._line(
            {
                "type": "system",
                "subtype": "init",
                "cwd": self._opened.around.cwd,
                "tools": [chunk.definition.name for chunk in self._opened.conversation.prefix.head.parts.tools],
                "mcp_servers": [],
                "model": contract.model,
                "permissionMode": contract.policy.mode.value,
                "apiKeySource": contract.credential.variable if contract.credential is not None else "none",
                "compositor_version": __version__,
            }
        )

    def __call__(self, event: AgentEvent) -> None:
        match event:
            case AnswerEnded(message=message):
                answer = {
                    "id": message.id,
                    "type": "message",
                    "role": "assistant",
                    "model": message.model,
                    "content": message.content,
                    "stop_reason": message.stop_reason,
                    "usage": _usage(message.usage),
                }
                self._line({"type": "assistant", "message": answer, "parent_tool_use_id": None})
            case CallJudged(call=call, verdict=verdict, trace=trace):
                judged = {"tool_use_id": call.id, "tool_name": call.name, "reason": verdict.reason}
                kind = type(verdict).__name__.lower()
                self._line({"type": "system", "subtype": "verdict", "verdict": kind, **judged, "trace": trace})
            case CallEnded(outcome=outcome):
                block = ToolResultBlock(outcome.call_id, outcome.content, is_error=outcome.is_error or None)
                content = {"role": "user", "content": [block]}
                self._line({"type": "user", "message": content, "tool_use_result": outcome.structured})
            case Retrying(notice=notice):
                self._line(
                    {
                        "type": "system",
                        "subtype": "api_retry",
                        "attempt": notice.attempt,
                        "max_retries": notice.limit,
                        "retry_delay_ms": round(notice.delay * 1000),
                        "error": notice.failure.message,
                    }
                )
            case PrefixMoves(move=move, refused=refused):
                moved = {"events": move.events, "lost_tokens": move.lost, "dollars": move.dollars, "refused": refused}
                self._line({"type": "system", "subtype": "prefix_moves", **moved})
            case PrefixKept(fault=text):
                self._line({"type": "system", "subtype": "prefix_kept", "text": text})
            case CacheExpired(text=text):
                self._line({"type": "system", "subtype": "cache_expired", "text": text})
            case Mended(cause=cause, remedy=remedy, events=events):
                remedy_name = type(remedy).__name__
                fields = {"remedy": remedy_name, "cause": cause, "events": events}
                self._line({"type": "system", "subtype": "request_mended", **fields})
            case OutputWidened(before=before, limit=limit):
                self._line({"type": "system", "subtype": "output_widened", "before": before, "limit": limit})
            case CompactionStep():
                self._line({"type": "system", "subtype": "status", "status": "compacting"})
            case Compacted():
                metadata = {
                    "trigger": "manual" if event.trigger is Trigger.MANUAL else "auto",
                    "pre_tokens": event.before,
                    "post_tokens": event.after,
                }
                self._line({"type": "system", "subtype": "compact_boundary", "compact_metadata": metadata})
            case CompactionFailed(reason=reason):
                failed = {"status": None, "compact_result": "failed", "compact_error": reason}
                self._line({"type": "system", "subtype": "status", **failed})
            case _:
                pass

    def _line(self, fields: dict[str, Any]) -> None:
        _print({**fields, "session_id": self._session, "uuid": str(uuid.uuid4())})


def print_result(opened: Opened, ran: Ran[TurnResult]) -> None:
    """The object a run ends with."""
    result = ran.result
    completed = result.reason is EndReason.COMPLETED
    subtype = "success" if completed else "error_during_execution"
    if result.reason is EndReason.MAX_TURNS:
        subtype = "error_max_turns"
    _print(
        {
            "type": "result",
            "subtype": subtype,
            "is_error": not completed,
            "duration_ms": round(ran.seconds * 1000),
            "num_turns": result.requests,
            "result": result.text,
            **({"errors": [result.detail]} if result.detail else {}),
            "terminal_reason": result.reason.value,
            "total_cost_usd": money(result, opened.contract),
            "usage": _usage(result.usage),
            "permission_denials": [
                {"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.input} for call in result.denied
            ],
            "session_id": opened.header.session_id,
            "uuid": str(uuid.uuid4()),
        }
    )


def print_failure(opened: Opened, sentence: str, *, reason: str = "error") -> None:
    """The object of a run that an error ended: before the first request, or where no turn could handle it."""
    _print(
        {
            "type": "result",
            "subtype": "error_during_execution",
            "is_error": True,
            "errors": [sentence],
            "terminal_reason": reason,
            "session_id": opened.header.session_id,
            "uuid": str(uuid.uuid4()),
        }
    )


def print_setup_failure(opened: Opened, form: str, sentence: str) -> None:
    """What a run without a key prints: in `stream-json` it begins and ends like every other run."""
    if form == "stream-json":
        JsonLines(opened).begin()
    print_failure(opened, sentence, reason="turn_setup_failed")


def _usage(usage: Usage) -> dict[str, Any]:
    """All four counts, also where they are zero: readers add them up."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.read,
        "cache_creation": usage.cache_creation,
    }


def _print(fields: dict[str, Any]) -> None:
    # Bytes: JSON is UTF-8 whatever the terminal speaks.
    click.echo(encode_json(fields))
