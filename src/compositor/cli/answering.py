"""What a run tells the program that started it when it is asked beside the conversation: servers, the window, files brought back.

Decides the shapes of these answers, as the public agent SDK declares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compositor.context.messages.human import is_human_prompt
from compositor.context.tokens import estimate_tokens
from compositor.errors import UsageError
from compositor.protocol.messages import server_status

if TYPE_CHECKING:
    from compositor.cli.running import Running
    from compositor.opened import Opened
    from compositor.types.request import Chunk, Head


async def server_report(opened: Opened, running: Running) -> Mapping[str, Any]:
    """`mcp_status`: every server of the session as it is now."""
    servers = running.services.servers
    scopes = {server.name: server.scope.value for server in opened.servers}
    rows = []
    for one in () if servers is None else await servers.listings():
        status = server_status(one)
        tools = [{"name": tool.definition.name, "description": tool.definition.description} for tool in one.tools]
        row: dict[str, Any] = {"name": one.server, "status": status, "scope": scopes.get(one.server, "")}
        rows.append({**row, "tools": tools} if status == "connected" else {**row, "error": one.problem or ""})
    return {"mcpServers": rows}


def window_report(opened: Opened, running: Running) -> Mapping[str, Any]:
    """`get_context_usage`: what the next request would hold, in estimated tokens by kind."""
    prefix, contract = running.agent.conversation.prefix, opened.contract
    head = prefix.head
    served = [chunk for chunk in head.tools if _tool_name(chunk).startswith("mcp__")]
    counted = {
        "System prompt": _count(head.system),
        "System tools": _count(chunk for chunk in head.tools if chunk not in served),
        "MCP tools": _count(served),
        "Memory files": _count((head.context,) if head.context is not None else ()),
        "Messages": _count((*prefix.settled, *prefix.tail.chunks)),
    }
    total, window = sum(counted.values()), contract.window.tokens
    rows = [{"name": name, "tokens": tokens, "color": ""} for name, tokens in counted.items() if tokens]
    return {
        "categories": [*rows, {"name": "Free space", "tokens": max(window - total, 0), "color": ""}],
        "totalTokens": total,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": round(100 * total / window, 1),
        "model": contract.model,
        "isAutoCompactEnabled": contract.compaction.allowed and contract.compaction.automatic,
        "memoryFiles": _memory_files(head),
        "mcpTools": [
            {"name": _tool_name(chunk), "tokens": estimate_tokens(chunk.data), "isLoaded": True} for chunk in served
        ],
        "agents": [],
        "gridRows": [],
    }


def bring_files_back(opened: Opened, running: Running, entry: str) -> Mapping[str, Any]:
    """`rewind_files`: files as they were before the prompt `entry` and all that came after it. Raises `UsageError` for an unknown one."""
    from compositor.adapters.checkpoints import FileHistory

    prompts = [one.uuid for one in running.agent.conversation.prefix.entries if is_human_prompt(one)]
    if entry not in prompts:
        raise UsageError(f"the conversation holds no prompt {entry!r}")
    history = FileHistory(Path(opened.home), opened.header.session_id, opened.clock)
    changes = history.restore(prompts[prompts.index(entry) :])
    return {"changes": [{"path": one.path, "what": one.what, "reason": one.reason} for one in changes]}


def _count(chunks: Iterable[Chunk]) -> int:
    return sum(estimate_tokens(chunk.data) for chunk in chunks)


def _tool_name(chunk: Chunk) -> str:
    return next((origin.source.name for _, origin in chunk.runs if origin.source.kind == "tool"), "")


def _memory_files(head: Head) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for fragment in head.parts.context:
        source = fragment.origin.source
        if source.path is not None:
            row = found.setdefault(source.path, {"path": source.path, "type": source.name, "tokens": 0})
            row["tokens"] += estimate_tokens(fragment.text.encode())
    return list(found.values())
