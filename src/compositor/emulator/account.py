"""What the service remembers between requests: cache entries, fingerprints, rate limits, what stood at an address.

Decides which requests share a cache (wire page 4.9) and what an answer's usage says. Judges nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .binding import Origin
from .cache import CacheUse, PromptCache, positions_of
from .conversation import blocks_of, inner_blocks, is_server_result
from .diagnosis import Fingerprint, diagnose, fingerprint
from .limits import Levels, Limits
from .profile import ServiceProfile
from .rendering import Sight

Body = Mapping[str, Any]


class Account:
    """All state of the stand-in but the place in the script. Scopes are digests, so that no credential is kept."""

    def __init__(self, limits: Limits, urls: Mapping[str, Sequence[str]]) -> None:
        self.limits = limits
        self.levels = Levels.full(limits)
        self._urls = urls
        self._fetched: dict[str, int] = {}
        self._caches: dict[str, PromptCache] = {}
        self._fingerprints: dict[tuple[str, str], Fingerprint] = {}

    def fetch(self, body: object) -> dict[str, str]:
        """What stands at the addresses that a body names; each request that names one looks once."""
        named = {url for url in _urls_in(body) if url in self._urls}
        found: dict[str, str] = {}
        for url in sorted(named):
            count = self._fetched.get(url, 0)
            found[url] = self._urls[url][min(count, len(self._urls[url]) - 1)]
            self._fetched[url] = count + 1
        return found

    def use(
        self, scope: str, body: Body, sight: Sight, profile: ServiceProfile, *, now: float, latency: float
    ) -> CacheUse:
        """Read and write the cache for the body as the model sees it."""
        cache = self._caches.get(scope, PromptCache())
        positions = positions_of(body, sight=sight)
        use, self._caches[scope] = cache.use(positions, minimum=profile.cache_minimum, now=now, latency=latency)
        return use

    def diagnose(
        self, scope: str, body: Body, sight: Sight, betas: frozenset[str], answer: str
    ) -> Mapping[str, Any] | None:
        """The `diagnostics` of an answer with the id `answer`. Keeps the fingerprint when the request opted in."""
        asked = body.get("diagnostics")
        if asked is None:
            return None
        now = fingerprint(body, sight, betas)
        self._fingerprints[scope, answer] = now
        previous = asked.get("previous_message_id")
        if previous is None:
            return None
        reason = diagnose(self._fingerprints.get((scope, previous)), now)
        return None if reason is None else {"cache_miss_reason": reason}


def scope_of(headers: Mapping[str, str], isolation: str) -> str:
    """Who shares a cache: a workspace of an organization, or the whole organization."""
    workspace = headers.get("anthropic-workspace-id", "") if isolation == "workspace" else ""
    return hashlib.sha256(f"{account_of(headers)}\0{workspace}".encode()).hexdigest()


def account_of(headers: Mapping[str, str]) -> str:
    """An organization is its key; requests without one are of one organization."""
    key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sight_of(profile: ServiceProfile, urls: Mapping[str, str]) -> Sight:
    return Sight(
        bytes_per_token=profile.bytes_per_token,
        keeps_thinking=profile.keeps_thinking,
        thinks_unasked=profile.thinks_unasked,
        default_effort=profile.default_effort,
        preamble=profile.tool_preamble,
        urls=urls,
    )


def origin_of(body: Body, headers: Mapping[str, str], urls: Mapping[str, str]) -> Origin:
    return Origin(model=body["model"], account=account_of(headers), urls=urls)


def with_server_results(body: Body, content: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The conversation up to the last server result of an answer, marked there; `None` when nothing is to be marked.

    When server tools run and any marker exists, the service adds one of five minutes of its own (wire page 4.6).
    """
    last = max((index for index, block in enumerate(content) if is_server_result(block)), default=None)
    if last is None or not _is_marked(body):
        return None
    marked = {**content[last], "cache_control": {"type": "ephemeral"}}
    message = {"role": "assistant", "content": [*content[:last], marked]}
    bare = {key: value for key, value in body.items() if key != "cache_control"}
    return {**bare, "messages": [*body["messages"], message]}


def usage_of(use: CacheUse, content: Sequence[Mapping[str, Any]], profile: ServiceProfile) -> dict[str, Any]:
    """The usage fields of an answer (wire page 4.6)."""
    thinking = [block for block in content if block["type"] == "thinking"]
    searches = sum(block.get("name") == "web_search" for block in content if block["type"] == "server_tool_use")
    fetches = sum(block.get("name") == "web_fetch" for block in content if block["type"] == "server_tool_use")
    usage: dict[str, Any] = {
        **input_usage(use),
        "output_tokens": spoken(content, profile),
        "output_tokens_details": {"thinking_tokens": spoken(thinking, profile)},
        "service_tier": "standard",
    }
    if searches or fetches:
        usage["server_tool_use"] = {"web_search_requests": searches, "web_fetch_requests": fetches}
    return usage


def input_usage(use: CacheUse) -> dict[str, Any]:
    return {
        "input_tokens": use.fresh,
        "cache_creation_input_tokens": use.written_5m + use.written_1h,
        "cache_read_input_tokens": use.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": use.written_5m,
            "ephemeral_1h_input_tokens": use.written_1h,
        },
    }


def spoken(content: Sequence[Mapping[str, Any]], profile: ServiceProfile) -> int:
    """Output tokens: the bytes of the blocks, without seals."""
    bare = [{key: value for key, value in block.items() if key not in _SEALS} for block in content]
    size = len(json.dumps(bare, ensure_ascii=False).encode("utf-8", "surrogatepass")) if bare else 0
    return -(-size // profile.bytes_per_token)


_SEALS = ("signature", "encrypted_content")


def _is_marked(body: Body) -> bool:
    rows = [*(body.get("tools") or ()), *(body.get("system") or ()), *(row[3] for row in blocks_of(body["messages"]))]
    return bool(body.get("cache_control")) or any(isinstance(row, dict) and row.get("cache_control") for row in rows)


def _urls_in(body: object) -> list[str]:
    """Every address of an image or document, wherever it stands; the body may have any form."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return []
    found: list[str] = []
    for message in body["messages"]:
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict):
                found += [url for row in (block, *inner_blocks(block)) if isinstance(url := _url(row), str)]
    return found


def _url(block: Mapping[str, Any]) -> object:
    source = block.get("source")
    return source.get("url") if isinstance(source, dict) else None
