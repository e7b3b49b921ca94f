"""The rules that a whole message shows among its neighbours: roles and order, pairing, system sections, empty content.

`MESSAGE_RULES` says which rules look at a message before its blocks and after them. Decides nothing about a single block:
that is `blocks.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw

from compositor.types.blocks import (
    THINKING_TYPES,
    ServerToolUseBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    block_type,
)
from compositor.types.messages import TURN_SCOPED, Part, Role, WireMessage

from .schemas import SERVER_RESULTS
from .walk import Answer, Section, Walk

MessageRule = Callable[[Walk, WireMessage], None]

_SERVER_BLOCKS = frozenset({*SERVER_RESULTS, "mcp_tool_use"})


class SettingMessage(WireMessage, frozen=True, kw_only=True):
    """A message of a foreign body, with fields that our own messages do not have. `marked` are the blocks with a cache marker."""

    output_config: Raw | None = None
    marked: tuple[int, ...] = ()


def _first(walk: Walk, message: WireMessage) -> None:
    if walk.previous is None and message.role is Role.ASSISTANT and not _opens_with_compaction(message):
        walk.report("L05", f"messages[{walk.index}].role", "the first message is not from the user")


def _opens_with_compaction(message: WireMessage) -> bool:
    return bool(message.parts) and _wire_type(message.parts[0]) == "compaction"


def _wire_type(part: Part) -> str:
    return part.block.type if isinstance(part.block, UnknownBlock) else ""


def _end_of_hollow(walk: Walk, _message: WireMessage) -> None:
    if walk.hollow is not None:
        walk.report(
            "L06", f"messages[{walk.hollow}].content", "an assistant message without content is not the last one"
        )
        walk.hollow = None


def _end_of_section(walk: Walk, message: WireMessage) -> None:
    """A system section with content has ended; what follows must be an assistant message (L33)."""
    section = walk.section
    if section is None:
        return
    walk.section = None
    if section.content is None or message.role is Role.ASSISTANT:
        return
    # The text itself is badly placed when it stands last in its section; otherwise its group is (L35).
    rule = "L33" if section.content == walk.index - 1 else "L35"
    walk.report(rule, f"messages[{section.content}]", "a user message follows the system message")


def _empty_user(walk: Walk, message: WireMessage) -> None:
    if not message.parts:
        walk.report("L06", f"messages[{walk.index}].content", "the message has no content")


def _empty_assistant(walk: Walk, message: WireMessage) -> None:
    if not message.parts:
        walk.hollow = walk.index


def _answers(walk: Walk, message: WireMessage) -> None:
    """Every call of the previous message must have its result in this one."""
    if walk.calls:
        report_open_calls(walk)
        if walk.server_pending and walk.answered < len(message.parts):
            first = next(at for at, part in enumerate(message.parts) if not _is_result(part))
            walk.report("L68", walk.place(first), "beside a pending server tool the answer holds results only")
    walk.calls = walk.new_calls
    walk.caller = walk.index


def _is_result(part: Part) -> bool:
    return isinstance(part.block, ToolResultBlock)


def report_open_calls(walk: Walk, rule: str = "L55") -> None:
    """One finding for each call that has no result where it should be."""
    for call in walk.calls.values():
        if call.id not in walk.results:
            walk.report(
                rule,
                f"messages[{walk.caller}].content[{call.block}]",
                f"the call {call.id!r} has no result in the next message",
            )


def _close_user(walk: Walk, _message: WireMessage) -> None:
    walk.after_server = False
    walk.server_pending = False


def _close_assistant(walk: Walk, message: WireMessage) -> None:
    parts = message.parts
    last = parts[-1] if parts else None
    walk.after_server = last is not None and _is_server_block(last)
    walk.server_pending = bool(walk.open_server_calls)
    walk.answer = Answer(
        index=walk.index,
        thought=walk.thought,
        has_calls=bool(walk.new_calls),
        is_resumable=_is_resumable(message),
        waiting=tuple(walk.open_server_calls.values()),
        trailing_space=_trailing_space(walk, last),
    )


def _before_fallback(walk: Walk, message: WireMessage) -> None:
    """What the first model thought and asked for was dropped when another one took over."""
    if walk.fallback is None:
        return
    pending = {call.block for call in walk.open_server_calls.values()}
    for position, part in enumerate(message.parts[: walk.fallback]):
        if isinstance(part.block, (*THINKING_TYPES, ToolUseBlock)) or position in pending:
            path = walk.place(position)
            walk.report("L73", path, f"a {block_type(part.block)!r} block stands before the fallback to another model")


def _is_server_block(part: Part) -> bool:
    return isinstance(part.block, ServerToolUseBlock) or _wire_type(part) in _SERVER_BLOCKS


def _is_resumable(message: WireMessage) -> bool:
    """Whether this may stand last without being a prefilled answer: a paused turn (L72) or a compaction block alone."""
    if len(message.parts) == 1 and _opens_with_compaction(message):
        return True
    return any(_is_server_block(part) for part in message.parts)


def _trailing_space(walk: Walk, last: Part | None) -> str | None:
    if last is None or not isinstance(last.block, TextBlock):
        return None
    text = last.block.text
    return walk.place(len(walk.parts) - 1, ".text") if text[-1:].isspace() else None


def _system(walk: Walk, message: WireMessage) -> None:
    """Where a system message may stand (L30 to L36)."""
    path = f"messages[{walk.index}]"
    section = walk.section
    if section is None:
        section = Section(start=walk.index, before=walk.previous)
    if walk.context.system_role is False:
        walk.report("L30", f"{path}.role", "the model does not know the system role inside messages")
    if message.parts:
        if section.content is None:
            _place_of_section(walk, section, path)
        section = Section(start=section.start, before=section.before, content=walk.index)
    elif not isinstance(message, SettingMessage) or message.output_config is None:
        walk.report("L36", path, "the system message has neither content nor an effort")
    walk.section = section


def _place_of_section(walk: Walk, section: Section, path: str) -> None:
    is_own = section.start == walk.index
    if section.before is None:
        walk.report("L31" if is_own else "L35", path, "a system message with content is the first one")
    elif walk.calls:
        walk.report("L34", path, "the system message stands between a call and its result")
    elif section.before is Role.ASSISTANT and not walk.after_server:
        walk.report(
            "L32" if is_own else "L35",
            path,
            "the system message follows neither a user message nor a server tool's result",
        )


def _settings(walk: Walk, message: WireMessage) -> None:
    """The fields of a foreign system message beside its content (L37, L41 to L43)."""
    if not isinstance(message, SettingMessage):
        return
    path = f"messages[{walk.index}]"
    if message.output_config is not None and walk.context.mid_effort is False:
        walk.report("L37", f"{path}.output_config", "the model takes no effort inside messages")
    if message.clear_at != TURN_SCOPED:
        return
    if message.output_config is not None and message.output_config != Raw(b"null"):
        walk.report("L42", f"{path}.output_config", "a turn-scoped message has no output_config")
    for at, part in enumerate(message.parts):
        if _wire_type(part) in {"tool_addition", "tool_removal"}:
            walk.report("L41", walk.place(at), "a turn-scoped message holds text only")
    for at in message.marked:
        walk.report("L43", walk.place(at, ".cache_control"), "a turn-scoped message has no cache marker")


def _system_content(walk: Walk, message: WireMessage) -> None:
    for at, part in enumerate(message.parts):
        if not isinstance(part.block, TextBlock | UnknownBlock):
            walk.report("W03", walk.place(at, ".type"), f"{block_type(part.block)!r} does not belong here")


MESSAGE_RULES: dict[Role, tuple[tuple[MessageRule, ...], tuple[MessageRule, ...]]] = {
    Role.USER: ((_end_of_hollow, _end_of_section, _empty_user), (_answers, _close_user)),
    Role.ASSISTANT: (
        (_first, _end_of_hollow, _end_of_section, _empty_assistant),
        (_answers, _before_fallback, _close_assistant),
    ),
    Role.SYSTEM: ((_end_of_hollow, _system, _settings, _system_content), ()),
}
"""For each role: the rules before the blocks and those after them."""
