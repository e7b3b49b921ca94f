"""Tools that come while a session runs: how news of the servers becomes part of the conversation, and comes back on a resume.

Decides what is recorded: a marker with the definitions as they were first sent, and a note for the model at the tail. What the news are is
decided in `context/tools/deferral.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from compositor.config.contract import RunContract
from compositor.config.options import takes_tool_changes
from compositor.config.platforms import Ability
from compositor.context.head import compile_head
from compositor.context.messages.legality import WireContext
from compositor.context.messages.legality.tool_rules import check_tools
from compositor.context.prefix import offer_tools
from compositor.context.tools.deferral import AUTO_SHARE, Deferral, News, marker_detail, recorded_tools
from compositor.context.tools.provider import TOOL_SEARCH
from compositor.context.wire.canonical import encode_tool
from compositor.types.diagnostics import Severity
from compositor.types.entries import AttachmentEntry, MarkerEntry, TranscriptEntry
from compositor.types.provenance import Omission, Source
from compositor.types.request import Head, HeadTool
from compositor.types.servers import DEFERRED_TOOLS
from compositor.types.tools import ToolDefinition

from .session import Conversation, Stamp

SEARCH_TOOL: Final = "ToolSearch"
WAIT_TOOL: Final = "WaitForMcpServers"


def take_in(
    conversation: Conversation, news: News, *, stamp: Callable[[], Stamp]
) -> tuple[Conversation, tuple[TranscriptEntry, ...]]:
    """The conversation with the new tools, and the entries that are still to be recorded behind it."""
    prefix = conversation.prefix
    if news.plain or news.deferred or news.omissions:
        prefix = offer_tools(prefix, (*news.plain, *news.deferred), news.omissions)
    entries: list[TranscriptEntry] = []
    parent = prefix.leaf
    if news.deferred:
        mark = stamp()
        entries.append(
            MarkerEntry(
                uuid=mark.uuid,
                parent=parent,
                time=mark.time,
                subtype=DEFERRED_TOOLS,
                detail=marker_detail(news.deferred),
            )
        )
        parent = mark.uuid
    for note in news.notes:
        mark = stamp()
        entries.append(AttachmentEntry(uuid=mark.uuid, parent=parent, time=mark.time, attachment=note))
        parent = mark.uuid
    return msgspec.structs.replace(conversation, prefix=prefix), tuple(entries)


def with_recorded_tools(head: Head, markers: Iterable[TranscriptEntry], wire: WireContext) -> Head:
    """A stored head with the deferred tools of this session in place of whatever else was stored beside it (R243, R424).

    A recorded tool that no request may hold is left out; the others stay (F10, F11).
    """
    own = tuple(tool for tool in head.parts.tools if not tool.definition.deferred)
    taken = {tool.definition.name for tool in own}
    kept: list[HeadTool] = []
    omissions: list[Omission] = []
    for tool in recorded_tools(markers):
        problem = "another tool has its name (L101)" if tool.definition.name in taken else _refusal(tool, wire)
        if problem is None:
            kept.append(tool)
        else:
            what = f"tool {tool.origin.source.name!r}"
            omissions.append(Omission(what, f"as it was recorded, {problem}", "tools.recorded", tool.origin.source))
    if (*own, *kept) == head.parts.tools:
        return head
    parts = replace(head.parts, tools=(*own, *kept), omissions=(*head.parts.omissions, *omissions))
    return compile_head(parts)


def _refusal(tool: HeadTool, wire: WireContext) -> str | None:
    # Deferral is judged over the whole list; alone, the tool would be one list of deferred tools only (L105).
    data = encode_tool(replace(tool.definition, deferred=False))
    found = check_tools([msgspec.json.decode(data)], wire)
    return next((f"{one.message} ({one.rule})" for one in found if one.severity is Severity.ERROR), None)


def has_own_search(contract: RunContract) -> bool:
    """Whether model and platform search deferred tools themselves (wire page 6)."""
    knows = contract.profile.tool_search and "tool_search" not in contract.profile.doubts
    return knows and contract.platform.has(Ability.SERVER_TOOLS)


def fit_searching(
    tools: Sequence[ToolDefinition], contract: RunContract, wish: str | None
) -> tuple[tuple[ToolDefinition, ...], tuple[Omission, ...]]:
    """`tools` with what finds tools of servers: our own search or the service's, or nothing but a way to wait for them."""
    names = {tool.name for tool in tools}
    out: dict[str, str] = {}
    searched = not math.isinf(plan_deferral(contract, wish).share or 0.0)
    provides = searched and contract.settings.compositor.tool_search == "provider"
    if not searched:
        out[SEARCH_TOOL] = "no tool is deferred on this model and platform, or tool search is off"
    if searched or not takes_tool_changes(contract):
        out[WAIT_TOOL] = (
            "a tool search finds what comes late" if searched else "nothing can be added behind what was sent (L45)"
        )
    if provides and not has_own_search(contract):
        out[TOOL_SEARCH.name] = f"model or platform has no search of its own; {SEARCH_TOOL} stands in"
    elif provides:
        out[SEARCH_TOOL] = "the service searches by itself"
    kept = [tool for tool in tools if tool.name not in out]
    if provides and has_own_search(contract) and SEARCH_TOOL in names:
        kept.append(TOOL_SEARCH)
    return tuple(kept), tuple(
        _left_out(name, why) for name, why in out.items() if name in names or name == TOOL_SEARCH.name
    )


def _left_out(tool: str, reason: str) -> Omission:
    return Omission(f"tool {tool!r}", reason, "tools.deferral", Source("tool", tool))


def plan_deferral(contract: RunContract, wish: str | None) -> Deferral:
    """Whether and from which size on tools of servers wait for a search (project-conventions 7.3).

    `wish` is `ENABLE_TOOL_SEARCH`: true, false, auto or auto:N (percent of the window). Without it tools are deferred wherever model and
    platform are known to take references; every profile is of a generation that does.
    """
    window = contract.window.tokens
    asked = (wish or "").strip().lower()
    knows = contract.profile.is_known and (asked == "true" or contract.platform.has(Ability.SERVER_TOOLS))
    if asked == "false" or not knows or SEARCH_TOOL not in contract.tools:
        return Deferral(share=math.inf, window=window)
    if asked.startswith("auto"):
        percent = asked.removeprefix("auto").removeprefix(":")
        return Deferral(share=int(percent) / 100 if percent.isdecimal() else AUTO_SHARE, window=window)
    return Deferral(window=window)
