"""The binary event stream in which Bedrock wraps server-sent events (wire page 10).

Decides the bytes of one message: lengths, headers, payload, both checksums. Decides nothing about what is said.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib

_HEADERS = ((":event-type", "chunk"), (":content-type", "application/json"), (":message-type", "event"))
_TEXT = 7


def event_stream(event: bytes) -> bytes:
    """One server-sent event as one message of an AWS event stream."""
    data = event.partition(b"\ndata: ")[2].rstrip(b"\n")
    payload = json.dumps({"bytes": base64.b64encode(data).decode()}).encode()
    headers = b"".join(_header(name, value) for name, value in _HEADERS)
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack(">I", zlib.crc32(body))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return bytes([len(key)]) + key + bytes([_TEXT]) + struct.pack(">H", len(text)) + text
