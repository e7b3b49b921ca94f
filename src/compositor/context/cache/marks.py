"""Where in the messages a marker may stand, and what the prefix up to there is called.

Decides the nearest block that may carry a marker (R255, R258; L43, L89, L122) and names what ends with it, so that the place of a marker, the
forecast and the book of the cache speak of one thing. Found once for each round; costs what the round is long.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from compositor.context.view import ViewState
from compositor.types.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    UnknownBlock,
)
from compositor.types.messages import TURN_SCOPED, Part, Role
from compositor.types.request import Chunk, Head


class Mark(Struct, frozen=True, kw_only=True, gc=False):
    """A block that may carry a marker, and the prefix that ends with it.

    `message` and `blocks` count behind the head's own message, `blocks` through the block itself; `whole`: it is the last of its message. `state`
    is the view up to there, `scoped` the number of turn-scoped messages in it that the model still sees.
    """

    message: int
    block: int
    blocks: int
    whole: bool
    state: ViewState
    scoped: int

    @property
    def digest(self) -> str:
        """The name of the prefix."""
        return f"{self.state.digest}+{self.scoped}" if self.scoped else self.state.digest


class Ahead(Struct, frozen=True, kw_only=True, gc=False):
    """What stands in front of some chunks: the state of the view, and how many messages and blocks behind the head's own.

    `spares_system`: the service refused a marker on a system message, so the ordinary message before it carries the marker (R224).
    """

    head: Head
    view: ViewState
    messages: int
    blocks: int
    spares_system: bool = False


_SYSTEM = Role.SYSTEM
_UNMARKED = (ThinkingBlock, RedactedThinkingBlock, ToolReferenceBlock, UnknownBlock)


def find_mark(ahead: Ahead, chunks: Sequence[Chunk], after: ViewState, *, settled: bool) -> Mark | None:
    """The last block of a round's `chunks` that may carry a marker; `None` where there is none.

    `after` is the view behind them; `settled`: an answer stands behind them.
    """
    if settled and (mark := _mark_at_end(ahead, chunks, after)) is not None:
        return mark
    place = _last_eligible(chunks, spares_system=ahead.spares_system)
    if place is None:
        return None
    offset, block = place
    before, chunk = chunks[:offset], chunks[offset]
    shown = len(chunks) if settled else _shown_from(chunks)
    whole = block == len(chunk.sizes) - 1
    if whole and offset == len(chunks) - 1:
        state = after
    else:
        end = chunk if whole else msgspec.structs.replace(chunk, data=chunk.data[: block_end(chunk, block)])
        state = ahead.view.add((*before, end), ahead.head)
    return Mark(
        message=ahead.messages + offset,
        block=block,
        blocks=ahead.blocks + count_blocks(before, shown=shown) + block + 1,
        whole=whole,
        state=state,
        scoped=sum([is_scoped(one) for one in before[shown:]]) if offset > shown else 0,
    )


def _mark_at_end(ahead: Ahead, chunks: Sequence[Chunk], after: ViewState) -> Mark | None:
    """The mark of nearly every settled round: its very last block, in a message of the user or the model."""
    last = chunks[-1].message if chunks else None
    if last is None or last.role is _SYSTEM or last.clear_at or not last.parts or not may_carry_marker(last.parts[-1]):
        return None
    return Mark(
        message=ahead.messages + len(chunks) - 1,
        block=len(last.parts) - 1,
        blocks=ahead.blocks + count_blocks(chunks),
        whole=True,
        state=after,
        scoped=0,
    )


def block_end(chunk: Chunk, block: int) -> int:
    """The offset behind a block in its message's bytes: blocks are parted by a comma, and the message ends with `]}`."""
    behind = chunk.sizes[block + 1 :]
    return len(chunk.data) - len(b"]}") - sum(behind) - len(behind)


def count_blocks(chunks: Sequence[Chunk], *, shown: int | None = None) -> int:
    """Positions of the service. A turn-scoped message is none unless it stands at or behind chunk `shown`: there the model still sees it (L44)."""
    first = len(chunks) if shown is None else shown
    total = 0
    for offset, chunk in enumerate(chunks):
        if offset >= first or not is_scoped(chunk):
            total += len(chunk.sizes)
    return total


def is_scoped(chunk: Chunk) -> bool:
    """A message that the model sees for one turn only (L43, L44)."""
    return chunk.message is not None and chunk.message.clear_at == TURN_SCOPED


def may_carry_marker(part: Part) -> bool:
    """Whether the block's type takes `cache_control` (wire page 2.2; L89, L122); unknown types are left alone."""
    block = part.block
    if isinstance(block, TextBlock):
        return bool(block.text) and not block.text.isspace()
    return not isinstance(block, _UNMARKED)


def _shown_from(chunks: Sequence[Chunk]) -> int:
    """Behind the last user message: only there a turn-scoped message of an unanswered round is still seen."""
    for offset in range(len(chunks) - 1, -1, -1):
        message = chunks[offset].message
        if message is not None and message.role is Role.USER:
            return offset + 1
    return 0


def _last_eligible(chunks: Sequence[Chunk], *, spares_system: bool) -> tuple[int, int] | None:
    for offset in range(len(chunks) - 1, -1, -1):
        message = chunks[offset].message
        # A turn-scoped message takes no marker (L43).
        if message is None or message.clear_at or (spares_system and message.role is Role.SYSTEM):
            continue
        parts = message.parts
        for block in range(len(parts) - 1, -1, -1):
            if may_carry_marker(parts[block]):
                return offset, block
    return None
