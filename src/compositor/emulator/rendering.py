"""What of a request stands in front of the model, piece by piece, with its size: the order of tools, system and messages.

Decides what is rendered, what a change of a setting touches (wire page 4.7), and how much a piece counts. Never judges legality and
keeps nothing: entries are `cache.py`.

A piece is one tool, one block of `system` or one block of a message. Its text is its compact JSON without `cache_control`, keys in the
order in which they came; it counts ceil(bytes / bytes_per_token) tokens. Between the regions stand the settings that change what is
rendered: `model` before the tools; `speed`, web tools and document citations before the system; tool choice, thinking,
effort and whether there are images before the messages. A deferred tool is no piece; where it is first referenced it is part of
that piece. A turn-scoped message that was cleared counts nothing, but is still compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from .conversation import Block, as_blocks, blocks_of, inner_blocks, is_cleared, is_result, is_thought

Body = Mapping[str, Any]


class Sight(Struct, frozen=True, kw_only=True):
    """What rendering must know beside the body. `urls`: address to what stands there now. `preamble`: tokens that tools cost."""

    bytes_per_token: int
    keeps_thinking: bool = True
    thinks_unasked: bool | None = None
    default_effort: str | None = None
    preamble: tuple[int, int] = (0, 0)
    urls: Mapping[str, str] = {}


class Piece(Struct, frozen=True, kw_only=True):
    """`text` is compared, `tokens` are counted. `region` is tools, system or messages; `counts`: it is a position of its own."""

    text: bytes
    tokens: int
    region: str
    ttl: str | None = None
    markable: bool = False
    counts: bool = True


def pieces_of(body: Body, sight: Sight) -> Iterator[Piece]:
    """All pieces of a legal body, in the order in which the model reads them."""
    tools = body.get("tools") or ()
    yield _setting("tools", _picked(body, "model"), tokens=_preamble(body, sight) if tools else 0)
    web = [tool for tool in tools if str(tool.get("type")).startswith(("web_search_", "web_fetch_"))]
    for tool in tools:
        if not tool.get("defer_loading") and tool not in web:
            yield _piece("tools", b"tool", tool, sight)
    yield _setting("system", [*_picked(body, "speed"), *map(unmarked, web), _cites(body)])
    for block in as_blocks(body.get("system") or []):
        yield _piece("system", b"system", block, sight)
    yield _setting("messages", _message_settings(body, sight))
    yield from _message_pieces(body, sight)


def _message_pieces(body: Body, sight: Sight) -> Iterator[Piece]:
    messages = body["messages"]
    known = {tool.get("name"): tool for tool in body.get("tools") or () if tool.get("defer_loading")}
    start = _thinking_from(body) if not sight.keeps_thinking else 0
    cleared = [is_cleared(number, messages) for number in range(len(messages))]
    for number, _, role, block in blocks_of(messages):
        if is_thought(block) and number < start:
            continue
        where = role.encode()
        extra = b"".join(compact(unmarked(known.pop(name))) for name in references_of(block) if name in known)
        if messages[number].get("clear_at") == "next_user_message":
            where += b" cleared" if cleared[number] else b" for one turn"
            yield _piece("messages", where, block, sight, counts=not cleared[number], markable=False)
        else:
            yield _piece("messages", where, block, sight, extra=extra)


def _thinking_from(body: Body) -> int:
    """Models that keep the last turn only: thinking before the last message of a person is left out."""
    said = [
        number
        for number, message in enumerate(body["messages"])
        if message["role"] == "user" and not any(map(is_result, as_blocks(message.get("content"))))
    ]
    return said[-1] if said else 0


def references_of(block: Block) -> list[str]:
    """The names of the tools that a block brings into view, in order."""
    if block.get("type") == "tool_addition":
        return [str(block["tool"].get("name"))]
    content = block.get("content")
    listed = content.get("tool_references") if isinstance(content, dict) else None
    found = [*inner_blocks(block), *(listed if isinstance(listed, list) else [])]
    return [
        str(item.get("tool_name")) for item in found if isinstance(item, dict) and item.get("type") == "tool_reference"
    ]


# Setting a parameter to its default equals leaving it out (wire page 4.7).
_DEFAULTS: dict[str, Any] = {"speed": "standard"}


def _picked(body: Body, *names: str) -> list[Any]:
    return [[name, body[name]] for name in names if body.get(name) not in (None, _DEFAULTS.get(name))]


def _message_settings(body: Body, sight: Sight) -> list[Any]:
    choice = {key: value for key, value in (body.get("tool_choice") or {}).items() if value not in (None, False)}
    thinking = body.get("thinking") or {}
    mode = [thinking.get("type"), thinking.get("budget_tokens")]
    if mode[0] == ("adaptive" if sight.thinks_unasked else "disabled" if sight.thinks_unasked is False else None):
        mode = [None, None]
    config = {key: value for key, value in (body.get("output_config") or {}).items() if value is not None}
    if config.get("effort") == sight.default_effort:
        config.pop("effort", None)
    images = any(_has_image(block) for _, _, _, block in blocks_of(body["messages"]))
    return [choice if choice != {"type": "auto"} else {}, mode, config, images]


def _has_image(block: Block) -> bool:
    return block.get("type") == "image" or any(inner.get("type") == "image" for inner in inner_blocks(block))


def _cites(body: Body) -> bool:
    return any(
        isinstance(block.get("citations"), dict) and bool(block["citations"].get("enabled"))
        for _, _, _, block in blocks_of(body["messages"])
    )


def _preamble(body: Body, sight: Sight) -> int:
    return sight.preamble[(body.get("tool_choice") or {}).get("type") in {"any", "tool"}]


def _setting(region: str, values: list[Any], *, tokens: int = 0) -> Piece:
    return Piece(text=compact(values), tokens=tokens, region=region, counts=False)


def _piece(
    region: str,
    where: bytes,
    block: Block,
    sight: Sight,
    *,
    extra: bytes = b"",
    counts: bool = True,
    markable: bool = True,
) -> Piece:
    text = compact(fetched(unmarked(block), sight.urls)) + extra
    marker = block.get("cache_control")
    return Piece(
        text=b"%b\0%b\0" % (where, text),
        tokens=-(-len(text) // sight.bytes_per_token) if counts else 0,
        region=region,
        ttl=str(marker.get("ttl") or "5m") if marker else None,
        markable=markable and region == "messages" and not is_thought(block) and block.get("text") != "",
        counts=counts,
    )


def unmarked(block: Block) -> dict[str, Any]:
    """A block without its markers, those of the blocks inside included."""
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if isinstance(bare.get("content"), list):
        bare["content"] = [unmarked(inner) if isinstance(inner, dict) else inner for inner in bare["content"]]
    return bare


def fetched(block: dict[str, Any], urls: Mapping[str, str]) -> dict[str, Any]:
    """A block whose addresses are followed by what stands there, where the script says so."""
    source = block.get("source")
    if isinstance(source, dict) and isinstance(source.get("url"), str) and source["url"] in urls:
        return {**block, "source": {**source, "stands_there": urls[source["url"]]}}
    if isinstance(block.get("content"), list):
        return {
            **block,
            "content": [fetched(inner, urls) if isinstance(inner, dict) else inner for inner in block["content"]],
        }
    return block


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
