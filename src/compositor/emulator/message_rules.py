"""Whether messages stand where they may and hold what they may: roles, content, system sections, prefill (wire page 3.1, 3.2).

Decides the refusals of L01 to L17 and L30 to L46 that a well-formed body can show. Pairing of calls is `call_rules.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .conversation import Block, Message, as_blocks, blocks_of, inner_blocks, is_server_result
from .grammar import Circumstances
from .refusal import Refusal
from .shapes import CREDIT, INLINE_TOOLS

_ASSISTANT_ONLY = ("tool_use", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use")
_SYSTEM_ONLY = ("tool_addition", "tool_removal")


def check_messages(body: Mapping[str, Any], given: Circumstances) -> Iterator[Refusal]:
    """Every refusal, in the order in which the service would find them."""
    messages = body["messages"]
    if not messages:
        code = "compaction_nothing_to_summarize" if body.get("compaction") else None
        yield Refusal(message="messages: at least one message is required", rule="L02", error_code=code)
        return
    if len(messages) > 100_000:
        yield Refusal(message="messages: List should have at most 100000 items", rule="L01")
    for number, message in enumerate(messages):
        yield from _check_content(number, message, last=number == len(messages) - 1)
        yield from _check_fields(number, message, given)
        yield from _check_blocks(number, message, given)
    yield from _check_sections(messages, given)
    yield from _check_tool_changes(body, given)
    yield from _check_ends(body, messages, given)


def _check_content(number: int, message: Message, *, last: bool) -> Iterator[Refusal]:
    role, content = message["role"], message.get("content")
    if content or (last and role == "assistant"):
        return
    if role == "system":
        if not message.get("output_config"):
            yield Refusal(message=f"messages.{number}: system messages need content or an output_config", rule="L36")
        return
    text = "all messages must have non-empty content except for the optional final assistant message"
    yield Refusal(message=f"messages.{number}: {text}", rule="L06")


def _check_fields(number: int, message: Message, given: Circumstances) -> Iterator[Refusal]:
    at, role = f"messages.{number}", message["role"]
    if message.get("output_config") is not None:
        if role != "system":
            yield Refusal(message=f"{at}.output_config: only permitted on role 'system'", rule="L37")
        elif given.profile.mid_effort is False and message["output_config"]:
            yield Refusal(message=f"{at}.output_config: not supported on this model", rule="L37")
    clear_at = message.get("clear_at")
    if clear_at is None:
        return
    if role != "system":
        yield Refusal(message=f"{at}.clear_at: only permitted on role 'system'", rule="L39")
    elif clear_at not in ("never", "next_user_message"):
        yield Refusal(message=f"{at}.clear_at: Input should be 'never' or 'next_user_message'", rule="L40")
    elif clear_at == "next_user_message":
        yield from _check_turn_scoped(at, message)


def _check_turn_scoped(at: str, message: Message) -> Iterator[Refusal]:
    for index, block in enumerate(as_blocks(message.get("content"))):
        if block["type"] != "text":
            said = "a turn-scoped system message supports text blocks only"
            yield Refusal(message=f"{at}.content.{index}: {said}", rule="L41")
        if block.get("cache_control"):
            said = "cache_control is not permitted on a turn-scoped system message"
            yield Refusal(message=f"{at}.content.{index}: {said}", rule="L43")
    if message.get("output_config") is not None:
        yield Refusal(message=f"{at}.output_config: not permitted on a turn-scoped system message", rule="L42")


def _check_blocks(number: int, message: Message, given: Circumstances) -> Iterator[Refusal]:
    role, blocks = message["role"], as_blocks(message.get("content"))
    for index, block in enumerate(blocks):
        at, kind = f"messages.{number}.content.{index}", block["type"]
        if kind == "text":
            # The service was recorded to take a blank beside other blocks (2025-10, 2026-04).
            yield from check_text(at, block, beside=role == "assistant" or len(blocks) > 1)
        if kind == "thinking" and not block["signature"]:
            yield Refusal(message=f"{at}: Invalid `signature` in `thinking` block", rule="L76")
        if kind == "tool_result" and role != "user":
            yield Refusal(message=f"{at}: tool_result blocks can only be in user messages", rule="L65")
        if kind in _ASSISTANT_ONLY and role != "assistant":
            yield Refusal(message=f"{at}: {kind} blocks can only be in assistant messages", rule="L65")
        if kind in _SYSTEM_ONLY and role != "system":
            yield Refusal(message=f"{at}: {kind} blocks can only be in system messages", rule="L45")
        if given.is_current:
            yield from _check_version(at, role, block)
        for inner_index, inner in enumerate(inner_blocks(block) if kind == "tool_result" else ()):
            if inner.get("type") == "text":
                yield from check_text(f"{at}.tool_result.content.{inner_index}", inner, beside=True)


def check_text(at: str, block: Block, *, beside: bool) -> Iterator[Refusal]:
    """Empty and blank text (L07, L08, L122). `beside`: other content stands with it."""
    text = block["text"]
    if not text and block.get("cache_control"):
        yield Refusal(message=f"{at}.text: cache_control cannot be set for empty text blocks", rule="L122")
    elif not text:
        yield Refusal(message="messages: text content blocks must be non-empty", rule="L07")
    elif not text.strip() and not beside:
        yield Refusal(message="messages: text content blocks must contain non-whitespace text", rule="L08")


def _check_version(at: str, role: str, block: Block) -> Iterator[Refusal]:
    kind = block["type"]
    if kind == "document" and role == "assistant":
        yield Refusal(message=f"{at}: document blocks are not permitted in assistant messages", rule="L11")
    texts = [block] if kind == "text" and role == "user" else []
    if kind == "search_result":
        texts = inner_blocks(block)
    elif kind == "tool_result":
        inner = inner_blocks(block)
        texts = [
            *inner,
            *(text for result in inner if result.get("type") == "search_result" for text in inner_blocks(result)),
        ]
    if any(text.get("type") == "text" and text.get("citations") for text in texts):
        yield Refusal(message=f"{at}.text.citations: citations are not permitted in user messages", rule="L12")


def _check_sections(messages: Sequence[Message], given: Circumstances) -> Iterator[Refusal]:
    """System messages side by side are one section; one that only sets an effort stands anywhere (L31 to L35)."""
    start = 0
    while start < len(messages):
        if messages[start]["role"] != "system":
            start += 1
            continue
        end = start
        while end < len(messages) and messages[end]["role"] == "system":
            end += 1
        if not given.profile.system_role:
            yield Refusal(message="role 'system' is not supported on this model", rule="L30")
        if any(as_blocks(message.get("content")) for message in messages[start:end]):
            yield from _check_section(messages, start, end)
        start = end


def _check_section(messages: Sequence[Message], start: int, end: int) -> Iterator[Refusal]:
    mixed = not all(as_blocks(message.get("content")) for message in messages[start:end])
    if start == 0:
        said = "messages.0: use the top-level 'system' parameter for the initial system prompt"
        yield Refusal(message=said, rule="L35" if mixed else "L31")
        return
    before = messages[start - 1]
    blocks = as_blocks(before.get("content"))
    follows = before["role"] == "user" or (bool(blocks) and is_server_result(blocks[-1]))
    if not follows:
        open_call = any(block["type"] == "tool_use" for block in blocks)
        yield Refusal(
            message="role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result",
            rule="L34" if open_call else "L35" if mixed else "L32",
        )
    if end < len(messages) and messages[end]["role"] == "user":
        said = "role 'system' must precede an 'assistant' message or end the array"
        yield Refusal(message=said, rule="L35" if mixed else "L33")


def _check_tool_changes(body: Mapping[str, Any], given: Circumstances) -> Iterator[Refusal]:
    """Tool changes name what is declared, and do not stand right behind a paused turn (L45 to L50)."""
    messages = body["messages"]
    yield from _check_inline_size(messages)
    kinds = {
        tool["name"]: "custom" if tool.get("type") in (None, "custom") else tool["type"]
        for tool in body.get("tools") or ()
        if "name" in tool
    }
    for number, index, role, block in blocks_of(messages):
        if role != "system" or block["type"] not in _SYSTEM_ONLY:
            continue
        at, tool = f"messages.{number}.content.{index}", block["tool"]
        if number and messages[number - 1]["role"] == "assistant":
            yield Refusal(message=f"{at}: {block['type']} cannot follow a paused assistant turn", rule="L45")
        if tool["type"] == "tool_definition":
            yield from _check_definition(at, block, kinds, given)
        elif tool["type"] == "tool_reference" and _is_composed(str(tool.get("name")), body):
            said = f"{at}.tool: tools of MCP servers are named by mcp_tool_reference or mcp_toolset_reference"
            yield Refusal(message=said, rule="L47")
        elif tool["type"] == "tool_reference" and tool.get("name") not in kinds:
            yield Refusal(
                message=f"{at}.tool: '{tool.get('name')}' does not refer to a tool that is defined here",
                error_code="tool_reference_unresolved",
                rule="L46",
            )


def _is_composed(name: str, body: Mapping[str, Any]) -> bool:
    """The form `{server}_{tool}` that the service itself gives to tools of MCP servers."""
    return any(name.startswith(f"{server.get('name')}_") for server in body.get("mcp_servers") or ())


_MOST_DEFINED, _LARGEST_DEFINITIONS = 10_000, 4 * 1024 * 1024


def _check_inline_size(messages: Sequence[Message]) -> Iterator[Refusal]:
    """At most 10,000 tools and 4 MiB of definitions inside messages (L51)."""
    defined = [block["tool"] for _, _, _, block in blocks_of(messages) if block["type"] == "tool_addition"]
    inline = [tool["definition"] for tool in defined if isinstance(tool.get("definition"), dict)]
    if len(inline) > _MOST_DEFINED or sum(len(json.dumps(tool)) for tool in inline) > _LARGEST_DEFINITIONS:
        said = "messages: too many tools are defined in messages"
        yield Refusal(message=said, error_code="available_tools_limit_exceeded", rule="L51")


def _check_definition(at: str, block: Block, kinds: dict[str, str], given: Circumstances) -> Iterator[Refusal]:
    if not given.has((INLINE_TOOLS,)):
        yield Refusal(
            message=f"{at}.tool: Input tag 'tool_definition' does not match any of the expected tags", rule="L49"
        )
    definition = block["tool"].get("definition")
    if not isinstance(definition, dict) or not isinstance(definition.get("name"), str):
        yield Refusal(message=f"{at}.tool.definition: Field required")
        return
    kind = "custom" if definition.get("type") in (None, "custom") else str(definition["type"])
    if kinds.setdefault(definition["name"], kind).partition("_20")[0] != kind.partition("_20")[0]:
        said = f"{at}.tool.definition: the name '{definition['name']}' belongs to another kind of tool"
        yield Refusal(message=said, error_code="tool_name_conflict", rule="L48")
    marked = definition.get("cache_control")
    if marked and (block.get("cache_control") or definition.get("defer_loading")):
        said = f"{at}: cache_control may stand on the block or in the definition, and on no deferred one"
        yield Refusal(message=said, rule="L50")


def _check_ends(body: Mapping[str, Any], messages: Sequence[Message], given: Circumstances) -> Iterator[Refusal]:
    spoken = [message for message in messages if message["role"] != "system" or as_blocks(message.get("content"))]
    if spoken and spoken[0]["role"] == "assistant":
        first = as_blocks(spoken[0].get("content"))
        if not (first and first[0]["type"] == "compaction" and first[0].get("signature")):
            yield Refusal(message='messages: first message must use the "user" role', rule="L05")
    last = messages[-1]
    blocks = as_blocks(last.get("content"))
    if last["role"] != "assistant" or not blocks or _is_paused(blocks) or body.get("compaction"):
        return
    thinking = (body.get("thinking") or {}).get("type") not in (None, "disabled")
    if not given.profile.prefill and not (given.has(CREDIT) and body.get("fallback_credit_token")):
        said = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield Refusal(message=said, rule="L13")
    elif thinking:
        yield Refusal(message="a final assistant message cannot be used while thinking is enabled", rule="L14")
    if blocks[-1]["type"] == "text" and blocks[-1]["text"] != blocks[-1]["text"].rstrip():
        said = "messages: final assistant content cannot end with trailing whitespace"
        yield Refusal(message=said, rule="L16")


def _is_paused(blocks: Sequence[Block]) -> bool:
    """A turn that waits for a server tool, or ends in what it brought; it is sent again as it is (L72)."""
    if is_server_result(blocks[-1]) and blocks[-1]["type"] != "tool_result":
        return True
    answered = {block.get("tool_use_id") for block in blocks if is_server_result(block)}
    return any(block["type"] == "server_tool_use" and block["id"] not in answered for block in blocks)
