"""Oversized texts are cut into several blocks, so that a cache marker can stand inside them (R175).

Decides where: behind a line break, or where the limit falls. The blocks joined give the text again, and none of them is blank. Works on what a
user message says itself; results, notes and answers stay whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from compositor.types.blocks import ABSENT, TextBlock
from compositor.types.messages import Part, Role
from compositor.types.provenance import Lane

from .drafts import Draft, Notes, RoundContext

LIMIT = 200_000
"""Characters of one text block."""


def split_oversized(_context: RoundContext, drafts: Sequence[Draft], _notes: Notes) -> Sequence[Draft]:
    """Nothing is lost, so nothing is told."""
    return [_split(draft) if draft.role is Role.USER else draft for draft in drafts]


def _split(draft: Draft) -> Draft:
    pieces = tuple([piece for part in draft.parts for piece in _pieces(part)])
    return draft if len(pieces) == len(draft.parts) else msgspec.structs.replace(draft, parts=pieces)


def _pieces(part: Part) -> Sequence[Part]:
    block = part.block
    if not isinstance(block, TextBlock) or len(block.text) <= LIMIT or block.citations is not ABSENT:
        return (part,)
    if part.origin.lane is not Lane.CONVERSATION:
        return (part,)
    return [Part(TextBlock(text), part.origin) for text in cut(block.text)]


def cut(text: str, limit: int = LIMIT) -> Iterator[str]:
    """`text` in pieces of at most `limit` characters, as far as no piece would be blank."""
    start = 0
    while len(text) - start > limit:
        end = text.rfind("\n", start, start + limit) + 1 or start + limit
        if end <= start or text[start:end].isspace():
            end = start + limit
        if text[start:end].isspace() or text[end:].isspace():
            break
        yield text[start:end]
        start = end
    yield text[start:]
