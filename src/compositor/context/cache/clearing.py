"""What the service clears by itself before it reads a request (`context_management`), and what that does to prefixes (R273; wire page 4.11, 5.1).

Decides how many of the oldest tool results are gone, by the parameters that are sent. Each request is cleared anew from the whole history, so every
prefix that holds a result which is cleared now and was not before is a new one: its break is forecast, not discovered.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import Any

from msgspec import Raw, Struct

from compositor.types.blocks import RedactedThinkingBlock, ThinkingBlock, ToolResultBlock
from compositor.types.json import decode_json
from compositor.types.messages import Role
from compositor.types.persistent import Rope
from compositor.types.request import Chunk

BYTES, FRAME = 4, 25
"""Bytes of a token, and the tokens that stay of a cleared result: its frame and the service's placeholder."""


class Results(Struct, frozen=True, kw_only=True):
    """Tool results up to some place: how many, and about how many tokens clearing them frees; thoughts likewise.

    `dropped` are the thoughts in front of the last message of a person: a model that keeps those of the last turn only does not see them (wire page
    4.7), and every prefix that holds one is a new one from then on.
    """

    count: int = 0
    tokens: int = 0
    thoughts: int = 0
    thought_tokens: int = 0
    dropped: int = 0
    dropped_tokens: int = 0

    def add(self, chunks: Iterable[Chunk]) -> Results:
        count, tokens = self.count, self.tokens
        thoughts, thought_tokens = self.thoughts, self.thought_tokens
        dropped, dropped_tokens = self.dropped, self.dropped_tokens
        for chunk in chunks:
            before = count
            for part, size in zip(chunk.message.parts, chunk.sizes, strict=True) if chunk.message is not None else ():
                if isinstance(part.block, ToolResultBlock):
                    count += 1
                    tokens += size // BYTES - FRAME
                elif isinstance(part.block, ThinkingBlock | RedactedThinkingBlock):
                    thoughts += 1
                    thought_tokens += size // BYTES
            if count == before and chunk.message is not None and chunk.message.role is Role.USER:
                dropped, dropped_tokens = thoughts, thought_tokens
        return Results(
            count=count,
            tokens=tokens,
            thoughts=thoughts,
            thought_tokens=thought_tokens,
            dropped=dropped,
            dropped_tokens=dropped_tokens,
        )


class Clearing(Struct, frozen=True):
    """The oldest `count` results are cleared, which frees about `tokens`."""

    count: int = 0
    tokens: int = 0


NOTHING = Clearing()


def plan_clearing(asked: Raw | None, settled: Rope[Results], pending: Iterable[Chunk], total: int) -> Clearing:
    """What the service clears of a request of `total` estimated tokens; `settled` are the results through each settled message. Tools that an edit excludes are counted as if they were not."""
    edit = _edit(asked)
    if edit is None:
        return NOTHING
    every = (settled[-1] if len(settled) else Results()).add(pending)
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": 100_000}
    size = every.count if trigger["type"] == "tool_uses" else total
    count = every.count - (edit.get("keep") or {"value": 3})["value"]
    if size < trigger["value"] or count <= 0:
        return NOTHING
    tokens = cleared_before(settled, count)
    least = (edit.get("clear_at_least") or {"value": 0})["value"]
    return Clearing(count, tokens) if tokens >= least else NOTHING


def cleared_before(settled: Rope[Results], count: int) -> int:
    """Estimated tokens that the oldest `count` results free, to the message."""
    number = bisect.bisect_right(range(len(settled)), count, key=lambda at: settled[at].count)
    return settled[number - 1].tokens if number else 0


def _edit(asked: Raw | None) -> dict[str, Any] | None:
    edits = decode_json(bytes(asked)).get("edits") if asked is not None else None
    found = (
        [edit for edit in edits if edit.get("type") == "clear_tool_uses_20250919"] if isinstance(edits, list) else []
    )
    return found[0] if found else None
