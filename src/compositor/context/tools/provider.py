"""The tools that the service runs itself (wire page 2.4 and 6): what the request declares of each.

Decides their dated types and settings. Whether one is used is decided in `loop/offering.py` (search for tools) and by the tool that asks
aside (search of the web).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from compositor.types.json import EMPTY_OBJECT, raw_json
from compositor.types.tools import Concurrency, ToolDefinition

MAX_SEARCHES: Final = 8
"""Searches of the web in one call (project-conventions 9.3)."""

TOOL_SEARCH: Final = ToolDefinition(
    name="tool_search_tool_bm25",
    description="",
    input_schema=EMPTY_OBJECT,
    concurrency=Concurrency.SHARED,
    read_only=True,
    provider="tool_search_tool_bm25_20251119",
)
"""The service's own search for deferred tools: what it finds can be called in the same answer. Never deferred (L108)."""


def web_search(allowed: Sequence[str] = (), blocked: Sequence[str] = ()) -> ToolDefinition:
    """The service's search of the web, for some domains only or for all but some."""
    settings: dict[str, Any] = {"max_uses": MAX_SEARCHES}
    if allowed:
        settings["allowed_domains"] = list(allowed)
    if blocked:
        settings["blocked_domains"] = list(blocked)
    return ToolDefinition(
        name="web_search",
        description="",
        input_schema=EMPTY_OBJECT,
        read_only=True,
        provider="web_search_20250305",
        settings=raw_json(settings),
    )
