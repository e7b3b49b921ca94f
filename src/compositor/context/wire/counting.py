"""A request in the form in which its tokens are counted by the service, and the answer (wire page 9.1).

Decides which fields count. The rest keeps its bytes and its order.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from compositor.errors import StreamProtocolError

_UNCOUNTED = ("max_tokens", "stream", "temperature", "metadata", "stop_sequences", "diagnostics")


class _Count(Struct, frozen=True):
    input_tokens: int


def to_counting(body: bytes) -> bytes:
    """The body without the fields that `count_tokens` does not take."""
    fields = msgspec.json.decode(body, type=dict[str, Raw])
    kept = (b'"%b":%b' % (name.encode(), bytes(value)) for name, value in fields.items() if name not in _UNCOUNTED)
    return b"{" + b",".join(kept) + b"}"


def read_count(body: bytes) -> int:
    """The tokens that the service counted. Raises `StreamProtocolError` for an answer that names none."""
    try:
        return msgspec.json.decode(body, type=_Count).input_tokens
    except msgspec.MsgspecError as problem:
        raise StreamProtocolError(f"The answer names no count of tokens: {problem}") from problem
