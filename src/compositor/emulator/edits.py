"""What the service does to a conversation before the model sees it: cleared results, cleared thinking, summaries (wire page 5).

Decides which edits take effect and what is left. Never writes a summary: the script says what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from .conversation import Block, as_blocks, blocks_of, is_result, is_thought
from .rendering import Sight, pieces_of

Body = Mapping[str, Any]
CLEARED = "[Old tool result content cleared]"
_CLEAR_TRIGGER, _COMPACT_TRIGGER, _KEPT_USES = 100_000, 150_000, 3


class Edited(Struct, frozen=True, kw_only=True):
    """`body` as the model sees it, `applied` as the answer reports it. `summarizes`: a threshold of compaction was reached."""

    body: dict[str, Any]
    original_tokens: int
    applied: tuple[Mapping[str, Any], ...] = ()
    summarizes: bool = False
    pauses: bool = False


def edited(body: Body, sight: Sight) -> Edited:
    """Apply the request's edits in their order. What a summary stands for is left out first."""
    seen = behind_summary(body)
    original = tokens_of(seen, sight)
    applied: list[Mapping[str, Any]] = []
    summarizes = pauses = False
    for edit in (body.get("context_management") or {}).get("edits") or ():
        match edit["type"]:
            case "clear_thinking_20251015":
                seen, report = _clear_thinking(seen, edit, sight)
            case "clear_tool_uses_20250919":
                seen, report = _clear_uses(seen, edit, sight)
            case _:
                report = None
                if tokens_of(seen, sight) >= (edit.get("trigger") or {}).get("value", _COMPACT_TRIGGER):
                    summarizes, pauses = True, bool(edit.get("pause_after_compaction"))
        applied += [report] if report else []
    return Edited(body=seen, original_tokens=original, applied=tuple(applied), summarizes=summarizes, pauses=pauses)


def tokens_of(body: Body, sight: Sight) -> int:
    return sum(piece.tokens for piece in pieces_of(body, sight))


def behind_summary(body: Body) -> dict[str, Any]:
    """The body from its last summary on; a failed one (no content) stands for nothing."""
    places = [
        (number, index)
        for number, index, _, block in blocks_of(body["messages"])
        if block["type"] == "compaction" and block.get("content") is not None
    ]
    if not places:
        return dict(body)
    number, index = places[-1]
    first = body["messages"][number]
    kept = [{**first, "content": as_blocks(first["content"])[index:]}, *body["messages"][number + 1 :]]
    return {**body, "messages": kept}


def _clear_thinking(body: dict[str, Any], edit: Body, sight: Sight) -> tuple[dict[str, Any], Mapping[str, Any] | None]:
    keep: Any = edit.get("keep")
    if keep is None:
        keep = "all" if sight.keeps_thinking else {"type": "thinking_turns", "value": 1}
    if keep == "all" or keep["type"] == "all":
        return body, None
    thinking = [
        number
        for number, message in enumerate(body["messages"])
        if any(map(is_thought, as_blocks(message.get("content"))))
    ]
    gone = set(thinking[: -keep["value"]])
    if not gone:
        return body, None
    messages = [
        {**message, "content": [block for block in as_blocks(message["content"]) if not is_thought(block)]}
        if number in gone
        else message
        for number, message in enumerate(body["messages"])
    ]
    after = {**body, "messages": messages}
    cleared = tokens_of(body, sight) - tokens_of(after, sight)
    return after, {
        "type": "clear_thinking_20251015", "cleared_input_tokens": cleared, "cleared_thinking_turns": len(gone),
    }  # fmt: skip


def _clear_uses(body: dict[str, Any], edit: Body, sight: Sight) -> tuple[dict[str, Any], Mapping[str, Any] | None]:
    calls = [block for _, _, _, block in blocks_of(body["messages"]) if block["type"] == "tool_use"]
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": _CLEAR_TRIGGER}
    size = len(calls) if trigger["type"] == "tool_uses" else tokens_of(body, sight)
    if size < trigger["value"]:
        return body, None
    keep = (edit.get("keep") or {}).get("value", _KEPT_USES)
    old = calls[: len(calls) - keep]
    gone = {call["id"] for call in old if call["name"] not in (edit.get("exclude_tools") or ())}
    after = {**body, "messages": [_cleared(message, gone, edit) for message in body["messages"]]}
    cleared = tokens_of(body, sight) - tokens_of(after, sight)
    if not gone or cleared < (edit.get("clear_at_least") or {}).get("value", 0):
        return body, None
    report = {"type": "clear_tool_uses_20250919", "cleared_input_tokens": cleared, "cleared_tool_uses": len(gone)}
    return after, report


def _cleared(message: Mapping[str, Any], gone: set[str], edit: Body) -> Mapping[str, Any]:
    inputs = edit.get("clear_tool_inputs")

    def change(block: Block) -> Block:
        if is_result(block) and block["tool_use_id"] in gone:
            return {**block, "content": CLEARED}
        if block["type"] == "tool_use" and block["id"] in gone and (inputs is True or _names(inputs, block["name"])):
            return {**block, "input": {}}
        return block

    return {**message, "content": [change(block) for block in as_blocks(message.get("content"))]}


def _names(inputs: object, name: str) -> bool:
    return isinstance(inputs, Sequence) and not isinstance(inputs, str) and name in inputs
