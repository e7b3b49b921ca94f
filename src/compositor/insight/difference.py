"""Where two request bodies part, whoever made them: the first element that differs and the tokens it costs.

Decides from bodies alone; for our own requests the producers come from spans (`context/explain.py`). Cache markers and scalars are not part of the
comparison: they do not change what is cached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import msgspec
from msgspec import Struct

from compositor.context.tokens import estimate_tokens
from compositor.errors import UsageError


class Element(Struct, frozen=True, kw_only=True):
    """One tool, one system block or one content block: its path, its canonical bytes without markers, and a name people know it by."""

    path: str
    data: bytes
    name: str


class BodyDifference(Struct, frozen=True, kw_only=True):
    """`path` of the first element that differs, `cause` one sentence, `offset` the first differing byte inside the element.

    `shared` and `lost` are estimated tokens: what both begin with, and what the earlier body holds from there on.
    """

    path: str
    cause: str
    offset: int
    shared: int
    lost: int


def body_elements(body: Mapping[str, Any]) -> tuple[Element, ...]:
    """The cached elements of a body in wire order. Raises `UsageError` for a body without the form of one."""
    if not isinstance(body.get("messages"), list):
        raise UsageError("a request body needs a list of 'messages'")
    for region in ("tools", "messages"):
        entries = body.get(region) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise UsageError(f"a request body needs {region} that are objects")
    return (*_tools(body), *_blocks("system", body.get("system") or [], ""), *_messages(body["messages"]))


def compare_bodies(earlier: Sequence[Element], later: Sequence[Element]) -> BodyDifference | None:
    """The first difference; `None` when `later` begins with all of `earlier`."""
    shared = 0
    for position, (one, two) in enumerate(zip_longest(earlier, later)):
        if one is None:
            return None
        if two is not None and one.data == two.data:
            shared += estimate_tokens(one.data)
            continue
        lost = sum(estimate_tokens(element.data) for element in earlier[position:])
        return BodyDifference(path=one.path, cause=_cause(one, two), offset=_offset(one, two), shared=shared, lost=lost)
    return None


def _cause(one: Element, two: Element | None) -> str:
    if two is None:
        return f"{one.name} is gone"
    if one.name != two.name:
        return f"{one.name} became {two.name}"
    return f"{one.name} changed"


def _offset(one: Element, two: Element | None) -> int:
    if two is None:
        return 0
    shorter = min(len(one.data), len(two.data))
    return next((at for at in range(shorter) if one.data[at] != two.data[at]), shorter)


def _tools(body: Mapping[str, Any]) -> Iterator[Element]:
    for index, tool in enumerate(body.get("tools") or []):
        if not tool.get("defer_loading"):
            yield Element(
                path=f"tools[{index}]", data=_bytes(tool), name=f"tool {tool.get('name') or tool.get('type')!r}"
            )


def _messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[Element]:
    for index, message in enumerate(messages):
        yield from _blocks(f"messages[{index}].content", message.get("content") or [], f" of the {message.get('role')}")


def _blocks(path: str, content: Any, owner: str) -> Iterator[Element]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        raise UsageError(f"a request body needs text or a list of blocks at {path!r}")
    for index, block in enumerate(blocks):
        kind = block.get("type", "block") if isinstance(block, dict) else "block"
        where = " in the system prompt" if path == "system" else owner
        yield Element(path=f"{path}[{index}]", data=_bytes(block), name=f"the {kind}{where}")


def _bytes(value: Any) -> bytes:
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != "cache_control"}
    return msgspec.json.encode(value)
