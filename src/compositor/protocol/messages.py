"""Events of a run as messages of the protocol, one a line.

Decides field names and their order. `session_id` and `uuid` are put on by whoever prints them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from compositor._version import __version__
from compositor.context.compaction.ladder import Trigger
from compositor.loop.failure_matrix import FailureMet
from compositor.opened import Opened
from compositor.runtime.events import (
    AgentEvent,
    AgentWorked,
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
from compositor.types.servers import ServerListing
from compositor.types.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    StreamEvent,
    StreamFailure,
    UnknownEvent,
)
from compositor.types.usage import Usage

Message = dict[str, Any]


class Command(Struct, frozen=True):
    """A command that can be typed as `/name`, and what it takes."""

    name: str
    description: str = ""
    hint: str = ""


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a run found beside its session: servers as they are now, commands, and the names of skills and agents."""

    servers: Sequence[ServerListing] = ()
    commands: Sequence[Command] = ()
    skills: Sequence[str] = ()
    agents: Sequence[str] = ()


def init_message(opened: Opened, found: Surroundings, mode: str) -> Message:
    """`system/init`: what a turn begins with."""
    contract = opened.contract
    own = [chunk.definition.name for chunk in opened.conversation.prefix.head.parts.tools]
    served = [tool.wire for server in found.servers for tool in server.tools if server.problem is None]
    return {
        "type": "system",
        "subtype": "init",
        "cwd": opened.around.cwd,
        "tools": list(dict.fromkeys((*own, *served))),
        "mcp_servers": [{"name": one.server, "status": server_status(one)} for one in found.servers],
        "model": contract.model,
        "permissionMode": mode,
        "slash_commands": [command.name for command in found.commands],
        "apiKeySource": contract.credential.variable if contract.credential is not None else "none",
        "agents": list(found.agents),
        "skills": list(found.skills),
        "plugins": [],
        "output_style": contract.settings.output_style or "default",
        # Readers of the protocol look for the second name; both say which program this is.
        "compositor_version": __version__,
        "claude_code_version": f"{__version__} (compositor)",
        **({"betas": list(contract.betas)} if contract.betas else {}),
    }


def server_status(listing: ServerListing) -> str:
    """The protocol's word for how an MCP server is."""
    if listing.problem is None:
        return "connected"
    return "pending" if listing.starting else "failed"


def event_message(event: AgentEvent) -> Message | None:
    """The message of an event; `None` for one that the protocol has no word for."""
    match event:
        case AnswerEnded(message=message):
            answer = {
                "id": message.id,
                "type": "message",
                "role": "assistant",
                "model": message.model,
                "content": message.content,
                "stop_reason": message.stop_reason,
                "usage": usage_fields(message.usage),
            }
            return {"type": "assistant", "message": answer, "parent_tool_use_id": None}
        case CallEnded(outcome=outcome):
            block = ToolResultBlock(outcome.call_id, outcome.content, is_error=outcome.is_error or None)
            said = {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None}
            return {**said, "tool_use_result": outcome.structured}
        case Compacted():
            metadata = {
                "trigger": "manual" if event.trigger is Trigger.MANUAL else "auto",
                "pre_tokens": event.before,
                "post_tokens": event.after,
            }
            return _system("compact_boundary", compact_metadata=metadata)
        case CompactionStep():
            return _system("status", status="compacting")
        case CompactionFailed(reason=reason):
            return _system("status", status=None, compact_result="failed", compact_error=reason)
        case Retrying(notice=notice):
            reply = notice.failure.reply
            return _system(
                "api_retry",
                attempt=notice.attempt,
                max_retries=notice.limit,
                retry_delay_ms=round(notice.delay * 1000),
                error_status=None if reply is None else reply.status,
                error=notice.failure.message,
            )
        case AgentWorked(call_id=call_id, event=inner):
            told = event_message(inner)
            return told and {**told, "parent_tool_use_id": call_id or None}
        case _:
            return _own_message(event)


def _own_message(event: AgentEvent) -> Message | None:
    """What only this program tells: the gate's verdicts and the cache."""
    match event:
        case CallJudged(call=call, verdict=verdict, trace=trace):
            judged = {"verdict": type(verdict).__name__.lower(), "tool_use_id": call.id, "tool_name": call.name}
            return _system("verdict", **judged, reason=verdict.reason, trace=trace)
        case PrefixMoves(move=move, refused=refused):
            moved = {"events": move.events, "lost_tokens": move.lost, "dollars": move.dollars}
            return _system("prefix_moves", **moved, refused=refused)
        case PrefixKept(fault=text):
            return _system("prefix_kept", text=text)
        case CacheExpired(text=text):
            return _system("cache_expired", text=text)
        case Mended(cause=cause, remedy=remedy, events=events):
            return _system("request_mended", remedy=type(remedy).__name__, cause=cause, events=events)
        case FailureMet(row=row, what=what):
            return _system("failure", **msgspec.structs.asdict(row), what=what)
        case OutputWidened(before=before, limit=limit):
            return _system("output_widened", before=before, limit=limit)
        case _:
            return None


def stream_message(event: StreamEvent) -> Message:
    """A piece of an answer on its way (`--include-partial-messages`), as the service sent it."""
    return {"type": "stream_event", "event": wire_event(event), "parent_tool_use_id": None}


def wire_event(event: StreamEvent) -> Message:
    """A stream event with the words of the wire (wire page 7)."""
    match event:
        case MessageStart(message=message):
            return {"type": "message_start", "message": message}
        case BlockStart(index=index, block=block):
            return {"type": "content_block_start", "index": index, "content_block": block}
        case BlockDelta(index=index, delta=delta):
            return {"type": "content_block_delta", "index": index, "delta": delta}
        case BlockStop(index=index):
            return {"type": "content_block_stop", "index": index}
        case MessageDelta(delta=delta, usage=usage):
            return {"type": "message_delta", "delta": delta, **({} if usage is None else {"usage": usage})}
        case MessageStop():
            return {"type": "message_stop"}
        case Ping():
            return {"type": "ping"}
        case StreamFailure(raw=raw) | UnknownEvent(raw=raw):
            found: Message = msgspec.json.decode(raw)
            return found


def usage_fields(usage: Usage) -> Message:
    """All four counts, also where they are zero: readers add them up."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.read,
        "cache_creation": usage.cache_creation,
    }


def _system(subtype: str, **fields: Any) -> Message:
    return {"type": "system", "subtype": subtype, **fields}
