"""Whether cache markers may stand where they do: number, order of lifetimes, automatic caching (wire page 3.6).

Decides the refusals of L120 to L135. The form of one marker is `shapes.py`; what markers do is `cache.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .conversation import as_blocks, blocks_of, inner_blocks, is_cleared, is_result, is_thought, path_of
from .grammar import Circumstances
from .refusal import Refusal

Body = Mapping[str, Any]
_MOST = 4


def check_markers(body: Body, given: Circumstances) -> Iterator[Refusal]:
    markers = list(markers_of(body))
    automatic = body.get("cache_control")
    if automatic and not given.profile.automatic_caching:
        yield Refusal(message="cache_control: Extra inputs are not permitted", rule="L135")
    target = automatic_target(body)
    own = target[1] if automatic and target else None
    if automatic and own and own.get("ttl", "5m") != automatic.get("ttl", "5m"):
        yield Refusal(
            message=f"Top-level cache_control has ttl='{automatic.get('ttl', '5m')}' but the target block already has "
            f"ttl='{own.get('ttl', '5m')}'",
            rule="L126",
        )
    # A second marker of the same kind on the same block adds nothing (L127).
    count = len(markers) + bool(automatic and not own)
    if count > _MOST:
        said = f"A maximum of {_MOST} blocks with cache_control may be provided. Found {count}."
        yield Refusal(message=said, rule="L128" if automatic and len(markers) == _MOST else "L120")
    yield from _check_order(markers, automatic, own)


def _check_order(
    markers: list[tuple[str, Mapping[str, Any]]], automatic: Mapping[str, Any] | None, own: Mapping[str, Any] | None
) -> Iterator[Refusal]:
    last = [("", automatic)] if automatic and not own else []
    short = False
    for path, marker in [*markers, *last]:
        if marker.get("ttl", "5m") == "5m":
            short = True
        elif short:
            said = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
            at = f"{path}.cache_control" if path else "cache_control"
            yield Refusal(message=f"{at}.ttl: {said}", rule="L121")


def markers_of(body: Body) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every explicit marker with its path, in the order tools, system, messages."""
    for index, tool in enumerate(body.get("tools") or ()):
        if tool.get("cache_control"):
            yield f"tools.{index}", tool["cache_control"]
    for index, block in enumerate(as_blocks(body.get("system") or [])):
        if block.get("cache_control"):
            yield f"system.{index}", block["cache_control"]
    for number, index, _, block in blocks_of(body["messages"]):
        at = path_of(number, index)
        for inner_index, inner in enumerate(inner_blocks(block) if is_result(block) else ()):
            if inner.get("cache_control"):
                yield f"{at}.content.{inner_index}", inner["cache_control"]
        definition = block["tool"].get("definition") if block["type"] == "tool_addition" else None
        if isinstance(definition, dict) and isinstance(definition.get("cache_control"), dict):
            yield f"{at}.tool.definition", definition["cache_control"]
        if block.get("cache_control"):
            yield at, block["cache_control"]


def automatic_target(body: Body) -> tuple[tuple[int, int], Mapping[str, Any] | None] | None:
    """Where automatic caching puts its marker, as (message, block), and the marker that is there already (L129)."""
    messages = body["messages"]
    for number, index, _, block in reversed(list(blocks_of(messages))):
        scoped = messages[number].get("clear_at") == "next_user_message" or is_cleared(number, messages)
        if not is_thought(block) and block.get("text") != "" and not scoped:
            return (number, index), block.get("cache_control")
    return None
