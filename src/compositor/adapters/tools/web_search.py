"""WebSearch: what the web says about a question, found by the service that also runs the model.

Decides the limits of a session and how the pages are shown. Who searches, and how, is behind the port.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, to_builtins

from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call, one_line
from compositor.ports import ToolScope, WebSearcher
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome
from compositor.types.web import WebFound, WebHit, WebQuery

from .results import Problem, done, failed, read_input

MAX_CALLS: Final = 200
"""Calls of one session (project-conventions 9.3)."""

MAX_TEXT: Final = 20_000
MAX_HITS: Final = 50
_MAX_TITLE: Final = 200


class SearchInput(Struct, frozen=True, forbid_unknown_fields=True):
    query: str
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()


class WebSearchTool:
    definition: ToolDefinition = BUILTIN["WebSearch"]

    def __init__(self, searcher: WebSearcher) -> None:
        self._searcher = searcher
        self._calls = 0

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, SearchInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        if wanted.allowed_domains and wanted.blocked_domains:
            return failed(call, "Give allowed_domains or blocked_domains, not both.")
        if self._calls >= MAX_CALLS:
            return failed(call, f"This session has searched the web {MAX_CALLS} times; it may not do so again.")
        self._calls += 1
        found = await self._searcher.search(
            WebQuery(query=wanted.query, allowed=wanted.allowed_domains, blocked=wanted.blocked_domains)
        )
        if found.problem:
            return failed(call, f"The web could not be searched: {found.problem}")
        shown = f"{display_call(call)}: {counted(len(found.hits), 'page')}"
        structured = {"query": wanted.query, "results": to_builtins(found.hits), "searches": found.searches}
        return done(call, _text(found), display=shown, structured=structured)


def _text(found: WebFound) -> str:
    pages = [_line(hit) for hit in found.hits[:MAX_HITS]]
    if len(found.hits) > MAX_HITS:
        pages.append(f"[{len(found.hits) - MAX_HITS:,} more pages are left out.]")
    text = found.text
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[{len(text) - MAX_TEXT:,} characters are left out here.]"
    listed = "\n".join(("Pages:", *pages)) if pages else ""
    return "\n\n".join(part for part in (text, listed) if part) or "Nothing was found."


def _line(hit: WebHit) -> str:
    age = f" ({one_line(hit.age, _MAX_TITLE)})" if hit.age else ""
    return f"- {one_line(hit.title, _MAX_TITLE)}: {hit.url}{age}"
