"""Whether calls and results belong together: pairs, order, ids, server tools, toolsets (wire page 3.3).

Decides the refusals of L55 to L71. Consecutive messages of a role count as one turn, as the service joins them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .conversation import (
    Block,
    Turn,
    as_blocks,
    blocks_of,
    inner_blocks,
    is_result,
    is_server_result,
    is_thought,
    path_of,
    turns_of,
)
from .refusal import Refusal

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PATTERN = "String should match pattern '^[a-zA-Z0-9_-]+$'"


def check_calls(body: Mapping[str, Any]) -> Iterator[Refusal]:
    messages = body["messages"]
    for number, index, _, block in blocks_of(messages):
        yield from _check_fields(path_of(number, index), block)
    yield from _check_pairs(turns_of(messages))
    yield from _check_fallbacks(body)
    yield from _check_server_tools(body)
    yield from _check_tools_exist(body)


def _check_fields(at: str, block: Block) -> Iterator[Refusal]:
    kind = block["type"]
    if kind == "tool_use" and not _ID.fullmatch(block["id"]):
        yield Refusal(message=f"{at}.tool_use.id: {_PATTERN}", rule="L61")
    if kind != "tool_result":
        return
    if not _ID.fullmatch(block["tool_use_id"]):
        yield Refusal(message=f"{at}.tool_result.tool_use_id: {_PATTERN}", rule="L61")
    kinds = {inner["type"] for inner in inner_blocks(block)}
    if block.get("is_error") and kinds - {"text"}:
        yield Refusal(message=f"{at}.tool_result: all content must be type 'text' if 'is_error' is true", rule="L63")
    states = sum(inner["type"] == "browser_state" for inner in inner_blocks(block))
    if block.get("toolset_name") and (kinds - {"text", "image", "browser_state"} or states > 1):
        said = f"{at}.tool_result: a toolset's result holds text, images and one browser_state"
        yield Refusal(message=said, rule="L67")


def _check_pairs(turns: list[Turn]) -> Iterator[Refusal]:
    seen: set[str] = set()
    opened: dict[str, Block] = {}
    asked = 0
    for turn in turns:
        if turn.role == "system" and not opened:
            continue
        if opened and not turn.blocks:
            continue
        yield from _check_answers(turn, opened, asked)
        opened = {}
        for (number, index), block in zip(turn.places, turn.blocks, strict=True):
            if block["type"] != "tool_use":
                continue
            if block["id"] in seen:
                yield Refusal(message=f"{path_of(number, index)}: `tool_use` ids must be unique", rule="L57")
            seen.add(block["id"])
            opened[block["id"]] = block
            asked = number
    if opened:
        yield _unanswered(asked, list(opened))


def _check_answers(turn: Turn, opened: Mapping[str, Block], asked: int) -> Iterator[Refusal]:
    results = [block["tool_use_id"] for block in turn.blocks if is_result(block)]
    leading = next((index for index, block in enumerate(turn.blocks) if not is_result(block)), len(turn.blocks))
    early = set(results[:leading])
    late = [call for call in opened if call in results and call not in early]
    missing = [call for call in opened if call not in results]
    if missing or late:
        yield _unanswered(asked, missing or late, rule="L55" if missing else "L59")
    for (number, index), block in zip(turn.places, turn.blocks, strict=True):
        if not is_result(block):
            continue
        call = block["tool_use_id"]
        if call not in opened:
            server = call.startswith("srvtoolu_")
            yield Refusal(
                message=f"{path_of(number, index)}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                rule="L71" if server else "L56",
            )
        elif results.count(call) > 1:
            yield Refusal(
                message=f"messages.{number}: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {call}",
                rule="L58",
            )
        elif block.get("toolset_name") != opened[call].get("toolset_name"):
            said = f"{path_of(number, index)}.tool_result.toolset_name: must be that of its tool_use"
            yield Refusal(message=said, rule="L67")


def _unanswered(number: int, calls: list[str], *, rule: str = "L55") -> Refusal:
    return Refusal(
        message=f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        rule=rule,
    )


def _check_fallbacks(body: Mapping[str, Any]) -> Iterator[Refusal]:
    """Before the last `fallback` block of a turn stand no thinking and no call without its result (L73)."""
    for number, message in enumerate(body["messages"]):
        blocks = as_blocks(message.get("content"))
        last = max((index for index, block in enumerate(blocks) if block["type"] == "fallback"), default=0)
        answered = {block.get("tool_use_id") for block in blocks if is_server_result(block)}
        for index, block in enumerate(blocks[:last]):
            pending = block["type"] in {"tool_use", "server_tool_use"} and block["id"] not in answered
            if is_thought(block) or pending:
                said = f"`{block['type']}` blocks before a `fallback` block must be left out"
                yield Refusal(message=f"{path_of(number, index)}: {said}", rule="L73")


def _check_server_tools(body: Mapping[str, Any]) -> Iterator[Refusal]:
    waiting: dict[str, Block] = {}
    turns = turns_of(body["messages"])
    for position, turn in enumerate(turns):
        for (number, index), block in zip(turn.places, turn.blocks, strict=True):
            if block["type"] in {"server_tool_use", "mcp_tool_use"}:
                waiting[block["id"]] = block
            elif is_server_result(block) and not is_result(block) and waiting.pop(block["tool_use_id"], None) is None:
                said = f"unexpected `tool_use_id` found in `{block['type']}` blocks: {block['tool_use_id']}"
                yield Refusal(message=f"{path_of(number, index)}: {said}", rule="L70")
        asks = any(block["type"] == "tool_use" for block in turn.blocks)
        answer = turns[position + 1].blocks if position + 1 < len(turns) else []
        if turn.role == "assistant" and waiting and asks and not all(map(is_result, answer)):
            yield _pending(next(iter(waiting.values())))
    if waiting and turns[-1].role == "assistant":
        yield from _check_resumed(body, next(iter(waiting.values())))


def _pending(call: Block) -> Refusal:
    name = call["name"]
    return Refusal(
        message=f"`{name}` tool use with id `{call['id']}` was found without a corresponding `{name}_tool_result` block",
        rule="L68",
    )


def _check_resumed(body: Mapping[str, Any], call: Block) -> Iterator[Refusal]:
    names = [tool.get("name") for tool in body.get("tools") or ()]
    # The code tool has calls of several names, and newer web tools run code by themselves.
    runs_code = "code_execution" in call["name"] and {"code_execution", "web_search", "web_fetch"} & set(names)
    if names and call["name"] not in names and not runs_code and not body.get("mcp_servers"):
        yield Refusal(message=f"{_pending(call).message}, but no `{call['name']}` tool was provided", rule="L69")


def _check_tools_exist(body: Mapping[str, Any]) -> Iterator[Refusal]:
    tools = body.get("tools") or []
    blocks = [block for _, _, _, block in blocks_of(body["messages"])]
    if not tools and any(block["type"] in {"tool_use", "tool_result"} for block in blocks):
        yield Refusal(message="Requests which include `tool_use` or `tool_result` blocks must define tools", rule="L66")
    names = {tool.get("name") for tool in tools} | {
        definition.get("name")
        for block in blocks
        if block["type"] == "tool_addition" and isinstance(definition := block["tool"].get("definition"), dict)
    }
    # What a toolset offers is not in the body.
    is_closed = not any(tool.get("type") == "mcp_toolset" for tool in tools)
    for block in blocks:
        for reference in _references(block):
            if is_closed and reference not in names:
                yield Refusal(message=f"Tool reference '{reference}' not found in available tools", rule="L107")


def _references(block: Block) -> Iterator[str]:
    """The names of the tools that a result brings into view."""
    content = block.get("content")
    listed = content.get("tool_references") if isinstance(content, dict) else None
    for inner in [*inner_blocks(block), *(listed if isinstance(listed, list) else [])]:
        if isinstance(inner, dict) and inner.get("type") == "tool_reference":
            yield str(inner.get("tool_name"))
