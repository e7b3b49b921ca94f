"""References to large content: what is kept in place, how a reference is made, and how text gets its contents back.

Decides the limit (1,024 bytes), the hash (the first 16 hexadecimal digits of SHA-256) and the order of expansion (from the
last to the first, R351). Reads nothing: contents come in through a function, which is called only for what is needed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

INLINE_LIMIT = 1024
"""Bytes of UTF-8 that a record keeps itself (R348)."""

HASH_LENGTH = 16


class Inline(Struct, frozen=True, tag="inline"):
    text: str


class Reference(Struct, frozen=True, tag="reference"):
    """`hash` names the stored content, `size` is its length in bytes of UTF-8, `lines` in lines."""

    hash: str
    size: int
    lines: int


Pasted: TypeAlias = Inline | Reference


class Draft(Struct, frozen=True, kw_only=True):
    """Text as it was typed, with a mark `[Pasted #1]` for each piece of `pastes` (by its number)."""

    text: str
    pastes: Mapping[int, Pasted] = {}


def keep_or_refer(text: str) -> Pasted:
    """`text` itself up to the limit, else the reference that it is stored under."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= INLINE_LIMIT:
        return Inline(text)
    digest = hashlib.sha256(data).hexdigest()[:HASH_LENGTH]
    return Reference(digest, len(data), text.count("\n") + 1)


def is_reference_hash(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{16}", name) is not None


def mark(number: int) -> str:
    """What stands in the typed text for paste `number`."""
    return f"[Pasted #{number}]"


def expand(draft: Draft, load: Callable[[Reference], str | None]) -> str:
    """The whole text; a content that is not stored any more leaves a visible placeholder (R354).

    Marks are replaced from the last to the first, so that the places of those before stay right and a mark inside a pasted
    text stays as it is.
    """
    text = draft.text
    for found in reversed(list(_MARK.finditer(text))):
        pasted = draft.pastes.get(int(found[1]))
        if pasted is not None:
            text = text[: found.start()] + _content(int(found[1]), pasted, load) + text[found.end() :]
    return text


def references(draft: Draft) -> Iterator[Reference]:
    """The stored contents that the draft names."""
    return (pasted for pasted in draft.pastes.values() if isinstance(pasted, Reference))


def _content(number: int, pasted: Pasted, load: Callable[[Reference], str | None]) -> str:
    if isinstance(pasted, Inline):
        return pasted.text
    content = load(pasted)
    if content is not None:
        return content
    return f"[Pasted #{number}: {pasted.lines} lines, {pasted.size} bytes, not stored any more ({pasted.hash})]"


_MARK = re.compile(r"\[Pasted #(\d{1,9})\]")
