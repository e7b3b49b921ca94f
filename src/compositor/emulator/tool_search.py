"""The service's own tool search over deferred tools (wire page 6).

Decides which tools a query finds and the form of the answer. The ranking by words is ours: only that it is one is documented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Tool = Mapping[str, Any]
_PREFIX = "tool_search_tool_"
_FOUND = 5


def search_tool_of(tools: Sequence[Tool]) -> str | None:
    """The name under which the request offers the service's search, `None` when it does not."""
    kinds = (str(tool.get("type")) for tool in tools)
    return next((kind.rpartition("_20")[0] or kind for kind in kinds if kind.startswith(_PREFIX)), None)


def search_result(name: str, given: Mapping[str, Any], tools: Sequence[Tool]) -> dict[str, Any]:
    """The `content` of a `tool_search_tool_result`: references, best first, or an error for a query that is none."""
    query = given.get("pattern") if name.endswith("regex") else given.get("query")
    most = 200 if name.endswith("regex") else 500
    if not isinstance(query, str) or len(query) > most:
        return _error("invalid_tool_input")
    deferred = [tool for tool in tools if tool.get("defer_loading")]
    try:
        found = _by_pattern(query, deferred) if name.endswith("regex") else _by_words(query, deferred)
    except re.error:
        return _error("invalid_tool_input")
    limit = given.get("limit", _FOUND)
    references = [{"type": "tool_reference", "tool_name": tool["name"]} for tool in found[:limit]]
    return {"type": "tool_search_tool_search_result", "tool_references": references}


def _error(code: str) -> dict[str, Any]:
    return {"type": "tool_search_tool_result_error", "error_code": code}


def _by_pattern(pattern: str, tools: Sequence[Tool]) -> list[Tool]:
    wanted = re.compile(pattern, re.IGNORECASE)
    return [tool for tool in tools if any(wanted.search(text) for text in _texts(tool))]


def _by_words(query: str, tools: Sequence[Tool]) -> list[Tool]:
    words = set(re.findall(r"\w+", query.lower()))
    scores = [(sum(word in " ".join(_texts(tool)).lower() for word in words), tool) for tool in tools]
    ranked = sorted((row for row in scores if row[0]), key=lambda row: -row[0])
    return [tool for _, tool in ranked]


def _texts(tool: Tool) -> Iterator[str]:
    """Name, description, and both of each argument."""
    yield str(tool.get("name"))
    yield str(tool.get("description") or "")
    properties = (tool.get("input_schema") or {}).get("properties")
    for name, value in (properties if isinstance(properties, dict) else {}).items():
        yield name
        yield str(value.get("description") or "") if isinstance(value, dict) else ""
