"""Why the cache could not reuse what an earlier request had: the `diagnostics` field (wire page 4.8).

Decides the earliest divergence between two requests of one scope. Keeps digests only, never content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from msgspec import Struct

from .rendering import Sight, pieces_of

Body = Mapping[str, Any]


class Fingerprint(Struct, frozen=True, kw_only=True):
    """One request as digests. `messages` has (digest, tokens) for each piece."""

    model: str
    tools: str
    system: str
    settings: str
    messages: tuple[tuple[str, int], ...]
    sizes: tuple[int, int]

    @property
    def tokens(self) -> int:
        return sum(self.sizes) + sum(size for _, size in self.messages)


def fingerprint(body: Body, sight: Sight, betas: frozenset[str]) -> Fingerprint:
    regions = {name: list(rows) for name, rows in groupby(pieces_of(body, sight), key=lambda piece: piece.region)}
    tools, system, messages = (regions.get(name, []) for name in ("tools", "system", "messages"))
    # The settings that stand at the head of each region are compared on their own.
    settings = [
        system[0].text.replace(b'["speed","fast"]', b""),
        messages[0].text,
        *sorted(name.encode() for name in betas),
    ]
    return Fingerprint(
        model=_digest([str(body["model"]).encode(), str(body.get("speed") or "standard").encode()]),
        tools=_digest([piece.text for piece in tools[1:]]),
        system=_digest([piece.text for piece in system[1:]]),
        settings=_digest(settings),
        messages=tuple((_digest([piece.text]), piece.tokens) for piece in messages[1:]),
        sizes=(sum(piece.tokens for piece in tools), sum(piece.tokens for piece in system)),
    )


def diagnose(then: Fingerprint | None, now: Fingerprint) -> Mapping[str, Any] | None:
    """The `cache_miss_reason`; `None` when the later request only goes on where the earlier one ended."""
    if then is None:
        return {"type": "previous_message_not_found"}
    if then.model != now.model:
        return _missed("model_changed", then.tokens)
    if then.tools != now.tools:
        return _missed("tools_changed", then.tokens)
    if then.system != now.system:
        return _missed("system_changed", then.tokens - then.sizes[0])
    same = sum(1 for _ in _same(then, now))
    if same < len(then.messages):
        return _missed("messages_changed", sum(size for _, size in then.messages[same:]))
    return {"type": "unavailable"} if then.settings != now.settings else None


def _same(then: Fingerprint, now: Fingerprint) -> Any:
    for (before, _), (after, _) in zip(then.messages, now.messages, strict=False):
        if before != after:
            return
        yield before


def _missed(kind: str, tokens: int) -> Mapping[str, Any]:
    return {"type": kind, "cache_missed_input_tokens": tokens}


def _digest(parts: list[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8) + part)
    return digest.hexdigest()[:24]
