"""Whether the fields beside the messages may be what they are, for this model: limits, thinking, effort, edits (wire page 3.1, 3.4, 3.8).

Decides the refusals of L10, L18 to L22, L85 to L95 and L150 to L164 that a well-formed body can show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .conversation import Block, as_blocks, blocks_of, is_result, is_thought, turns_of
from .grammar import Circumstances
from .refusal import Refusal
from .shapes import INTERLEAVED, ON_DEMAND

Body = Mapping[str, Any]
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_PERSONAL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|\+?[\d\s()-]{7,}")


def check_options(body: Body, given: Circumstances) -> Iterator[Refusal]:
    yield from _check_scalars(body, given)
    yield from _check_pre_warm(body, given)
    yield from _check_sampling(body, given)
    yield from _check_thinking(body, given)
    yield from _check_effort(body, given)
    yield from _check_replayed_thinking(body, given)
    yield from _check_edits(body, given)
    yield from _check_signed_block(body, given)


def _check_scalars(body: Body, given: Circumstances) -> Iterator[Refusal]:
    if not body["model"]:
        yield Refusal(message="model: Input should be a valid string")
    limit = body.get("max_tokens")
    if limit is not None and limit < 0:
        yield Refusal(message="max_tokens: Input should be greater than or equal to 0")
    elif limit is not None and limit > given.profile.max_output:
        yield Refusal(
            message=f"max_tokens: {limit} > {given.profile.max_output}, which is the maximum allowed number of output "
            f"tokens for {body['model']}",
            rule="L18",
        )
    user = (body.get("metadata") or {}).get("user_id")
    if user is not None and (len(user) > 256 or _PERSONAL.fullmatch(user)):
        yield Refusal(message="metadata.user_id: should be an opaque identifier of at most 256 characters", rule="L22")


def _check_pre_warm(body: Body, given: Circumstances) -> Iterator[Refusal]:
    if body.get("max_tokens") != 0 or given.counting:
        return
    thinking = (body.get("thinking") or {}).get("type")
    barred = {
        "stream": body.get("stream"),
        "thinking.enabled": thinking == "enabled",
        "output_config.format": (body.get("output_config") or {}).get("format"),
        "tool_choice": _choice(body) in {"any", "tool"},
    }
    for name, is_set in barred.items():
        if is_set:
            yield Refusal(message=f"max_tokens: 0 cannot be used with {name}", rule="L21")


def _check_sampling(body: Body, given: Circumstances) -> Iterator[Refusal]:
    if given.profile.sampling:
        return
    for name in ("temperature", "top_p", "top_k"):
        if body.get(name) not in (None, 1, 1.0) and not given.is_current:
            yield Refusal(message=f"{name}: only the default is supported on this model", rule="L10")


def _check_thinking(body: Body, given: Circumstances) -> Iterator[Refusal]:
    thinking = body.get("thinking") or {}
    kind, known = thinking.get("type"), given.profile.thinking
    if _choice(body) in {"any", "tool"}:
        if not given.profile.forced_tools:
            said = 'tool_choice: type "tool" and "any" are not supported for this model'
            yield Refusal(message=said, rule="L94")
        elif kind == "enabled":
            yield Refusal(message="Thinking may not be enabled when tool_choice forces tool use.", rule="L93")
    if kind is None:
        return
    if known is not None and kind not in known:
        said = f'"thinking.type.{kind}" is not supported for this model'
        adaptive = "adaptive thinking is not supported on this model"
        yield Refusal(message=adaptive if kind == "adaptive" else said, rule="L91")
    if kind == "enabled":
        yield from _check_budget(thinking["budget_tokens"], body, given)


def _check_budget(budget: int, body: Body, given: Circumstances) -> Iterator[Refusal]:
    if budget < 1024:
        at = "thinking.enabled.budget_tokens"
        yield Refusal(message=f"{at}: Input should be greater than or equal to 1024", rule="L90")
    elif INTERLEAVED not in given.betas and body.get("max_tokens") is not None and budget >= body["max_tokens"]:
        yield Refusal(message="max_tokens must be greater than thinking.budget_tokens", rule="L90")


def _check_effort(body: Body, given: Circumstances) -> Iterator[Refusal]:
    effort = (body.get("output_config") or {}).get("effort")
    if effort is None:
        return
    known, cap = given.profile.efforts, given.profile.off_effort_cap
    if known is not None and effort not in known:
        yield Refusal(message=f"This model does not support effort level '{effort}'", rule="W08")
    kind = (body.get("thinking") or {}).get("type")
    if kind in {"disabled", "between_tools"} and cap is not None and _EFFORTS.index(effort) > _EFFORTS.index(cap):
        yield Refusal(
            message=f"output_config.effort: '{effort}' cannot be used with thinking.type '{kind}'", rule="L92"
        )


def _check_replayed_thinking(body: Body, given: Circumstances) -> Iterator[Refusal]:
    """With manual thinking, the assistant turn that waits for results starts with its thinking (L85).

    Models without adaptive thinking want it first in each message that has any (L86).
    """
    kinds = given.profile.thinking
    if kinds is not None and "adaptive" not in kinds:
        yield from _check_first(body)
    if (body.get("thinking") or {}).get("type") != "enabled":
        return
    turns = turns_of(body["messages"])
    asks = [turn for turn in turns if turn.role == "assistant" and turn.blocks]
    waits = turns and any(map(is_result, turns[-1].blocks))
    if waits and asks and not is_thought(asks[-1].blocks[0]):
        number, index = asks[-1].places[0]
        said = f"Expected `thinking` or `redacted_thinking`, but found `{asks[-1].blocks[0]['type']}`"
        yield Refusal(message=f"messages.{number}.content.{index}: {said}", rule="L85")


def _check_first(body: Body) -> Iterator[Refusal]:
    for number, message in enumerate(body["messages"]):
        blocks = as_blocks(message.get("content"))
        if any(map(is_thought, blocks)) and not is_thought(blocks[0]):
            said = "the first block must be `thinking` or `redacted_thinking`"
            yield Refusal(message=f"messages.{number}.content.0: {said}", rule="L86")


def _check_edits(body: Body, given: Circumstances) -> Iterator[Refusal]:
    kind = (body.get("thinking") or {}).get("type")
    is_off = kind == "disabled" or (kind is None and given.profile.thinks_unasked is False)
    edits = (body.get("context_management") or {}).get("edits") or ()
    for index, edit in enumerate(edits):
        at = f"context_management.edits.{index}"
        if edit["type"] == "clear_thinking_20251015":
            if index:
                yield Refusal(message=f"{at}: clear_thinking_20251015 must be the first edit", rule="L151")
            if is_off:
                said = "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"
                yield Refusal(message=said, rule="L152")
            keep = edit.get("keep")
            if isinstance(keep, str) and keep != "all":
                yield Refusal(message=f"{at}.keep: Input should be 'all'", rule="L153")
            elif isinstance(keep, dict) and keep["type"] == "thinking_turns" and keep["value"] < 1:
                yield Refusal(message=f"{at}.keep.value: Input should be greater than 0", rule="L153")
        elif edit["type"] == "compact_20260112" and (edit.get("trigger") or {}).get("value", 50_000) < 50_000:
            said = f"{at}.trigger.value: Input should be greater than or equal to 50000"
            yield Refusal(message=said, rule="L154")


def check_compaction(body: Body, given: Circumstances) -> Iterator[Refusal]:
    """What a request for a summary may not hold (L156, L157, L161); its own codes come before the rules of any conversation."""
    if not body.get("compaction") or not body["messages"]:
        return
    if not given.profile.on_demand_compaction:
        yield Refusal(message="compaction: Extra inputs are not permitted")
    config = body.get("output_config") or {}
    barred = {
        "context_management": body.get("context_management"),
        "stop_sequences": body.get("stop_sequences"),
        "output_config.format": config.get("format"),
        "tool_choice": _choice(body) in {"any", "tool"},
        "output_config.task_budget.remaining": "remaining" in (config.get("task_budget") or {}),
    }
    for name, is_set in barred.items():
        if is_set:
            yield Refusal(message=f"compaction: cannot be used with {name}", rule="L156")
    if len(body["compaction"].get("instructions") or "") > 16_384:
        yield Refusal(message="compaction.instructions: String should have at most 16384 characters")
    if all(message["role"] == "system" for message in body["messages"]):
        said = "compaction: there is nothing to summarize"
        yield Refusal(message=said, error_code="compaction_nothing_to_summarize", rule="L161")
    last = as_blocks(body["messages"][-1].get("content"))
    if body["messages"][-1]["role"] == "assistant" and any(block["type"] == "tool_use" for block in last):
        said = "compaction: the last assistant turn waits for a tool result"
        yield Refusal(message=said, error_code="compaction_incomplete_turn", rule="L157")


def _check_signed_block(body: Body, given: Circumstances) -> Iterator[Refusal]:
    """Blocks of on-demand compaction: first, alone, behind their header; empty text in any compaction block (L155, L158 to L164)."""
    found = [(n, i, role, block) for n, i, role, block in blocks_of(body["messages"]) if block["type"] == "compaction"]
    for number, index, _, block in found:
        if block.get("content") == "":
            said = f"messages.{number}.content.{index}.compaction.content: String should have at least 1 character"
            yield Refusal(message=said, rule="L155")
    signed = [entry for entry in found if _is_signed(entry[3])]
    for number, index, _, _ in signed:
        if not given.has((ON_DEMAND,)):
            said = f"messages.{number}.content.{index}: `compaction` is not an expected content type"
            yield Refusal(message=said, rule="L164")
    if len(signed) > 1:
        said = "messages: more than one compaction block with content"
        yield Refusal(message=said, error_code="compaction_block_ambiguous", rule="L159")
    for number, index, role, _ in signed[:1]:
        if role == "system" or (number, index) != (0, 0):
            said = f"messages.{number}.content.{index}: a signed compaction block must be the first of the conversation"
            yield Refusal(message=said, error_code="compaction_block_misplaced", rule="L158")


def _is_signed(block: Block) -> bool:
    return bool(block.get("signature")) and block.get("content") is not None


def _choice(body: Body) -> object:
    return (body.get("tool_choice") or {}).get("type")
