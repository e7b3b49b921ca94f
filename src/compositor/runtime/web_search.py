"""Searches the web by asking the service aside, with a head that holds its search and nothing else.

Decides nothing: what is declared stands in `context/tools/provider.py`, what an answer holds in `context/tools/web_results.py`. The conversation's
prefix is not part of it, so nothing that was sent moves.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from compositor.context.head import compile_head
from compositor.context.messages.legality import WireContext
from compositor.context.prefix import empty_prefix
from compositor.context.tools.catalog import as_head_tools
from compositor.context.tools.provider import web_search
from compositor.context.tools.web_results import question, read_answer
from compositor.errors import CompileError
from compositor.loop.session import Conversation, Stamp, message_entry, prompt_entry, record
from compositor.runtime.line import ModelLine
from compositor.types.blocks import ContentBlock
from compositor.types.origin import Origin
from compositor.types.request import HeadParts, RequestOptions
from compositor.types.snapshot import Facts
from compositor.types.web import WebFound, WebQuery

MAX_REQUESTS = 3
"""Requests of one search: the service may pause in between (wire page 7)."""


class ServiceWebSearcher:
    """`line` has an account of its own; `options` and `wire` are the session's."""

    def __init__(
        self, line: ModelLine, options: RequestOptions, wire: WireContext, *, stamp: Callable[[], Stamp]
    ) -> None:
        self._line = line
        self._options = options
        self._wire = wire
        self._stamp = stamp

    async def search(self, wanted: WebQuery) -> WebFound:
        try:
            return await self._search(wanted)
        except CompileError as problem:
            return WebFound(problem=problem.message)

    async def _search(self, wanted: WebQuery) -> WebFound:
        asking = self._opened(wanted)
        over = await self._line.over_budget(asking)
        if over is not None:
            return WebFound(problem=over)
        blocks: list[ContentBlock] = []
        for _ in range(MAX_REQUESTS):
            answer = await self._line.ask_aside(asking)
            if answer.message is None:
                return WebFound(problem=answer.problem)
            blocks.extend(answer.message.content)
            if answer.message.stop_reason != "pause_turn":
                break
            entry = message_entry(
                answer.message,
                stamp=self._stamp(),
                parent=asking.leaf,
                model=asking.options.model,
                prefix_digest=asking.prefix.view_digest,
            )
            asking = record(asking, (entry,))
        return read_answer(blocks)

    def _opened(self, wanted: WebQuery) -> Conversation:
        tools = as_head_tools((web_search(wanted.allowed, wanted.blocked),), "the search of the web")
        facts = Facts(model=self._options.model)
        prefix = empty_prefix(compile_head(HeadParts(tools=tools)), facts, self._wire)
        options = msgspec.structs.replace(
            self._options, caching=False, context_management=None, tool_choice=None, scopes=None, pin=None
        )
        asked = prompt_entry(question(wanted), stamp=self._stamp(), parent=None, origin=Origin.UNCLASSIFIED)
        return record(Conversation(prefix=prefix, options=options), (asked,))
