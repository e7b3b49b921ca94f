"""The machine-readable forms of a run (project-conventions 11.2): JSON lines as it happens, and the one result object.

Decides field names and order. Prints lines of JSON and nothing else.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compositor._version import __version__
from compositor.cli.watching import money
from compositor.context.wire.canonical import encode_json
from compositor.loop.effects import EndReason
from compositor.runtime.events import AgentEvent, AnswerEnded, CallEnded, CallJudged, Retrying, TurnResult
from compositor.types.blocks import ToolResultBlock

if TYPE_CHECKING:
    from compositor.wiring import Opened


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
                    "usage": message.usage,
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
            case _:
                pass

    def _line(self, fields: dict[str, Any]) -> None:
        line = {**fields, "session_id": self._session, "uuid": str(uuid.uuid4())}
        click.echo(encode_json(line).decode())


def result_object(opened: Opened, result: TurnResult) -> dict[str, Any]:
    """The object a run ends with."""
    completed = result.reason is EndReason.COMPLETED
    subtype = "success" if completed else "error_during_execution"
    if result.reason is EndReason.MAX_TURNS:
        subtype = "error_max_turns"
    found: dict[str, Any] = {
        "type": "result",
        "subtype": subtype,
        "is_error": not completed,
        "num_turns": result.requests,
        "result": result.text,
        "terminal_reason": result.reason.value,
        "session_id": opened.header.session_id,
        "total_cost_usd": money(result, opened.contract),
        "usage": msgspec.to_builtins(result.usage),
        "permission_denials": [
            {"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.input} for call in result.denied
        ],
    }
    if result.detail:
        found["errors"] = [result.detail]
    return found
