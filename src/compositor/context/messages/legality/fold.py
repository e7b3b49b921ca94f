"""The relation phase as a fold: what messages have to do with each other, at the cost of the new ones alone.

Decides the order of judging and what is known only at the end. The rules themselves are the tables of `blocks.py` and
`turns.py`; the scalars, tools and markers are `head.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from compositor.types.messages import Role, WireMessage

from .blocks import BLOCK_RULES
from .images import MANY_IMAGES, MANY_SIDE, MAX_IMAGES, MAX_IMAGES_SMALL_WINDOW, SMALL_WINDOW
from .rules import Violation
from .schemas import CALLED_AS
from .turns import MESSAGE_RULES, report_open_calls
from .walk import LegalityState, Walk
from .wire_context import WireContext

MAX_MESSAGES = 100_000


def check_messages(
    state: LegalityState, messages: Sequence[WireMessage], context: WireContext
) -> tuple[LegalityState, tuple[Violation, ...]]:
    """Judge `messages` behind those that `state` has seen.

    Gives the state behind them and their violations. Folding in pieces finds what folding at once finds.
    """
    walk = Walk(state, context)
    for message in messages:
        walk.begin(message)
        before, after = MESSAGE_RULES[message.role]
        for message_rule in before:
            message_rule(walk, message)
        for position, part in enumerate(message.parts):
            block = part.block
            for block_rule in BLOCK_RULES[type(block)]:
                block_rule(walk, block, position)
        for message_rule in after:
            message_rule(walk, message)
        walk.previous = message.role if message.role is not Role.SYSTEM else walk.previous
        walk.index += 1
    return walk.freeze(), tuple(walk.violations)


def check_end(
    state: LegalityState,
    context: WireContext,
    *,
    tools: Collection[str] | None = None,
    thinking: str | None = None,
    credited: bool = False,
    summarizing: bool = False,
) -> tuple[Violation, ...]:
    """What only the end of the list shows.

    `tools` are the declared names, `None` when there is no such list to compare with; `thinking` is the kind of thinking asked
    for; `credited`: a fallback credit allows one appended assistant message (L15); `summarizing`: compaction on demand is asked for,
    which may follow an answer but no open call (L157).
    """
    walk = Walk(state, context)
    _check_count(walk)
    if state.calls:
        report_open_calls(walk, "L157" if summarizing else "L55")
    if not (credited or summarizing) and state.previous is Role.ASSISTANT:
        _check_prefill(walk, thinking)
    _check_thinking(walk, thinking)
    walk.violations.extend(check_images(state, context))
    if tools is not None:
        _check_resumed(walk, tools)
        _check_references(walk, tools)
    return tuple(walk.violations)


def _check_count(walk: Walk) -> None:
    if not walk.index:
        walk.report("L02", "messages", "there are no messages")
    if walk.index > MAX_MESSAGES:
        walk.report("L01", "messages", f"{walk.index} messages are above {MAX_MESSAGES}")


def _check_prefill(walk: Walk, thinking: str | None) -> None:
    answer = walk.answer
    if answer is None or answer.is_resumable or answer.has_calls or walk.section is not None:
        return
    path = f"messages[{answer.index}]"
    if walk.context.prefill is False:
        walk.report("L13", path, "the list ends with an assistant message and the model takes no prefilled answer")
    elif thinking in {"enabled", "adaptive", "between_tools"}:
        walk.report("L14", path, "the list ends with an assistant message while thinking is on")
    elif answer.trailing_space is not None:
        walk.report("L16", answer.trailing_space, "the prefilled answer ends in white space")


def _check_thinking(walk: Walk, thinking: str | None) -> None:
    answer = walk.answer
    if answer is None:
        return
    path = f"messages[{answer.index}].content"
    if thinking == "enabled" and answer.has_calls and not answer.starts_with_thinking:
        walk.report("L85", f"{path}[0]", "the open tool turn does not start with its thinking")
    # Absent is not off: newer models think by default.
    is_last = answer.has_calls or walk.previous is Role.ASSISTANT
    if thinking == "disabled" and is_last and answer.thought is not None:
        walk.report("L87", f"{path}[{answer.thought}]", "the last answer holds thinking while thinking is disabled")


def _check_resumed(walk: Walk, tools: Collection[str]) -> None:
    """A turn that waits for a server tool goes on with that tool. A body without any tools is L66."""
    answer = walk.answer
    if answer is None or not tools or walk.previous is not Role.ASSISTANT or walk.section is not None:
        return
    for call in answer.waiting:
        if call.name is not None and not any(name in tools for name in CALLED_AS.get(call.name, (call.name,))):
            path = f"messages[{answer.index}].content[{call.block}].name"
            walk.report("L69", path, f"the turn waits for {call.name!r}, and no such tool is declared")


def check_images(state: LegalityState, context: WireContext) -> tuple[Violation, ...]:
    """What the images have to do with each other: their number, and their size when there are many."""
    found: list[Violation] = []
    most = MAX_IMAGES_SMALL_WINDOW if context.window is not None and context.window <= SMALL_WINDOW else MAX_IMAGES
    if state.images > most:
        found.append(Violation("L143", "messages", f"{state.images} images are above {most}"))
    if state.images > MANY_IMAGES:
        many = f"with {state.images} images in the request"
        for path, side in state.large:
            found.append(Violation("L141", path, f"{side} pixels on a side are above {MANY_SIDE}, {many}"))
    return tuple(found)


def _check_references(walk: Walk, tools: Collection[str]) -> None:
    state = walk.base
    if state.has_tool_blocks and not tools and not len(state.defined):
        walk.report("L66", "tools", "the messages hold tool blocks and there are no tools")
    known = frozenset(tools)
    reported: set[str] = set()
    for rule, name, path in state.references:
        if name not in known and name not in state.defined and name not in reported:
            reported.add(name)
            walk.report(rule, path, f"no tool {name!r} is declared")
