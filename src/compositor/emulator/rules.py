"""Whether the documented service would take a request: envelope, tools and cache markers; messages are in `message_rules.py`.

Decides the first refusal, in the order of `check_request`. Written from the wire page alone (rules L01 to L135), apart from the
product's own rules, so that one checks the other. Only what the wire page can tell is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .cache import as_blocks
from .message_rules import check_messages
from .profile import ServiceProfile
from .refusal import Refusal

Body = Mapping[str, Any]


def check_request(body: object, headers: Mapping[str, str], profile: ServiceProfile) -> Refusal | None:
    """The refusal of a parsed body, or `None` when it would be taken. `headers` has lower-case names."""
    if not isinstance(body, dict):
        return Refusal(message="Input should be a valid dictionary")
    return next(_refusals(body, headers, profile), None)


def _refusals(body: Body, headers: Mapping[str, str], profile: ServiceProfile) -> Iterator[Refusal]:
    betas = _betas(headers)
    yield from _check_headers(headers, betas, profile)
    yield from _check_keys(body, headers, betas)
    yield from _check_scalars(body, profile)
    yield from _check_tools(body)
    yield from _check_system(body)
    yield from check_messages(body, headers, profile)
    yield from _check_markers(body)
    yield from _check_thinking(body)


_KEYS = frozenset(
    {
        "model", "max_tokens", "messages", "system", "tools", "tool_choice", "cache_control", "thinking", "output_config",
        "stop_sequences", "stream", "metadata", "service_tier", "speed", "inference_geo", "container", "diagnostics",
    }
)  # fmt: skip
_KEYS_BY_BETA = {
    "context_management": ("context-management-2025-06-27", "compact-2026-01-12"),
    "compaction": ("compact-2026-09-04",),
    "mcp_servers": ("mcp-client-2025-11-20", "mcp-client-2026-09-15"),
    "fallbacks": ("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01"),
    "thread": ("message-threads-2026-08-12",),
}
_SAMPLING = ("temperature", "top_p", "top_k")
_OLD_VERSION = "2023-06-01"


def _betas(headers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name.strip() for name in headers.get("anthropic-beta", "").split(",") if name.strip())


def _check_headers(headers: Mapping[str, str], betas: frozenset[str], profile: ServiceProfile) -> Iterator[Refusal]:
    if profile.keys is not None:
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if given not in profile.keys:
            yield Refusal(message="invalid x-api-key", status=401, type="authentication_error")
    if "anthropic-version" not in headers:
        yield Refusal(message="anthropic-version: header is required")
    if profile.betas is not None and betas - profile.betas:
        names = ", ".join(f"`{name}`" for name in sorted(betas - profile.betas))
        yield Refusal(message=f"Unexpected value(s) {names} for the `anthropic-beta` header")


def _check_keys(body: Body, headers: Mapping[str, str], betas: frozenset[str]) -> Iterator[Refusal]:
    for key in ("model", "max_tokens", "messages"):
        if key not in body:
            yield Refusal(message=f"{key}: Field required")
    old = headers.get("anthropic-version") == _OLD_VERSION
    for key in body:
        by_beta = any(beta in betas for beta in _KEYS_BY_BETA.get(key, ()))
        if key not in _KEYS and not by_beta and not (old and key in _SAMPLING):
            yield Refusal(message=f"{key}: Extra inputs are not permitted", rule="L10" if key in _SAMPLING else "L09")


def _check_scalars(body: Body, profile: ServiceProfile) -> Iterator[Refusal]:
    if not isinstance(body["model"], str) or not body["model"]:
        yield Refusal(message="model: Input should be a valid string")
    limit = body["max_tokens"]
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        yield Refusal(message="max_tokens: Input should be greater than or equal to 0")
    elif limit > profile.max_output:
        yield Refusal(
            message=f"max_tokens: {limit} > {profile.max_output}, which is the maximum allowed number of output tokens "
            f"for {body['model']}",
            rule="L18",
        )
    elif limit == 0 and body.get("stream"):
        yield Refusal(message="max_tokens: 0 cannot be used with stream", rule="L21")
    choice = body.get("tool_choice", {"type": "auto"})
    if not isinstance(choice, dict) or choice.get("type") not in ("auto", "any", "tool", "none"):
        yield Refusal(message="tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'")
    if not isinstance(body.get("stream", False), bool):
        yield Refusal(message="stream: Input should be a valid boolean")


_TOOL_KEYS = frozenset(
    {
        "name", "input_schema", "description", "type", "cache_control", "defer_loading", "strict", "input_examples",
        "eager_input_streaming", "allowed_callers",
    }
)  # fmt: skip
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def _check_tools(body: Body) -> Iterator[Refusal]:
    tools = body.get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        yield Refusal(message="tools: Input should be a valid list")
        return
    for index, tool in enumerate(tools):
        # A dated type is a tool of the service itself: its fields are its own.
        if tool.get("type") in (None, "custom"):
            yield from _check_tool(index, tool)
    names = [tool.get("name") for tool in tools if "name" in tool]
    if len(set(names)) != len(names):
        yield Refusal(message="tools: Tool names must be unique.", rule="L101")
    if tools and all(tool.get("defer_loading") for tool in tools):
        yield Refusal(message="tools: at least one tool must have defer_loading=false", rule="L105")


def _check_tool(index: int, tool: Mapping[str, Any]) -> Iterator[Refusal]:
    at = f"tools.{index}.custom"
    for key in ("name", "input_schema"):
        if key not in tool:
            yield Refusal(message=f"{at}.{key}: Field required")
            return
    for key in tool.keys() - _TOOL_KEYS:
        yield Refusal(message=f"{at}.{key}: Extra inputs are not permitted", rule="L09")
    if not isinstance(tool["name"], str) or not _TOOL_NAME.fullmatch(tool["name"]):
        yield Refusal(message=f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'", rule="L100")
    if not isinstance(tool["input_schema"], dict) or tool["input_schema"].get("type") != "object":
        yield Refusal(message=f"{at}.input_schema.type: Input should be 'object'", rule="L102")
    if tool.get("defer_loading") and tool.get("cache_control"):
        yield Refusal(
            message=f"Tool '{tool['name']}' cannot have both defer_loading=true and cache_control set", rule="L106"
        )


def _check_system(body: Body) -> Iterator[Refusal]:
    system = body.get("system", "")
    if not isinstance(system, str | list):
        yield Refusal(message="system: Input should be a valid string or list")
        return
    for index, block in enumerate(as_blocks(system) if system else []):
        if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
            yield Refusal(message=f"system.{index}: Input should be a text block")
        elif not block["text"]:
            yield Refusal(message="system: text content blocks must be non-empty", rule="L07")
        elif block.keys() - {"type", "text", "cache_control", "citations"}:
            yield Refusal(message=f"system.{index}: Extra inputs are not permitted", rule="L09")


def _check_markers(body: Body) -> Iterator[Refusal]:
    markers = list(_markers(body))
    for path, marker in markers:
        yield from _check_marker(path, marker)
    automatic = body.get("cache_control")
    if automatic is not None:
        yield from _check_marker("", automatic)
    count = len(markers) + (automatic is not None)
    if count > 4:
        rule = "L128" if automatic is not None and count == 5 else "L120"
        yield Refusal(message=f"A maximum of 4 blocks with cache_control may be provided. Found {count}.", rule=rule)
    short: str | None = None
    for path, marker in markers:
        if marker.get("ttl", "5m") == "5m":
            short = path
        elif short is not None:
            yield Refusal(
                message=f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                f"cache_control block",
                rule="L121",
            )


def _check_marker(path: str, marker: object) -> Iterator[Refusal]:
    at = f"{path}.cache_control" if path else "cache_control"
    if not isinstance(marker, dict) or marker.get("type") != "ephemeral":
        yield Refusal(message=f"{at}.type: Input should be 'ephemeral'", rule="L130")
    elif marker.get("ttl", "5m") not in ("5m", "1h"):
        yield Refusal(message=f"{at}.ttl: Input should be '5m' or '1h'", rule="L130")
    elif marker.keys() - {"type", "ttl"}:
        key = min(marker.keys() - {"type", "ttl"})
        yield Refusal(message=f"{at}.ephemeral.{key}: Extra inputs are not permitted", rule="L131")


def _markers(body: Body) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(body.get("tools") or ()):
        if tool.get("cache_control") is not None:
            yield f"tools.{index}", tool["cache_control"]
    for index, block in enumerate(as_blocks(body.get("system") or [])):
        if block.get("cache_control") is not None:
            yield f"system.{index}", block["cache_control"]
    for number, message in enumerate(body["messages"]):
        for index, block in enumerate(as_blocks(message.get("content") or [])):
            if block.get("cache_control") is not None:
                yield f"messages.{number}.content.{index}", block["cache_control"]


def _check_thinking(body: Body) -> Iterator[Refusal]:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in ("adaptive", "enabled", "between_tools", "disabled"):
        yield Refusal(message="thinking.type: Input should be 'adaptive', 'enabled', 'between_tools' or 'disabled'")
    elif kind == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1024:
            at = "thinking.enabled.budget_tokens"
            yield Refusal(message=f"{at}: Input should be greater than or equal to 1024", rule="L90")
        elif budget >= body["max_tokens"]:
            yield Refusal(message="max_tokens must be greater than thinking.budget_tokens", rule="L90")
        elif (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
            yield Refusal(message="Thinking may not be enabled when tool_choice forces tool use.", rule="L93")
    elif kind == "disabled" and "display" in thinking:
        yield Refusal(message="thinking.disabled.display: Extra inputs are not permitted", rule="L95")
