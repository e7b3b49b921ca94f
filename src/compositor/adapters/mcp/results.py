"""From what a server sends to what the model reads.

Decides how each kind of MCP content is shown. A result that is too large goes to a file as a whole, never away (F40).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from compositor.adapters.tools.images import read_image
from compositor.adapters.tools.output import keep_text
from compositor.adapters.tools.results import Problem
from compositor.context.tools.limits import kind_of, preview, tokens_of
from compositor.types.blocks import ResultContent, TextBlock
from compositor.types.json import raw_json, repair_text, repair_value
from compositor.types.tools import Concurrency, ToolDefinition, ToolOrigin

if TYPE_CHECKING:
    import mcp_types

MAX_TEXT: Final = 2_048
"""Bytes of a tool's description, or of a server's instructions, that reach the model (project-conventions 7.2)."""

LARGEST_CHARACTERS: Final = 500_000
"""The highest limit a tool may set for itself, in characters."""

_ALWAYS_LOAD: Final = "anthropic/alwaysLoad"
_MAX_CHARACTERS: Final = "anthropic/maxResultSizeChars"


def definition_of(tool: mcp_types.Tool, server: str) -> ToolDefinition:
    """A server's tool under its real name, deferred. The schema is as the server gave it."""
    hints = tool.annotations
    is_read_only = hints is not None and hints.read_only_hint is True
    return ToolDefinition(
        name=real_name(server, tool),
        description=cut_bytes(repair_text(tool.description or tool.title or ""), MAX_TEXT),
        input_schema=raw_json(repair_value(tool.input_schema)),
        origin=ToolOrigin.MCP,
        concurrency=Concurrency.SHARED if is_read_only else Concurrency.EXCLUSIVE,
        read_only=is_read_only,
        deferred=True,
    )


def real_name(server: str, tool: mcp_types.Tool) -> str:
    """The name that rules see (project-conventions 7.2); it need not be a legal one."""
    return f"mcp__{server}__{repair_text(tool.name)}"


def always_loads(tool: mcp_types.Tool) -> bool:
    """Whether the tool asks to stay out of deferral."""
    return bool(tool.meta) and (tool.meta or {}).get(_ALWAYS_LOAD) is True


def own_limit(tool: mcp_types.Tool) -> int | None:
    """The tool's own limit for its results in characters."""
    value = (tool.meta or {}).get(_MAX_CHARACTERS)
    return min(value, LARGEST_CHARACTERS) if isinstance(value, int) and value > 0 else None


def text_of(content: Iterable[Any]) -> str:
    """All text of a result, as one; what is no text is named."""
    return "\n".join(
        block.text if isinstance(block, TextBlock) else "[An image that cannot be shown here.]"
        for block in blocks_of(content)
    )


def blocks_of(content: Iterable[Any]) -> tuple[ResultContent, ...]:
    """The blocks of a result. Neighboring texts stay apart: a server may mean them so."""
    return tuple(_block(part) for part in content)


def limited(
    blocks: tuple[ResultContent, ...], *, folder: str, name: str, tokens: int, characters: int | None
) -> tuple[str | tuple[ResultContent, ...], str | None]:
    """The content with a long text in a file instead, and that file. `characters` is the tool's own limit and wins over `tokens`."""
    text = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
    others = tuple(block for block in blocks if not isinstance(block, TextBlock))
    is_long = len(text) > characters if characters is not None else tokens_of(text) > tokens
    path = None
    if is_long:
        kept = keep_text(folder, name, text)
        text, path = preview(text, kind_of(text), kept), kept.path
    if not others:
        return text, path
    return (*((TextBlock(text),) if text else ()), *others), path


def cut_bytes(text: str, limit: int) -> str:
    """`text` in at most `limit` bytes of UTF-8, cut between characters."""
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode("utf-8", "ignore") + "…"


def _block(part: Any) -> ResultContent:
    match part.type:
        case "text":
            return TextBlock(repair_text(part.text))
        case "image":
            return _image(part.data, part.mime_type)
        case "resource":
            return _resource(part.resource)
        case "resource_link":
            about = f": {part.description}" if part.description else ""
            return TextBlock(repair_text(f"[Resource {part.uri} ({part.mime_type or 'unknown type'}){about}]"))
        case other:
            return TextBlock(f"[A part of the type {other!r} cannot be shown.]")


def _resource(resource: Any) -> ResultContent:
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return TextBlock(repair_text(f"[Resource {resource.uri}]\n{text}"))
    media = resource.mime_type or "unknown type"
    return _image(resource.blob, media) if media.startswith("image/") else _binary(resource.blob, media, resource.uri)


def _image(data: str, media: str) -> ResultContent:
    try:
        found = read_image(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return TextBlock(f"[An image of the type {media!r} that is no valid base64.]")
    if isinstance(found, Problem):
        return TextBlock(f"[An image of the type {media!r} cannot be shown: {found.message}.]")
    return found.content[0]


def _binary(data: str, media: str, uri: str) -> TextBlock:
    return TextBlock(f"[Resource {uri} of the type {media!r}, about {len(data) * 3 // 4:,} bytes, cannot be shown.]")


def structured_of(result: mcp_types.CallToolResult, path: str | None) -> dict[str, Any]:
    """The machine-readable result: what the server gave as such, and the file of a long text."""
    found: dict[str, Any] = {"isError": bool(result.is_error)}
    if result.structured_content is not None:
        found["structuredContent"] = json.loads(json.dumps(result.structured_content))
    if path is not None:
        found["persistedOutputPath"] = path
    return found
