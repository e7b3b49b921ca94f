"""The shapes that input schemas of built-in tools are made of.

Decides how a field is written down. Never decides which fields a tool has.
"""

from __future__ import annotations

from typing import Any

from compositor.types.json import Raw, raw_json


def object_schema(required: tuple[str, ...], /, **properties: dict[str, Any]) -> Raw:
    """The locked bytes of an input schema: these fields and no others."""
    return raw_json(object_shape(required, **properties))


def object_shape(required: tuple[str, ...], /, **properties: dict[str, Any]) -> dict[str, Any]:
    """An object inside a schema."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def text(description: str = "") -> dict[str, Any]:
    return _described({"type": "string"}, description)


def count(description: str = "", **limits: int) -> dict[str, Any]:
    return {**_described({"type": "integer"}, description), **limits}


def flag(description: str = "") -> dict[str, Any]:
    return _described({"type": "boolean"}, description)


def choice(values: tuple[str, ...], description: str = "") -> dict[str, Any]:
    return _described({"type": "string", "enum": list(values)}, description)


def listed(items: dict[str, Any], description: str = "", **limits: int) -> dict[str, Any]:
    return {**_described({"type": "array", "items": items}, description), **limits}


def _described(shape: dict[str, Any], description: str) -> dict[str, Any]:
    return {**shape, "description": description} if description else shape
