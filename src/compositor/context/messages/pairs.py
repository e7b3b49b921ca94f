"""Pair repair: every call of the model is answered in the very next message, once, in call order (L55 to L59, F01 to F03).

Decides what stands in for a missing result and what happens to a stray one. Works on one round: the assistant message that opens it and
everything after it up to the next assistant message.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import msgspec

from compositor.types.blocks import ToolResultBlock, ToolUseBlock
from compositor.types.messages import Part, Role
from compositor.types.provenance import Attribution, Lane, Lifetime, Source

from .drafts import Draft, Notes, RoundContext, is_unfinished

STEP = "pairs"
INTERRUPTED = "The call was interrupted before it gave a result."

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_ILLEGAL_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")


def repair_pairs(context: RoundContext, drafts: Sequence[Draft], notes: Notes) -> Sequence[Draft]:
    """Give every call one result, first thing in the next message; drop results that answer nothing. Renames illegal or repeated ids."""
    at = next(
        (at for at, draft in enumerate(drafts) if draft.role is Role.ASSISTANT and not is_unfinished(draft)), None
    )
    opening = None if at is None else _without_twins(drafts[at], notes)
    calls = tuple(part.block for part in opening.parts if isinstance(part.block, ToolUseBlock)) if opening else ()
    if not calls and not any(_has_result(draft) for draft in drafts):
        return drafts
    names = _legal_ids(calls, context)
    others = [draft for draft in drafts if at is None or draft is not drafts[at]]
    if calls:
        _note_moved(others[at or 0 :], notes)
    results, rest = _take_results(others)
    repaired = rest[: at or 0]
    if opening is not None:
        repaired.append(_rename_calls(opening, names))
    if calls:
        repaired.append(_results_draft(calls, names, results, notes))
    _note_strays(results, notes)
    repaired.extend(rest[at or 0 :])
    return repaired


def _note_moved(behind: Sequence[Draft], notes: Notes) -> None:
    """Say what stands between a call and its result and goes behind it (R392)."""
    last = max((at for at, draft in enumerate(behind) if _has_result(draft)), default=0)
    for draft in behind[:last]:
        if not _has_result(draft) and draft.parts:
            notes.leave_out(STEP, "the place of a note", "results come first (L55); it goes behind them", draft.source)


def _without_twins(opening: Draft, notes: Notes) -> Draft:
    """A call that stands twice with the same id, name and input was stored twice, not made twice (F03)."""
    seen: set[tuple[str, str, bytes]] = set()
    kept: list[Part] = []
    for part in opening.parts:
        block = part.block
        if isinstance(block, ToolUseBlock):
            key = (block.id, block.name, bytes(block.input))
            if key in seen:
                notes.leave_out(
                    STEP, f"a copy of the call {block.id!r}", "it was stored twice (L57)", part.origin.source
                )
                continue
            seen.add(key)
        kept.append(part)
    return opening if len(kept) == len(opening.parts) else msgspec.structs.replace(opening, parts=tuple(kept))


def _has_result(draft: Draft) -> bool:
    return any(isinstance(part.block, ToolResultBlock) for part in draft.parts)


def _legal_ids(calls: Sequence[ToolUseBlock], context: RoundContext) -> tuple[str, ...]:
    """The id under which each call goes out: its own where that is legal and new, else always the same other one."""
    taken: set[str] = set()
    names: list[str] = []
    for call in calls:
        name = call.id if _LEGAL_ID.match(call.id) else _sanitized(call.id)
        count = 1
        candidate = name
        while candidate in taken or candidate in context.used_ids:
            count += 1
            candidate = f"{name}_{count}"
        taken.add(candidate)
        names.append(candidate)
    return tuple(names)


def _sanitized(call_id: str) -> str:
    suffix = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_ILLEGAL_CHARACTER.sub('_', call_id)}_{suffix}"


def _rename_calls(opening: Draft, names: Sequence[str]) -> Draft:
    fresh = iter(names)
    parts = [
        _renamed(part, part.block, next(fresh)) if isinstance(part.block, ToolUseBlock) else part
        for part in opening.parts
    ]
    return msgspec.structs.replace(opening, parts=tuple(parts))


def _renamed(part: Part, call: ToolUseBlock, name: str) -> Part:
    return part if name == call.id else Part(msgspec.structs.replace(call, id=name), part.origin)


def _take_results(drafts: Sequence[Draft]) -> tuple[dict[str, list[Part]], list[Draft]]:
    """Split off all results, by the id they answer; what remains keeps its order."""
    results: dict[str, list[Part]] = {}
    rest: list[Draft] = []
    for draft in drafts:
        kept = []
        for part in draft.parts:
            if isinstance(part.block, ToolResultBlock):
                results.setdefault(part.block.tool_use_id, []).append(part)
            else:
                kept.append(part)
        if kept:
            rest.append(msgspec.structs.replace(draft, parts=tuple(kept)))
        elif not draft.parts:
            rest.append(draft)
    return results, rest


def _results_draft(
    calls: Sequence[ToolUseBlock], names: Sequence[str], results: dict[str, list[Part]], notes: Notes
) -> Draft:
    answers: list[Part] = []
    for call, name in zip(calls, names, strict=True):
        waiting = results.get(call.id)
        answers.append(_answer(call, name, waiting.pop(0) if waiting else None, notes))
    return Draft(role=Role.USER, parts=tuple(answers), source=answers[0].origin.source)


def _note_strays(results: dict[str, list[Part]], notes: Notes) -> None:
    for call_id, spare in results.items():
        for part in spare:
            notes.leave_out(
                STEP, f"a result for {call_id!r}", "no open call has this id (L56, L58)", part.origin.source
            )


def _answer(call: ToolUseBlock, name: str, found: Part | None, notes: Notes) -> Part:
    if found is None:
        notes.leave_out(STEP, f"the result of {call.name} ({call.id})", "it never arrived; an error stands in", None)
        origin = Attribution(
            Source("repair", STEP), Lane.CONVERSATION, Lifetime.CONVERSATION, "a call must be answered (L55)"
        )
        return Part(ToolResultBlock(name, INTERRUPTED, is_error=True), origin)
    result = found.block
    if not isinstance(result, ToolResultBlock) or (name == call.id and result.toolset_name == call.toolset_name):
        return found
    # A member of a toolset is answered under the same toolset (L67).
    return Part(msgspec.structs.replace(result, tool_use_id=name, toolset_name=call.toolset_name), found.origin)
