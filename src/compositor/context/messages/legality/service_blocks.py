"""The rules of blocks that have a wire name but no type of ours: server results, tool changes, compaction.

`NAMED_BLOCK_RULES` says which rule looks at which name. Their fields have been judged by the shape and may still be of any
type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compositor.types.blocks import UnknownBlock
from compositor.types.messages import Role

from .raw import decode_raw
from .schemas import SERVER_RESULTS, SIGNED_COMPACTION_BETA
from .walk import ServerCall, Walk

NamedBlock = Mapping[str, Any]


def judge_unknown(walk: Walk, block: UnknownBlock, position: int) -> None:
    """Judge a block by its wire name; a name without a rule is left to the shape."""
    rule = NAMED_BLOCK_RULES.get(block.type)
    decoded = decode_raw(block.raw) if rule is not None else None
    if rule is not None and isinstance(decoded, dict):
        rule(walk, decoded, position)


def judge_server_call(walk: Walk, call_id: str, call: ServerCall) -> None:
    """Remember a call that the service answers itself."""
    walk.new_server_ids[call_id] = None
    walk.open_server_calls[call_id] = call


def _server_result(walk: Walk, block: NamedBlock, position: int) -> None:
    call_id = block.get("tool_use_id")
    if not isinstance(call_id, str):
        return
    if not walk.has_server_call(call_id):
        path = walk.place(position, ".tool_use_id")
        walk.report("L70", path, f"no server tool call {call_id!r} stands before this result")
    walk.open_server_calls.pop(call_id, None)
    content = block.get("content")
    found = content.get("tool_references") if isinstance(content, dict) else None
    for index, item in enumerate(found if isinstance(found, list) else ()):
        name = item.get("tool_name") if isinstance(item, dict) else None
        if isinstance(name, str):
            place = walk.place(position, f".content.tool_references[{index}].tool_name")
            walk.references.append(("L107", name, place))


def _mcp_call(walk: Walk, block: NamedBlock, position: int) -> None:
    if isinstance(block.get("id"), str):
        judge_server_call(walk, block["id"], ServerCall(None, position))


def _fallback(walk: Walk, _block: NamedBlock, position: int) -> None:
    walk.fallback = position


def _compaction(walk: Walk, block: NamedBlock, position: int) -> None:
    if block.get("content") == "":
        walk.report("L155", walk.place(position, ".content"), "the summary is empty")
    if not isinstance(block.get("signature"), str):
        return
    if SIGNED_COMPACTION_BETA not in walk.context.betas:
        walk.report("L164", walk.place(position), f"needs the beta header {SIGNED_COMPACTION_BETA}")
    walk.signed_compactions += 1
    if walk.signed_compactions > 1:
        walk.report("L159", walk.place(position), "a second signed compaction block")
    elif walk.index or position or walk.role is Role.SYSTEM:
        walk.report("L158", walk.place(position), "something stands before the signed compaction block")


def _tool_change(walk: Walk, block: NamedBlock, position: int) -> None:
    path = walk.place(position)
    section = walk.section
    if walk.role is not Role.SYSTEM:
        walk.report("L45", path, f"a tool change stands in a {walk.role.value} message")
    elif section is not None and section.before is Role.ASSISTANT:
        walk.report("L45", path, "a tool change stands right after a paused turn")
    tool = block.get("tool")
    if not isinstance(tool, dict):
        return
    name = tool.get("name")
    if tool.get("type") == "tool_definition":
        definition = tool.get("definition")
        inner = definition.get("name") if isinstance(definition, dict) else name
        if isinstance(inner, str):
            walk.defined.append(inner)
    elif tool.get("type") == "tool_reference" and isinstance(name, str):
        walk.references.append(("L46", name, f"{path}.tool.name"))


NAMED_BLOCK_RULES: dict[str, Callable[[Walk, NamedBlock, int], None]] = {
    "compaction": _compaction,
    "tool_addition": _tool_change,
    "tool_removal": _tool_change,
    "mcp_tool_use": _mcp_call,
    "fallback": _fallback,
    **dict.fromkeys(SERVER_RESULTS, _server_result),
}
