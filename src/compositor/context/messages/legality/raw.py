"""Raw JSON inside typed blocks, decoded without ever raising.

Decides nothing. `None` stands for what cannot be decoded; whoever judges text reports the reason.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import msgspec
from msgspec import Raw

from compositor.types.blocks import UnknownBlock


def has_value(raw: object) -> TypeGuard[Raw | bytes]:
    """Whether an optional fragment is there and is more than null."""
    return isinstance(raw, Raw | bytes) and bytes(raw) not in {b"", b"null"}


def decode_raw(raw: Raw | bytes | None) -> Any:
    """The value of a JSON fragment; `None` for no fragment or an unreadable one."""
    if not has_value(raw):
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def as_json(block: object) -> Any:
    """A block as decoded JSON; `None` where it cannot be encoded."""
    if isinstance(block, UnknownBlock):
        return decode_raw(block.raw)
    try:
        return decode_raw(msgspec.json.encode(block))
    except UnicodeEncodeError:
        return None


def has_lone_surrogate(text: str) -> bool:
    """Whether `text` cannot be encoded as UTF-8 (F07). Ask `isascii` first: it costs nothing."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
