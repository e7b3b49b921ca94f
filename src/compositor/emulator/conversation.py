"""How messages are read: strings as blocks, consecutive messages of a role as one turn, paths of blocks.

Decides nothing about legality or cost; everything here holds for bodies whose form was already checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

Block: TypeAlias = Mapping[str, Any]
Message: TypeAlias = Mapping[str, Any]


class Turn(Struct, frozen=True):
    """Messages of one role side by side (L04). `places` has (message, block) for each of `blocks`."""

    role: str
    blocks: list[Block]
    places: list[tuple[int, int]]


def as_blocks(content: str | list[Any] | None) -> list[Any]:
    """The list form of `content`: a string is one text block, an empty one is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content or []


def blocks_of(messages: Sequence[Message]) -> Iterator[tuple[int, int, str, Block]]:
    """(message, block, role, block itself), in order."""
    for number, message in enumerate(messages):
        for index, block in enumerate(as_blocks(message.get("content"))):
            yield number, index, message["role"], block


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """The turns as the service joins them; system messages are turns of their own."""
    turns: list[Turn] = []
    for number, message in enumerate(messages):
        blocks = as_blocks(message.get("content"))
        if not turns or turns[-1].role != message["role"]:
            turns.append(Turn(message["role"], [], []))
        turns[-1].blocks.extend(blocks)
        turns[-1].places.extend((number, index) for index in range(len(blocks)))
    return turns


def is_result(block: Block) -> bool:
    """A result of the client's own tools."""
    return block.get("type") == "tool_result"


def is_server_result(block: Block) -> bool:
    kind = str(block.get("type"))
    return kind.endswith("_tool_result")


def is_cleared(number: int, messages: Sequence[Message]) -> bool:
    """A turn-scoped system message behind which a user message stands: kept in the list, no longer shown (L44)."""
    return messages[number].get("clear_at") == "next_user_message" and any(
        later["role"] == "user" for later in messages[number + 1 :]
    )


def is_thought(block: Block) -> bool:
    return block.get("type") in {"thinking", "redacted_thinking"}


def inner_blocks(block: Block) -> list[Block]:
    """The blocks inside a result, where it has any."""
    content = block.get("content")
    return [inner for inner in content if isinstance(inner, dict)] if isinstance(content, list) else []


def path_of(number: int, index: int) -> str:
    return f"messages.{number}.content.{index}"
