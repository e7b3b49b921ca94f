"""The framing of the Language Server Protocol: headers, a blank line, one JSON message of a known length.

Decides what is one message. Never decides what it means.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from compositor.errors import ToolServerError
from compositor.types.json import decode_json

MAX_MESSAGE: Final = 64 * 1024 * 1024
"""Bytes of one message; a longer one is a fault of the server."""

_MAX_HEADERS: Final = 16 * 1024
_END: Final = b"\r\n\r\n"


def encode_message(message: dict[str, Any]) -> bytes:
    body = msgspec.json.encode({"jsonrpc": "2.0", **message})
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class MessageReader:
    """Takes bytes as they come and gives whole messages. Amortized cost: the bytes."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._wanted: int | None = None

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete now. Raises `ToolServerError` for what is no message."""
        self._data += data
        found: list[dict[str, Any]] = []
        while (body := self._next()) is not None:
            found.append(_message(body))
        return found

    def _next(self) -> bytes | None:
        if self._wanted is None:
            end = self._data.find(_END)
            if end < 0:
                if len(self._data) > _MAX_HEADERS:
                    raise ToolServerError("its headers do not end")
                return None
            self._wanted = _length(bytes(self._data[:end]))
            del self._data[: end + len(_END)]
        if len(self._data) < self._wanted:
            return None
        body = bytes(self._data[: self._wanted])
        del self._data[: self._wanted]
        self._wanted = None
        return body


def _length(headers: bytes) -> int:
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
            if length <= MAX_MESSAGE:
                return length
            raise ToolServerError(f"a message of {length:,} bytes is too long")
    raise ToolServerError("a message without a length")


def _message(body: bytes) -> dict[str, Any]:
    try:
        message = decode_json(body)
    except (ValueError, RecursionError) as problem:
        raise ToolServerError("a message that is no JSON") from problem
    if not isinstance(message, dict):
        raise ToolServerError("a message that is no object")
    return message
