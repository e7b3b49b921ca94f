"""Whether the documented service would take the messages of a request: roles, blocks, pairing of tool calls.

Decides the refusals of wire page 3.1 to 3.4, as far as a body can show them. Apart from the product's own rules on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .cache import as_blocks
from .profile import ServiceProfile
from .refusal import Refusal

Message = Mapping[str, Any]
Block = Mapping[str, Any]

# Required and optional keys of the blocks that a request may hold (wire page 2.2).
_BLOCK_KEYS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "text": (frozenset({"text"}), frozenset({"citations", "cache_control"})),
    "image": (frozenset({"source"}), frozenset({"transformations", "cache_control"})),
    "document": (frozenset({"source"}), frozenset({"title", "context", "citations", "cache_control"})),
    "search_result": (frozenset({"content", "source", "title"}), frozenset({"citations", "cache_control"})),
    "thinking": (frozenset({"thinking", "signature"}), frozenset()),
    "redacted_thinking": (frozenset({"data"}), frozenset()),
    "tool_use": (frozenset({"id", "name", "input"}), frozenset({"caller", "toolset_name", "cache_control"})),
    "tool_result": (
        frozenset({"tool_use_id"}),
        frozenset({"content", "is_error", "toolset_name", "cache_control"}),
    ),
    "tool_reference": (frozenset({"tool_name"}), frozenset({"cache_control"})),
    "server_tool_use": (frozenset({"id", "name", "input"}), frozenset({"caller", "cache_control"})),
    "tool_addition": (frozenset({"tool"}), frozenset({"cache_control"})),
    "tool_removal": (frozenset({"tool"}), frozenset({"cache_control"})),
}
# Blocks that are taken as they are: what they must hold is between the service and its own tools.
_OPAQUE = ("container_upload", "compaction", "fallback", "mcp_tool_use", "mcp_tool_listing")
_SYSTEM_TYPES = ("text", "tool_addition", "tool_removal")
_RESULT_TYPES = ("text", "image", "document", "search_result", "tool_reference", "browser_state")
_ASSISTANT_ONLY = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_OLD_VERSION = "2023-06-01"


def check_messages(body: Mapping[str, Any], headers: Mapping[str, str], profile: ServiceProfile) -> Iterator[Refusal]:
    """Every refusal, in the order in which the service would find them."""
    messages = body["messages"]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        yield Refusal(message="messages: Input should be a valid list")
        return
    yield from _check_envelope(messages)
    for number, message in enumerate(messages):
        yield from _check_message(number, message, last=number == len(messages) - 1)
    yield from _check_placement(messages, profile)
    strict = headers.get("anthropic-version") != _OLD_VERSION
    for number, message in enumerate(messages):
        for index, block in enumerate(as_blocks(message["content"])):
            yield from _check_block(f"messages.{number}.content.{index}", message["role"], block)
            if strict:
                yield from _check_version(f"messages.{number}.content.{index}", message["role"], block)
    yield from _check_pairs(messages)
    yield from _check_tools_exist(messages, body.get("tools") or [])


def _check_envelope(messages: Sequence[Message]) -> Iterator[Refusal]:
    if not messages:
        yield Refusal(message="messages: at least one message is required", rule="L02")
    if len(messages) > 100_000:
        yield Refusal(message="messages: List should have at most 100000 items", rule="L01")


def _check_message(number: int, message: Message, *, last: bool) -> Iterator[Refusal]:
    role = message.get("role")
    if role not in ("user", "assistant", "system"):
        yield Refusal(
            message=f'messages: Unexpected role "{role}". The Messages API accepts a top-level `system` parameter.',
            rule="L03",
        )
    unknown = sorted(message.keys() - {"role", "content"})
    if unknown:
        yield Refusal(message=f"messages.{number}.{unknown[0]}: Extra inputs are not permitted", rule="L09")
    content = message.get("content")
    if not isinstance(content, str | list) or not all(isinstance(block, dict) for block in as_blocks(content)):
        yield Refusal(message=f"messages.{number}.content: Input should be a valid string or list of blocks")
    elif not content and not (last and role == "assistant"):
        text = "all messages must have non-empty content except for the optional final assistant message"
        yield Refusal(message=f"messages.{number}: {text}", rule="L06")


def _check_placement(messages: Sequence[Message], profile: ServiceProfile) -> Iterator[Refusal]:
    roles = [message["role"] for message in messages]
    if "system" in roles and not profile.system_role:
        yield Refusal(message="role 'system' is not supported on this model", rule="L30")
    if roles[0] == "system":
        yield Refusal(
            message="messages.0: use the top-level 'system' parameter for the initial system prompt", rule="L31"
        )
    if roles[0] == "assistant":
        yield Refusal(message='messages: first message must use the "user" role', rule="L05")
    for number, role in enumerate(roles):
        # Consecutive system messages are judged as one section.
        if role == "system":
            yield from _check_section(number, messages)
    if roles[-1] == "assistant" and messages[-1]["content"] and not profile.prefill:
        yield Refusal(
            message="This model does not support assistant message prefill. The conversation must end with a user message.",
            rule="L13",
        )


def _check_section(number: int, messages: Sequence[Message]) -> Iterator[Refusal]:
    before = messages[number - 1]
    ends_in_server_result = before["role"] == "assistant" and _ends_in_server_result(before)
    if before["role"] not in ("user", "system") and not ends_in_server_result:
        yield Refusal(
            message="role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result",
            rule="L32",
        )
    after = messages[number + 1]["role"] if number + 1 < len(messages) else None
    if after == "user":
        yield Refusal(message="role 'system' must precede an 'assistant' message or end the array", rule="L33")


def _ends_in_server_result(message: Message) -> bool:
    blocks = as_blocks(message["content"])
    return bool(blocks) and str(blocks[-1].get("type")).endswith("_tool_result")


def _check_block(at: str, role: str, block: Block) -> Iterator[Refusal]:
    kind = block.get("type")
    known = _BLOCK_KEYS.get(str(kind))
    if known is None:
        if not str(kind).endswith("_tool_result") and kind not in _OPAQUE:
            yield Refusal(
                message=f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            )
        return
    required, optional = known
    for key in sorted(required - block.keys()):
        rule = "L77" if kind == "thinking" else None
        yield Refusal(message=f"{at}.{kind}.{key}: Field required", rule=rule)
    for key in sorted(block.keys() - required - optional - {"type"}):
        yield Refusal(message=f"{at}.{kind}.{key}: Extra inputs are not permitted", rule=_extra_rule(str(kind), key))
    if required - block.keys():
        return
    if kind == "text":
        yield from _check_text(at, role, block)
    if kind == "thinking" and not block["signature"]:
        yield Refusal(message=f"{at}: Invalid `signature` in `thinking` block", rule="L76")
    if kind == "tool_result" and role != "user":
        yield Refusal(message=f"{at}: tool_result blocks can only be in user messages", rule="L65")
    if kind in _ASSISTANT_ONLY and role != "assistant":
        yield Refusal(message=f"{at}: {kind} blocks can only be in assistant messages", rule="L65")
    if role == "system" and kind not in _SYSTEM_TYPES:
        yield Refusal(message=f"{at}: system messages support text blocks only", rule="L41")
    if role != "system" and kind in ("tool_addition", "tool_removal"):
        yield Refusal(message=f"{at}: {kind} blocks can only be in system messages", rule="L45")
    if kind == "tool_use":
        yield from _check_call(at, block)
    if kind == "tool_result":
        yield from _check_result(at, block)


def _extra_rule(kind: str, key: str) -> str:
    return "L89" if key == "cache_control" and kind in ("thinking", "redacted_thinking") else "L09"


def _check_text(at: str, role: str, block: Block) -> Iterator[Refusal]:
    text = block["text"]
    if not isinstance(text, str):
        yield Refusal(message=f"{at}.text.text: Input should be a valid string")
    elif not text and block.get("cache_control"):
        yield Refusal(message=f"{at}.text: cache_control cannot be set for empty text blocks", rule="L122")
    elif not text:
        yield Refusal(message="messages: text content blocks must be non-empty", rule="L07")
    elif not text.strip() and role != "assistant":
        # The service was recorded to take a blank beside a call in an assistant message (2026-04).
        yield Refusal(message="messages: text content blocks must contain non-whitespace text", rule="L08")


def _check_version(at: str, role: str, block: Block) -> Iterator[Refusal]:
    if block.get("type") == "document" and role == "assistant":
        yield Refusal(message=f"{at}: document blocks are not permitted in assistant messages", rule="L11")
    if block.get("type") == "text" and role == "user" and block.get("citations"):
        yield Refusal(message=f"{at}.text.citations: citations are not permitted in user messages", rule="L12")


def _check_call(at: str, block: Block) -> Iterator[Refusal]:
    if not isinstance(block["id"], str) or not _ID.fullmatch(block["id"]):
        yield Refusal(message=f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", rule="L61")
    if not isinstance(block["input"], dict):
        yield Refusal(message=f"{at}.tool_use.input: Input should be a valid dictionary", rule="L62")


def _check_result(at: str, block: Block) -> Iterator[Refusal]:
    if not isinstance(block["tool_use_id"], str) or not _ID.fullmatch(block["tool_use_id"]):
        yield Refusal(
            message=f"{at}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'", rule="L61"
        )
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list) or any(
        not isinstance(inner, dict) or inner.get("type") not in _RESULT_TYPES for inner in content
    ):
        yield Refusal(message=f"{at}.tool_result.content: Input should be text or image blocks", rule="L64")
        return
    if block.get("is_error") and any(inner["type"] != "text" for inner in content):
        yield Refusal(message=f"{at}.tool_result: all content must be type 'text' if 'is_error' is true", rule="L63")
    for index, inner in enumerate(content):
        yield from _check_block(f"{at}.tool_result.content.{index}", "user", inner)


def _check_pairs(messages: Sequence[Message]) -> Iterator[Refusal]:
    turns = list(_turns(messages))
    seen: set[str] = set()
    open_calls: list[str] = []
    for number, role, blocks in turns:
        results = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        leading = 0
        while leading < len(blocks) and blocks[leading].get("type") == "tool_result":
            leading += 1
        unanswered = [call for call in open_calls if call not in results[:leading]]
        if unanswered:
            yield _unanswered(number - 1, unanswered)
        for result in results:
            if result not in open_calls:
                yield Refusal(
                    message=f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {result}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                    rule="L56",
                )
            elif results.count(result) > 1:
                yield Refusal(
                    message=f"messages.{number}: each tool_use must have a single result. Found multiple "
                    f"`tool_result` blocks with id: {result}",
                    rule="L58",
                )
        open_calls = []
        for index, block in enumerate(blocks):
            if role == "assistant" and block.get("type") == "tool_use":
                if block["id"] in seen:
                    yield Refusal(
                        message=f"messages.{number}.content.{index}: `tool_use` ids must be unique", rule="L57"
                    )
                seen.add(block["id"])
                open_calls.append(block["id"])
    if open_calls:
        yield _unanswered(turns[-1][0], open_calls)


def _unanswered(number: int, calls: Sequence[str]) -> Refusal:
    return Refusal(
        message=f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        rule="L55",
    )


def _turns(messages: Sequence[Message]) -> Iterator[tuple[int, str, list[Block]]]:
    """Messages with consecutive ones of a role merged (L04), each with the number of its first."""
    merged: list[tuple[int, str, list[Block]]] = []
    for number, message in enumerate(messages):
        blocks = as_blocks(message["content"])
        if merged and merged[-1][1] == message["role"]:
            merged[-1][2].extend(blocks)
        else:
            merged.append((number, message["role"], list(blocks)))
    yield from merged


def _check_tools_exist(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Iterator[Refusal]:
    blocks = [block for message in messages for block in as_blocks(message["content"])]
    if not tools and any(block.get("type") in ("tool_use", "tool_result") for block in blocks):
        yield Refusal(message="Requests which include `tool_use` or `tool_result` blocks must define tools", rule="L66")
    names = {tool.get("name") for tool in tools}
    for block in blocks:
        for inner in block.get("content") or () if isinstance(block.get("content"), list) else ():
            if isinstance(inner, dict) and inner.get("type") == "tool_reference" and inner["tool_name"] not in names:
                yield Refusal(
                    message=f"Tool reference '{inner['tool_name']}' not found in available tools", rule="L107"
                )
