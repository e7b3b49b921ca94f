"""The rules that a block shows where it stands: text, thinking, calls, results and media.

`BLOCK_RULES` says which rules look at which block. Decides nothing that only the end of a message can show (`turns.py`);
blocks without a type of their own are in `service_blocks.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from compositor.types.blocks import (
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    ResultContent,
    SearchResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from compositor.types.image_head import read_image_head
from compositor.types.messages import Role

from .images import MANY_SIDE, check_image
from .raw import as_json, decode_raw, has_lone_surrogate, has_value
from .service_blocks import judge_server_call, judge_unknown
from .shape import check_block_shape, check_result_block_shape
from .walk import OpenCall, ServerCall, Walk

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SERVER_ID = "srvtoolu_"

BlockRule = Callable[[Walk, Any, int], None]


def _text(walk: Walk, block: TextBlock, position: int) -> None:
    text = block.text
    if not text or text.isspace():
        _blank(walk, block, position)
    if not text.isascii() and has_lone_surrogate(text):
        walk.report("W01", walk.place(position, ".text"), "the text holds a lone surrogate")
    if has_value(block.citations):
        _citations(walk, block, position)


def _blank(walk: Walk, block: TextBlock, position: int) -> None:
    path = walk.place(position, ".text")
    if not block.text:
        walk.report("L07", path, "the text is empty")
    elif walk.role is Role.ASSISTANT and len(walk.parts) > 1:
        walk.report("W07", path, "the text is white space only, beside other blocks of an answer")
    else:
        walk.report("L08", path, "the text is white space only")


def _citations(walk: Walk, block: TextBlock, position: int) -> None:
    found = decode_raw(block.citations)
    if walk.role is Role.USER and walk.context.is_current and isinstance(found, list) and found:
        walk.report("L12", walk.place(position, ".citations"), "text that the user sends carries citations")
    _shape(walk, block, position)


def _shape(walk: Walk, block: object, position: int) -> None:
    """Judge the parts of a block that are kept as raw JSON."""
    decoded = as_json(block)
    if decoded is not None:
        walk.violations.extend(check_block_shape(decoded, walk.place(position), walk.context, role=walk.role.value))


def _image(walk: Walk, block: ImageBlock, position: int) -> None:
    _shape(walk, block, position)
    _picture(walk, block, walk.place(position))


def _picture(walk: Walk, block: ImageBlock, path: str) -> None:
    walk.images += 1
    source = decode_raw(block.source)
    if not isinstance(source, dict):
        return
    walk.violations.extend(check_image(source, path, walk.context))
    data = source.get("data")
    head = read_image_head(data) if isinstance(data, str) else None
    if head is not None and max(head.width, head.height) > MANY_SIDE:
        walk.large.append((path, max(head.width, head.height)))


def _document(walk: Walk, block: DocumentBlock, position: int) -> None:
    _shape(walk, block, position)
    if walk.role is Role.ASSISTANT and walk.context.is_current:
        walk.report("L11", walk.place(position), "a document stands directly in an assistant message")


def _search_result(walk: Walk, block: SearchResultBlock, position: int) -> None:
    _shape(walk, block, position)
    _cited_search_result(walk, block, walk.place(position))


def _cited_search_result(walk: Walk, block: SearchResultBlock, path: str) -> None:
    content = decode_raw(block.content)
    if not walk.context.is_current or not isinstance(content, list):
        return
    for index, item in enumerate(content):
        if isinstance(item, dict) and isinstance(item.get("citations"), list) and item["citations"]:
            walk.report("L12", f"{path}.content[{index}].citations", "text of a search result carries citations")


def _thinking(walk: Walk, block: ThinkingBlock, position: int) -> None:
    if not block.signature:
        walk.report("L76", walk.place(position, ".signature"), "the thinking block has no signature")
    if not block.thinking.isascii() and has_lone_surrogate(block.thinking):
        walk.report("W01", walk.place(position, ".thinking"), "the text holds a lone surrogate")


def _thinking_order(walk: Walk, _block: object, position: int) -> None:
    if walk.thought is None:
        walk.thought = position
    if position and not isinstance(walk.parts[0].block, ThinkingBlock | RedactedThinkingBlock):
        walk.report("L86", walk.place(position), "thinking stands behind another block of its message")


def _tool_use(walk: Walk, block: ToolUseBlock, position: int) -> None:
    walk.has_tool_blocks = True
    call_id = block.id
    if walk.role is not Role.ASSISTANT:
        walk.report("L65", walk.place(position), f"a tool_use stands in a {walk.role.value} message")
    if _ID.fullmatch(call_id) is None:
        walk.report("L61", walk.place(position, ".id"), f"{call_id!r} is not made of letters, digits, _ and -")
    if walk.has_call(call_id):
        walk.report("L57", walk.place(position, ".id"), f"the id {call_id!r} was used before")
    else:
        walk.new_call_ids[call_id] = None
    walk.new_calls.setdefault(call_id, OpenCall(call_id, position, block.toolset_name))


def _input(walk: Walk, block: ToolUseBlock | ServerToolUseBlock, position: int) -> None:
    if bytes(block.input).lstrip()[:1] != b"{":
        walk.report("L62", walk.place(position, ".input"), "the input must be an object")


def _tool_result(walk: Walk, block: ToolResultBlock, position: int) -> None:
    walk.has_tool_blocks = True
    call_id = block.tool_use_id
    if walk.role is not Role.USER:
        walk.report("L65", walk.place(position), f"a tool_result stands in a {walk.role.value} message")
    if position != walk.answered:
        walk.report("L59", walk.place(position), "a block that is no result stands before this result")
    walk.answered += 1
    if _ID.fullmatch(call_id) is None:
        walk.report("L61", walk.place(position, ".tool_use_id"), f"{call_id!r} is not made of letters, digits, _ and -")
    _pairing(walk, block, position)
    if block.content is not None:
        _result_content(walk, block, position)


def _pairing(walk: Walk, block: ToolResultBlock, position: int) -> None:
    call_id = block.tool_use_id
    path = walk.place(position, ".tool_use_id")
    call = walk.calls.get(call_id)
    if call_id in walk.results:
        walk.report("L58", path, f"the call {call_id!r} has a second result")
        return
    walk.results.add(call_id)
    if call_id.startswith(_SERVER_ID):
        walk.report("L71", path, f"{call_id!r} is a call of a server tool")
    elif call is None:
        walk.report("L56", path, f"no call {call_id!r} stands in the previous message")
    elif call.toolset != block.toolset_name:
        walk.report("L67", walk.place(position, ".toolset_name"), f"must be {call.toolset!r}, as in the call")


def _result_content(walk: Walk, block: ToolResultBlock, position: int) -> None:
    content = block.content
    if isinstance(content, str):
        if not content.isascii() and has_lone_surrogate(content):
            walk.report("W01", walk.place(position, ".content"), "the text holds a lone surrogate")
        return
    for index, item in enumerate(content or ()):
        path = walk.place(position, f".content[{index}]")
        if block.is_error and not isinstance(item, TextBlock):
            walk.report("L63", path, "an error result holds text only")
        _result_item(walk, item, path)


def _result_item(walk: Walk, item: ResultContent, path: str) -> None:
    if isinstance(item, TextBlock):
        _result_text(walk, item, path)
        if not has_value(item.citations):
            return
    elif isinstance(item, ToolReferenceBlock):
        walk.references.append(("L107", item.tool_name, f"{path}.tool_name"))
        return
    elif isinstance(item, ImageBlock):
        _picture(walk, item, path)
    elif isinstance(item, SearchResultBlock):
        _cited_search_result(walk, item, path)
    decoded = as_json(item)
    if decoded is not None:
        walk.violations.extend(check_result_block_shape(decoded, path, walk.context))


def _result_text(walk: Walk, item: TextBlock, path: str) -> None:
    if not item.text:
        walk.report("L07", f"{path}.text", "the text is empty")
    elif item.text.isspace():
        walk.report("W07", f"{path}.text", "the text is white space only, inside a result")
    elif not item.text.isascii() and has_lone_surrogate(item.text):
        walk.report("W01", f"{path}.text", "the text holds a lone surrogate")


def _server_tool_use(walk: Walk, block: ServerToolUseBlock, position: int) -> None:
    _shape(walk, block, position)
    judge_server_call(walk, block.id, ServerCall(block.name, position))


def _unknown(walk: Walk, block: UnknownBlock, position: int) -> None:
    _shape(walk, block, position)
    judge_unknown(walk, block, position)


BLOCK_RULES: dict[type, tuple[BlockRule, ...]] = {
    TextBlock: (_text,),
    ImageBlock: (_image,),
    DocumentBlock: (_document,),
    SearchResultBlock: (_search_result,),
    ThinkingBlock: (_thinking, _thinking_order),
    RedactedThinkingBlock: (_thinking_order,),
    ToolUseBlock: (_tool_use, _input),
    ToolResultBlock: (_tool_result,),
    ToolReferenceBlock: (_shape,),
    ServerToolUseBlock: (_server_tool_use,),
    UnknownBlock: (_unknown,),
}
