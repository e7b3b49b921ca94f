"""The prompt cache of the stand-in (wire page 4): which prefix is read, which is written, what each costs in tokens.

Decides hits, writes and lifetimes from the body alone. Never judges legality.

The model of it. A request is a row of positions: each tool, each block of `system`, each block of each message, in this order;
deferred tools are no position. Between the regions stand the settings that change what is rendered: `model`
before the tools, `speed` before the system, `tool_choice`, `thinking` and `output_config` before the messages (wire page 4.7). A position's text is its compact JSON without `cache_control`, keys in the order in which they
came; it counts ceil(bytes / bytes_per_token) tokens. The name of a prefix is a digest over its positions. A marker writes one
entry under the name of the prefix that ends with it; a read looks at most `LOOKBACK` positions back from each marker, itself
included, for a name that an earlier request wrote. Automatic caching marks the last block that may carry a marker.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

LOOKBACK = 20
SECONDS = {"5m": 300.0, "1h": 3600.0}


class Position(Struct, frozen=True):
    """The end of one prefix. `tokens` counts everything up to here; `ttl` is set where a marker stands."""

    digest: str
    tokens: int
    ttl: str | None


class CacheEntry(Struct, frozen=True):
    tokens: int
    ttl: str
    expires: float


class CacheUse(Struct, frozen=True, kw_only=True):
    """What one request did, in tokens. `fresh` stands behind the last marker or is too short to be kept."""

    read: int
    written_5m: int
    written_1h: int
    fresh: int


class PromptCache(Struct, frozen=True):
    """The entries that were written. A value: `use` gives the next one."""

    entries: Mapping[str, CacheEntry] = {}

    def use(self, positions: tuple[Position, ...], *, minimum: int, now: float) -> tuple[CacheUse, PromptCache]:
        """Read and write for one request that begins at `now` (seconds). Lifetimes count from there (wire page 4.4)."""
        live = {digest: entry for digest, entry in self.entries.items() if entry.expires > now}
        marked = [index for index, position in enumerate(positions) if position.ttl and position.tokens >= minimum]
        hit = _highest_hit(positions, marked, live)
        read = positions[hit].tokens if hit is not None else 0
        last_1h = max((positions[index].tokens for index in marked if positions[index].ttl == "1h"), default=0)
        last = max((positions[index].tokens for index in marked), default=0)
        written_1h = max(last_1h - read, 0)
        written_5m = max(last - max(last_1h, read), 0)
        touched = [*marked, *(() if hit is None else (hit,))]
        kept = {positions[index].digest: _kept(positions[index], live, now) for index in touched}
        total = positions[-1].tokens if positions else 0
        use = CacheUse(
            read=read, written_5m=written_5m, written_1h=written_1h, fresh=total - read - written_1h - written_5m
        )
        return use, PromptCache({**live, **kept})


def positions_of(body: Mapping[str, Any], *, bytes_per_token: int) -> tuple[Position, ...]:
    """The positions of a legal request body, with automatic caching made explicit."""
    pieces = list(_pieces(body))
    automatic = body.get("cache_control")
    if automatic:
        target = max((index for index, piece in enumerate(pieces) if piece.markable), default=None)
        if target is not None and pieces[target].ttl is None:
            pieces[target] = structs.replace(pieces[target], ttl=_ttl(automatic))
    digest = hashlib.sha256()
    tokens = 0
    positions: list[Position] = []
    for piece in pieces:
        digest.update(piece.text)
        tokens += -(-piece.size // bytes_per_token)
        if piece.counts:
            positions.append(Position(digest.hexdigest(), tokens, piece.ttl))
    return tuple(positions)


class _Piece(Struct, frozen=True):
    text: bytes
    size: int
    ttl: str | None = None
    markable: bool = False
    counts: bool = True


def _pieces(body: Mapping[str, Any]) -> Iterator[_Piece]:
    yield _setting(body, "model")
    for tool in body.get("tools") or ():
        if not tool.get("defer_loading"):
            yield _piece(b"tool", tool)
    yield _setting(body, "speed")
    for block in as_blocks(body.get("system") or []):
        yield _piece(b"system", block)
    yield _setting(body, "tool_choice", "thinking", "output_config")
    for message in body["messages"]:
        for block in as_blocks(message["content"]):
            yield _piece(message["role"].encode(), block)


def as_blocks(content: str | list[Any]) -> list[Any]:
    """The list form of `content`: a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


# Setting a parameter to its default equals leaving it out (wire page 4.7).
_DEFAULTS: dict[str, Any] = {"speed": "standard", "tool_choice": {"type": "auto"}, "output_config": {}}


def _setting(body: Mapping[str, Any], *names: str) -> _Piece:
    set_values = [[name, body[name]] for name in names if body.get(name) not in (None, _DEFAULTS.get(name))]
    return _Piece(_compact(set_values), 0, counts=False)


def _piece(where: bytes, block: Mapping[str, Any]) -> _Piece:
    text = _compact(_unmarked(block))
    markable = block.get("type") not in ("thinking", "redacted_thinking") and block.get("text") != ""
    marker = block.get("cache_control")
    return _Piece(b"%b\0%b\0" % (where, text), len(text), _ttl(marker) if marker else None, markable=markable)


def _unmarked(block: Mapping[str, Any]) -> dict[str, Any]:
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if isinstance(bare.get("content"), list):
        bare["content"] = [_unmarked(inner) if isinstance(inner, dict) else inner for inner in bare["content"]]
    return bare


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _ttl(marker: Mapping[str, Any]) -> str:
    return str(marker.get("ttl") or "5m")


def _highest_hit(positions: tuple[Position, ...], marked: list[int], live: Mapping[str, CacheEntry]) -> int | None:
    seen = {index for marker in marked for index in range(max(marker - LOOKBACK + 1, 0), marker + 1)}
    return max((index for index in seen if positions[index].digest in live), default=None)


def _kept(position: Position, live: Mapping[str, CacheEntry], now: float) -> CacheEntry:
    """A hit renews an entry for its own lifetime; a marker without one writes it."""
    entry = live.get(position.digest)
    ttl = entry.ttl if entry else position.ttl or "5m"
    return CacheEntry(tokens=position.tokens, ttl=ttl, expires=now + SECONDS[ttl])
