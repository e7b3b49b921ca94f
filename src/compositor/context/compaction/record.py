"""The records of a compaction: boundary, summary, what is kept and what comes back, as entries behind the old end (R149, R152, R310).

Decides what the boundary says and the order of what stands behind it. History is never rewritten: the old entries stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from compositor.context.tools.deferral import marker_detail
from compositor.context.transcript.boundary import SUBTYPE
from compositor.context.view import block_references
from compositor.types.attachments import TOOL_ADDITION, TextAttachment
from compositor.types.blocks import ContentBlock, ToolReferenceBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, MarkerEntry, Origin, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.request import HeadTool
from compositor.types.servers import DEFERRED_TOOLS

from .ladder import Option

SEARCH_TOOL = "ToolSearch"


class Report(Struct, frozen=True, kw_only=True):
    """What the boundary says of itself. Sizes in estimated tokens; `discovered` are the names of tools that a search had found (R245).

    `ladder` holds what was weighed, with gain and cost of each step.
    """

    trigger: str
    method: str
    before: int
    discovered: tuple[str, ...] = ()
    ladder: tuple[Option, ...] = ()


def boundary_entry(
    report: Report, kept: Sequence[TranscriptEntry], *, uuid: str, time: str, parent: str | None, anchor: str
) -> MarkerEntry:
    """The boundary behind `parent`. `kept` stand behind the entry `anchor`: the summary, or what comes with it (R153)."""
    detail: dict[str, object] = {
        "trigger": report.trigger,
        "method": report.method,
        "preTokens": report.before,
        "discoveredTools": list(report.discovered),
    }
    if report.ladder:
        detail["ladder"] = [
            {
                "step": one.step.value,
                "gain": one.gain,
                "dollars": one.dollars,
                "possible": one.possible,
                "reason": one.reason,
            }
            for one in report.ladder
        ]
    if kept:
        detail["preserved"] = {"anchor": anchor, "entries": [entry.uuid for entry in kept]}
    return MarkerEntry(uuid=uuid, parent=parent, time=time, subtype=SUBTYPE, detail=raw_json(detail))


def summary_entry(content: tuple[ContentBlock, ...], *, uuid: str, time: str, parent: str) -> UserEntry:
    """The summary as a user message that nobody typed (R316)."""
    return UserEntry(uuid=uuid, parent=parent, time=time, content=content, origin=Origin.UNCLASSIFIED, is_meta=True)


def tools_entries(
    tools: Sequence[HeadTool],
    discovered: Sequence[str],
    *,
    model: str,
    parent: str,
    stamp: Callable[[], tuple[str, str]],
) -> tuple[TranscriptEntry, ...]:
    """The deferred tools with their locked bytes, and a search that finds again what was found before: it can be called at once (R245).

    `stamp` gives an id and a time.
    """
    entries: list[TranscriptEntry] = []
    if tools:
        uuid, time = stamp()
        entries.append(
            MarkerEntry(uuid=uuid, parent=parent, time=time, subtype=DEFERRED_TOOLS, detail=marker_detail(tools))
        )
        parent = uuid
    known = {tool.definition.name for tool in tools}
    found = tuple(name for name in discovered if name in known)
    if found:
        entries += _found_again(found, model, parent, stamp)
    return tuple(entries)


def discovered_tools(entries: Iterable[TranscriptEntry]) -> tuple[str, ...]:
    """The names of tools that came into view by a search, ours or the service's, or were added, in the order in which they first did."""
    names: list[str] = []
    for entry in entries:
        if isinstance(entry, UserEntry | AssistantEntry):
            names += [name for block in entry.content for name in block_references(block)]
        elif isinstance(entry, AttachmentEntry) and entry.attachment.kind == TOOL_ADDITION:
            names += entry.attachment.text.split() if isinstance(entry.attachment, TextAttachment) else []
    return tuple(dict.fromkeys(names))


def _found_again(
    names: Sequence[str], model: str, parent: str, stamp: Callable[[], tuple[str, str]]
) -> list[TranscriptEntry]:
    asked, asked_at = stamp()
    answered, answered_at = stamp()
    call = f"toolu_{asked.replace('-', '')[:24]}"
    query = raw_json({"query": f"select:{','.join(names)}", "max_results": len(names)})
    return [
        AssistantEntry(
            uuid=asked,
            parent=parent,
            time=asked_at,
            message_id=f"msg_{asked.replace('-', '')[:24]}",
            model=model,
            content=(ToolUseBlock(call, SEARCH_TOOL, query),),
            stop_reason="tool_use",
        ),
        UserEntry(
            uuid=answered,
            parent=asked,
            time=answered_at,
            content=(ToolResultBlock(call, tuple(map(ToolReferenceBlock, names))),),
            origin=Origin.UNCLASSIFIED,
            is_meta=True,
        ),
    ]
