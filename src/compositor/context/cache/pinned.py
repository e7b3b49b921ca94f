"""Edits of the service's cache by tool call: which old results it is told to forget, the same ones in every later request (R272 to R275).

Decides the pins: a call that was named once stays named until a reset event, in the order in which it was first named, so that the field's bytes only grow
at their end. Sent only where a model's profile declares such an edit; no shipped profile does, since the public interface takes parameters
and no ids (`cache_choices.edits_body`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Raw, Struct

from compositor.types.blocks import ToolResultBlock
from compositor.types.json import raw_json
from compositor.types.request import Chunk

EDIT_TYPE = "delete_tool_results"
"""The name under which a profile would declare it among its `edits`."""


class PinnedEdits(Struct, frozen=True):
    """A value: `pin` gives the next one. `calls` are ids of tool calls, oldest pin first."""

    calls: tuple[str, ...] = ()

    def pin(self, settled: Iterable[Chunk], keep_recent: int) -> PinnedEdits:
        """The pins with every settled result but the newest `keep_recent`. Nothing that is pinned is ever taken away."""
        results = [
            part.block.tool_use_id
            for chunk in settled
            if chunk.message is not None
            for part in chunk.message.parts
            if isinstance(part.block, ToolResultBlock)
        ]
        old = results[: max(len(results) - keep_recent, 0)]
        return PinnedEdits(tuple(dict.fromkeys((*self.calls, *old))))

    def directive(self, declared: Sequence[str]) -> Raw | None:
        """The body of `context_management`, `None` where the profile declares no such edit or nothing is pinned. Messages stay as they are (R274)."""
        if EDIT_TYPE not in declared or not self.calls:
            return None
        return raw_json({"edits": [{"type": EDIT_TYPE, "tool_use_ids": list(self.calls)}]})
