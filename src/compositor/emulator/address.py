"""What an address means: which of the service's calls, and what of the request travels in it (wire page 10).

Decides nothing about the body but its model, which some platforms write into the address.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from msgspec import Struct

_BEDROCK = re.compile(r".*/model/([^/]+)/invoke(-with-response-stream)?")
_VERTEX = re.compile(r".*/models/([^/:]+):(streamRawPredict|rawPredict)")


class Address(Struct, frozen=True, kw_only=True):
    """`call` is messages, count_tokens, models, model, or empty for what is no call. `stream`: the address alone says it."""

    call: str = ""
    model: str | None = None
    stream: bool | None = None
    aws: bool = False


def read_address(method: str, path: str) -> Address:
    if method == "POST":
        return _posted(path)
    if method == "GET" and path.endswith("/v1/models"):
        return Address(call="models")
    if method == "GET" and "/v1/models/" in path:
        return Address(call="model", model=unquote(path.rpartition("/v1/models/")[2]))
    return Address()


def _posted(path: str) -> Address:
    if path.endswith("/v1/messages"):
        return Address(call="messages")
    if path.endswith("/v1/messages/count_tokens"):
        return Address(call="count_tokens")
    bedrock, vertex = _BEDROCK.fullmatch(path), _VERTEX.fullmatch(path)
    if bedrock:
        return Address(call="messages", model=unquote(bedrock[1]), stream=bool(bedrock[2]), aws=bool(bedrock[2]))
    if vertex and vertex[1] == "count-tokens":
        return Address(call="count_tokens")
    if vertex:
        return Address(call="messages", model=unquote(vertex[1]), stream=vertex[2] == "streamRawPredict")
    return Address()
