"""Events of a turn as updates of a session.

Decides which events an editor hears of and in which form. Sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from acp import schema
from acp.helpers import update_agent_message_text, update_agent_thought_text, update_plan, update_user_message_text

from compositor.adapters.tools.task_list import Task
from compositor.config.price import total_cost
from compositor.context.messages.human import is_human_prompt
from compositor.opened import Opened
from compositor.runtime.events import (
    AgentEvent,
    AnswerEnded,
    CacheExpired,
    CallEnded,
    CallJudged,
    CallProgress,
    Compacted,
    CompactionFailed,
    CompactionStep,
    Mended,
    NotesCollected,
    OutputWidened,
    PrefixKept,
    PrefixMoves,
    Retrying,
    Streamed,
)
from compositor.types.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.stream import BlockDelta
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome
from compositor.types.usage import Usage
from compositor.types.verdicts import Allow

from .showing import cut, ended, running, started

_PLANNING = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate"})


class Updates:
    """One session's. `cwd` is its directory, `tasks` gives its list of tasks as it is now."""

    def __init__(self, opened: Opened, cwd: str, tasks: Callable[[], Sequence[Task]]) -> None:
        self._opened = opened
        self._cwd = cwd
        self._tasks = tasks
        self._usages: list[Usage] = []

    def of(self, event: AgentEvent) -> Iterator[Any]:
        """The updates of one event, in order."""
        match event:
            case Streamed(event=BlockDelta(kind="text_delta", delta=delta)):
                yield update_agent_message_text(str(msgspec.json.decode(delta)["text"]))
            case Streamed(event=BlockDelta(kind="thinking_delta", delta=delta)):
                yield update_agent_thought_text(str(msgspec.json.decode(delta)["thinking"]))
            case AnswerEnded(message=message):
                yield from (started(call, self._cwd) for call in message.calls)
                self._usages.append(message.usage)
                yield self._usage(message.usage)
            case CallJudged(call=call, verdict=Allow()):
                yield running(call)
            case CallProgress(call=call, text=text):
                yield running(call, text)
            case CallEnded(call=call, outcome=outcome):
                yield ended(call, outcome, self._cwd)
                if call.name in _PLANNING and outcome.kind is OutcomeKind.DONE:
                    yield self._plan(call)
            case _:
                said = _remark(event)
                if said is not None:
                    # What is about the work and not part of the answer stands with the thoughts.
                    yield update_agent_thought_text(f"{said}\n")

    def _usage(self, last: Usage) -> schema.UsageUpdate:
        contract = self._opened.contract
        dollars = total_cost(self._usages, contract.model, contract.settings.compositor.prices)
        return schema.UsageUpdate(
            session_update="usage_update",
            used=last.total_input + last.output_tokens,
            size=contract.window.tokens,
            cost=None if dollars is None else schema.Cost(amount=dollars, currency="USD"),
        )

    def _plan(self, call: ToolCall) -> schema.AgentPlanUpdate:
        if call.name == "TodoWrite":
            todos = msgspec.json.decode(call.input)["todos"]
            return update_plan([_entry(todo["content"], todo["status"]) for todo in todos])
        return update_plan([_entry(task.subject, task.status) for task in self._tasks()])


def replay(entries: Iterable[TranscriptEntry], cwd: str) -> Iterator[Any]:
    """A stored conversation as the updates it once was."""
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        if isinstance(entry, UserEntry) and is_human_prompt(entry):
            yield from (update_user_message_text(one.text) for one in entry.content if isinstance(one, TextBlock))
        for block in entry.content if isinstance(entry, UserEntry | AssistantEntry) else ():
            match block:
                case TextBlock(text=text) if isinstance(entry, AssistantEntry) and text:
                    yield update_agent_message_text(text)
                case ThinkingBlock(thinking=text) if text:
                    yield update_agent_thought_text(text)
                case ToolUseBlock(id=id_, name=name, input=given):
                    calls[id_] = ToolCall(id=id_, name=name, input=given)
                    # What it would have changed was changed long ago.
                    yield started(calls[id_], cwd).model_copy(update={"content": None})
                case ToolResultBlock(tool_use_id=id_) if id_ in calls:
                    yield ended(calls[id_], _outcome(block), cwd)
                case _:
                    pass


def _outcome(block: ToolResultBlock) -> ToolOutcome:
    kind = OutcomeKind.FAILED if block.is_error else OutcomeKind.DONE
    return ToolOutcome(call_id=block.tool_use_id, kind=kind, content=block.content or "")


def _remark(event: AgentEvent) -> str | None:
    match event:
        case Retrying(notice=notice):
            return f"[{cut(notice.failure.message)}; the request is sent again, {notice.attempt} of {notice.limit}]"
        case Mended(cause=cause):
            return f"[refused and sent again in another form: {cut(cause)}]"
        case OutputWidened(before=before, limit=limit):
            return f"[the answer was cut at {before:,} tokens and is asked for once more with {limit:,}]"
        case PrefixMoves(move=move, refused=False):
            return f"[cache: {move.text}]"
        case PrefixKept(fault=text) | CacheExpired(text=text):
            return f"[cache: {text}]"
        case CompactionStep():
            return "[the conversation is being summarized]"
        case Compacted():
            return f"[summarized: about {event.after:,} tokens instead of {event.before:,}]"
        case CompactionFailed(reason=reason):
            return f"[not summarized: {reason}]"
        case NotesCollected(diagnostics=diagnostics) if diagnostics:
            return "\n".join(f"[{one.message}]" for one in diagnostics)
        case _:
            return None


def _entry(text: str, status: Any) -> schema.PlanEntry:
    return schema.PlanEntry(content=text, priority="medium", status=status)
