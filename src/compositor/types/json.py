"""JSON as a value: raw bytes that are kept as they came, and text that every encoder takes.

Decides how a JSON fragment is held (`Raw`) and how illegal text is made legal. Never encodes a request body: that is
`context/wire/canonical.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Raw = msgspec.Raw

# A JSON document as Python values. `Any` stands at the leaves on purpose: foreign JSON has no closed shape.
JsonObject = Mapping[str, Any]
JsonArray = Sequence[Any]

EMPTY_OBJECT = Raw(b"{}")

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
# An escaped backslash is consumed first, so that plain text stays what it is; then whole pairs; what is left is lone.
_ESCAPES = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def raw_json(value: object) -> Raw:
    """Encode `value` compactly and keep the bytes. Key order is the order of the mapping."""
    return Raw(msgspec.json.encode(value))


def raw_bytes(raw: Raw) -> bytes:
    """The bytes of `raw`; stable for hashing and comparison (`Raw` itself is unhashable)."""
    return bytes(raw)


def repair_text(text: str) -> str:
    """Make `text` encodable as UTF-8: joined surrogate pairs stay, each lone surrogate becomes U+FFFD (F07).

    The common case (no surrogate) returns the same object.
    """
    if _LONE_SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def decode_json(data: bytes | str) -> Any:
    """Decode JSON that may hold lone surrogates, which `msgspec` refuses and JavaScript writers emit (F07).

    Raises `ValueError` when `data` is no JSON at all.
    """
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        return repair_value(json.loads(text))


def repair_value(value: Any) -> Any:
    """`value` with every string and key repaired by `repair_text`; tuples come back as lists, as JSON has it."""
    if isinstance(value, str):
        return repair_text(value)
    if isinstance(value, (list, tuple)):
        return [repair_value(item) for item in value]
    if isinstance(value, dict):
        return {repair_text(key): repair_value(item) for key, item in value.items()}
    return value


def repair_raw(raw: Raw) -> Raw:
    """`raw` on one line and without lone surrogate escapes; the same object when it is so already.

    Key order, duplicate keys and the spelling of numbers are kept.
    """
    data = bytes(raw)
    if _SURROGATE_ESCAPE.search(data) is not None:
        data = _ESCAPES.sub(lambda escape: b"\\ufffd" if escape["lone"] else escape[0], data)
    if b"\n" in data or b"\r" in data:
        data = msgspec.json.format(data, indent=-1)
    return raw if data == bytes(raw) else Raw(data)
