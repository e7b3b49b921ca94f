"""What of the servers' tools the model is told, when, and how little of it (R241 to R247, F14).

Decides which tools of a server stand in the request in full, which behind a search, and the words that announce a change. A tool that
was told stays told, with its first bytes, whatever becomes of its server. Never connects and never searches.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from compositor.context.tokens import estimate_tokens
from compositor.context.wire.canonical import encode_tool
from compositor.types.attachments import TOOL_ADDITION, TextAttachment
from compositor.types.entries import MarkerEntry, TranscriptEntry
from compositor.types.provenance import Omission, Source
from compositor.types.request import HeadTool
from compositor.types.servers import DEFERRED_TOOLS, ServedTool, ServerListing
from compositor.types.verdicts import PermissionMode

from .catalog import as_head_tools, select_tools
from .search import summary

TOOLS_NOTE: Final = "deferred_tools_delta"
INSTRUCTIONS_NOTE: Final = "mcp_instructions_delta"
SUMMARY_CHARACTERS: Final = 70
CATALOG_SHARE: Final = 0.02
"""Share of the window above which a new catalogue names the tools without saying what they are for."""

AUTO_SHARE: Final = 0.10
"""`ENABLE_TOOL_SEARCH=auto`: below this share of the window all tools stand in the request in full."""


class Deferral(Struct, frozen=True, kw_only=True):
    """`share` of the window up to which nothing is deferred; `None` defers always, infinity never.

    `adds`: a tool that comes late can be brought into view at once, behind what was sent (L45).
    """

    share: float | None = None
    window: int = 200_000
    adds: bool = False

    def defers(self, tools: Iterable[ServedTool]) -> bool:
        """Whether these tools wait for a search. Tokens are estimated from the definitions in full."""
        return self.share is None or catalog_tokens(tools) > self.share * self.window


class Access(enum.Enum):
    """How far a session is: before its first request the head may still take tools in full; later only deferred ones come in."""

    OPEN = "open"
    SENT = "sent"


class Told(Struct, frozen=True, kw_only=True):
    """What the model was told: legal names by real ones, the real names of tools that are gone, servers with instructions.

    `omitted` are the omissions that are on record already.
    """

    names: Mapping[str, str] = {}
    gone: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    instructed: frozenset[str] = frozenset()


class News(Struct, frozen=True, kw_only=True):
    """What the next request tells: `plain` tools join the head, `deferred` ones the list beside it, `notes` go to the tail."""

    plain: tuple[HeadTool, ...] = ()
    deferred: tuple[HeadTool, ...] = ()
    notes: tuple[TextAttachment, ...] = ()
    omissions: tuple[Omission, ...] = ()
    told: Told = Told()

    @property
    def is_empty(self) -> bool:
        return not (self.plain or self.deferred or self.notes)


def plan_news(
    told: Told,
    listings: Sequence[ServerListing],
    deferral: Deferral,
    *,
    access: Access,
    denied: Iterable[str],
    mode: PermissionMode,
    instructs: bool = True,
) -> News:
    """Compare what is offered now with what was told. The result does not depend on the order of `listings` (F13).

    `instructs` is false where the system prompt says what servers say of themselves (R058).
    """
    ordered = sorted(listings, key=lambda listing: listing.server)
    served = {tool.definition.name: tool for listing in ordered for tool in listing.tools}
    allowed, omissions = select_tools((tool.definition for tool in served.values()), None, denied, mode)
    fresh = [served[tool.name] for tool in allowed if tool.name not in told.names]
    plain = _plain(fresh, deferral, access)
    late = [tool for tool in fresh if tool not in plain]
    searched = deferral.defers(served.values())
    is_late = access is Access.SENT
    added = [tool for tool in late if is_late and deferral.adds and (tool.always_load or not searched)]
    if not searched and is_late and not deferral.adds:
        # Without a search, a tool that comes late would move every byte behind it.
        omissions = (*omissions, *(_late(tool) for tool in late))
        late = []
    away = _away(told, ordered)
    back = told.gone - away
    speaking = [listing for listing in ordered if listing.instructions] if instructs else []
    instructions = [listing for listing in speaking if listing.server not in told.instructed]
    names = {tool.definition.name: tool.wire for tool in (*plain, *late)}
    return News(
        plain=_head_tools(plain, "in full: it is small enough or asks for it", deferred=False),
        deferred=_deferred(late, added),
        notes=tuple(
            note
            for note in (
                _catalog([tool for tool in late if tool not in added], told, away - told.gone, back, deferral.window),
                _additions(added),
                *(_instructions(listing) for listing in instructions),
            )
            if note is not None
        ),
        omissions=tuple(omission for omission in omissions if omission.what not in told.omitted),
        told=Told(
            names={**told.names, **names},
            gone=away,
            omitted=told.omitted | {omission.what for omission in omissions},
            instructed=told.instructed | {listing.server for listing in instructions},
        ),
    )


def catalog_tokens(tools: Iterable[ServedTool]) -> int:
    """About what the definitions cost in full."""
    return sum(estimate_tokens(encode_tool(replace(tool.definition, deferred=False))) for tool in tools)


def marker_detail(tools: Sequence[HeadTool]) -> Raw:
    """The detail of the transcript's marker: the definitions with their locked bytes, and where they come from (R247)."""
    return Raw(msgspec.json.encode(tools))


def recorded_tools(entries: Iterable[TranscriptEntry]) -> tuple[HeadTool, ...]:
    """The deferred tools of an earlier part of the session, in the order in which they were told. A damaged marker has none."""
    found: dict[str, HeadTool] = {}
    for entry in entries:
        if isinstance(entry, MarkerEntry) and entry.subtype == DEFERRED_TOOLS:
            try:
                tools = msgspec.json.decode(bytes(entry.detail), type=tuple[HeadTool, ...])
            except msgspec.MsgspecError:
                continue
            for tool in tools:
                found.setdefault(tool.definition.name, tool)
    return tuple(found.values())


def catalog_again(tools: Sequence[HeadTool], window: int) -> tuple[TextAttachment, ...]:
    """The announcement of tools that are known already, for a history that does not hold it any more."""
    served = [ServedTool(tool.definition, tool.definition.name) for tool in tools]
    note = _catalog(served, Told(), frozenset(), frozenset(), window)
    return () if note is None else (note,)


def told_by(tools: Iterable[HeadTool]) -> Told:
    """What a resumed session was told already: the tools of its head and of its markers. Their servers may be away."""
    return Told(names={tool.origin.source.name: tool.definition.name for tool in tools if _is_served(tool)})


def _away(told: Told, listings: Sequence[ServerListing]) -> frozenset[str]:
    """Told tools that cannot be called now. Of a server that is still starting nobody knows."""
    here = {tool.definition.name for listing in listings if listing.problem is None for tool in listing.tools}
    starting = tuple(f"mcp__{listing.server}__" for listing in listings if listing.starting)
    return frozenset(name for name in told.names if name not in here and not name.startswith(starting))


def _is_served(tool: HeadTool) -> bool:
    return tool.origin.source.name.startswith("mcp__")


def _plain(fresh: list[ServedTool], deferral: Deferral, access: Access) -> list[ServedTool]:
    if access is Access.SENT:
        return []
    return fresh if not deferral.defers(fresh) else [tool for tool in fresh if tool.always_load]


def _head_tools(tools: Sequence[ServedTool], gate: str, *, deferred: bool) -> tuple[HeadTool, ...]:
    """In pool order, under the names that the servers' adapter gave them; names are not mapped a second time."""
    wire = {tool.definition.name: tool.wire for tool in tools}
    made = as_head_tools((replace(tool.definition, deferred=deferred) for tool in tools), gate)
    return tuple(HeadTool(replace(tool.definition, name=wire[tool.origin.source.name]), tool.origin) for tool in made)


def _deferred(late: Sequence[ServedTool], added: Sequence[ServedTool]) -> tuple[HeadTool, ...]:
    waiting = _head_tools([tool for tool in late if tool not in added], "deferred: found by a search", deferred=True)
    return (*waiting, *_head_tools(added, "deferred: added behind what was sent", deferred=True))


def _additions(added: Sequence[ServedTool]) -> TextAttachment | None:
    names = sorted(tool.wire for tool in added)
    return TextAttachment(kind=TOOL_ADDITION, text="\n".join(names)) if names else None


def _catalog(
    late: Sequence[ServedTool], told: Told, gone: frozenset[str], back: frozenset[str], window: int
) -> TextAttachment | None:
    """The announcement: what came, what is away, what is back; one line a tool."""
    lines: list[str] = []
    if late:
        lines.append("These tools can be loaded with a tool search; until then their parameters are not known:")
        full = [_line(tool) for tool in sorted(late, key=lambda tool: tool.wire)]
        names = [tool.wire for tool in sorted(late, key=lambda tool: tool.wire)]
        lines += full if _cost(full) <= CATALOG_SHARE * window else names
    if gone:
        lines.append("These tools are not available at the moment, a call to one fails: " + _names(gone, told))
    if back:
        lines.append("These tools are available again: " + _names(back, told))
    return TextAttachment(kind=TOOLS_NOTE, text="\n".join(lines)) if lines else None


def _line(tool: ServedTool) -> str:
    about = summary(tool.definition, SUMMARY_CHARACTERS)
    return f"{tool.wire}: {about}" if about else tool.wire


def _cost(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines).encode())


def _names(real: frozenset[str], told: Told) -> str:
    return ", ".join(sorted(told.names[name] for name in real))


def _instructions(listing: ServerListing) -> TextAttachment:
    text = f"What the MCP server {listing.server!r} says about the use of its tools:\n{listing.instructions}"
    return TextAttachment(kind=INSTRUCTIONS_NOTE, text=text)


def _late(tool: ServedTool) -> Omission:
    reason = "it came after the first request and there is no tool search; the next session has it"
    return Omission(f"tool {tool.definition.name!r}", reason, "tools.deferral", Source("tool", tool.definition.name))
