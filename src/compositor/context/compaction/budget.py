"""How much of the window a conversation may fill before it is compacted.

Decides the sums: window minus what an answer needs minus the room in which a summary is written (R384, F26), and how large the next request is taken for.
"""

from __future__ import annotations

from msgspec import Struct

from compositor.config.compaction import CompactionChoice
from compositor.context.prefix import Prefix
from compositor.context.tokens import estimate_tokens
from compositor.types.entries import AssistantEntry

SUMMARY_ROOM = 20_000
"""Tokens kept free for the request that asks for a summary: its instructions and what it answers."""

SMALLEST_SUMMARY = 2_000
"""Tokens that a summary gets in a window too small for `SUMMARY_ROOM`."""


class Budget(Struct, frozen=True, kw_only=True):
    """All in tokens. `output` is the cap of an ordinary answer, `summary` the room for a summary.

    `share` lowers the start of automatic compaction to a part of what is usable; `automatic` turns it off, `allowed` turns off every
    compaction.
    """

    window: int
    output: int
    summary: int = SUMMARY_ROOM
    share: float = 1.0
    automatic: bool = True
    allowed: bool = True

    @property
    def usable(self) -> int:
        """What a request may hold so that an answer, and a summary after it, still fit."""
        return max(self.window - self.output - self.summary, 0)

    @property
    def start(self) -> int:
        """The size at which compaction starts by itself."""
        return int(self.usable * min(max(self.share, 0.0), 1.0))

    def is_due(self, tokens: int) -> bool:
        """Whether a request of `tokens` is to be compacted without anybody asking for it."""
        return self.allowed and self.automatic and tokens >= self.start

    def fits(self, tokens: int) -> bool:
        """Whether a request of `tokens` leaves room for an answer at all."""
        return tokens + self.output <= self.window


def plan_budget(window: int, output: int, choice: CompactionChoice = CompactionChoice()) -> Budget:  # noqa: B008  (a frozen value)
    """The budget of a session with a window and an output cap of so many tokens.

    What was chosen can only lower it (project-conventions 10.5). In a small window the room for a summary shrinks to a tenth of it.
    """
    size = min(window, choice.window or window)
    return Budget(
        window=size,
        output=min(output, size // 2),
        summary=min(SUMMARY_ROOM, max(size // 10, SMALLEST_SUMMARY)),
        share=1.0 if choice.percent is None else choice.percent / 100,
        automatic=choice.automatic,
        allowed=choice.allowed,
    )


def next_size(prefix: Prefix, scale: float = 1.0, margin: float = 1.0) -> int:
    """About how many tokens the next request has: what the last answer reported, and what came behind it.

    `margin` goes on what is only estimated behind a reported size: with `tokens.MARGIN` the sum is an upper bound. Costs the tail; where the last answer was made under another prefix, or reported nothing, all is counted.
    """
    last = prefix.tail.entries[0] if prefix.tail.entries else None
    is_here = isinstance(last, AssistantEntry) and last.prefix_digest == prefix.view.digest
    if isinstance(last, AssistantEntry) and is_here and last.usage is not None and last.usage.total_input:
        new = sum(estimate_tokens(chunk.data, scale) for chunk in prefix.tail.chunks[1:])
        return last.usage.total_input + last.usage.output_tokens + round(margin * new)
    return fixed_size(prefix, scale) + sum(
        estimate_tokens(chunk.data, scale) for chunk in (*prefix.settled, *prefix.tail.chunks)
    )


def fixed_size(prefix: Prefix, scale: float = 1.0) -> int:
    """Tokens of what no compaction touches: tools, system prompt and user context."""
    head = prefix.head
    context = () if head.context is None else (head.context,)
    return sum(estimate_tokens(chunk.data, scale) for chunk in (*head.tools, *head.system, *context))
