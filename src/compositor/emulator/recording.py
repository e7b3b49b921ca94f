"""The form in which requests to the stand-in are written down (docs/reference/emulator.md).

Decides the bytes of one record. `compositor check` reads the same form. Never holds a credential and writes no file.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from msgspec import Raw

from .replies import Recorded


def record_bytes(recorded: Recorded, number: int) -> bytes:
    """One JSON document. `body` is the request's body byte for byte; what is no JSON stands as base64 in `body_base64`."""
    request = recorded.request
    record: dict[str, Any] = {
        "number": number,
        "method": request.method,
        "path": request.path,
        "headers": dict(request.headers),
        "status": recorded.status,
    }
    if recorded.refusal is not None:
        record["refusal"] = {"rule": recorded.refusal.rule, "message": recorded.refusal.message}
    if recorded.use is not None:
        record["use"] = recorded.use
    try:
        msgspec.json.decode(request.body)
        record["body"] = Raw(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        record["body_base64"] = base64.b64encode(request.body).decode()
    return msgspec.json.encode(record) + b"\n"
