"""The state behind plain rounds, without judging them block by block.

Decides where that may be done and what the state is then. `check_messages` over the same messages gives the same state and no finding; what a
plain round is stands in `messages/plain.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from compositor.types.blocks import TextBlock, ToolUseBlock
from compositor.types.messages import Role, WireMessage

from .walk import Answer, LegalityState


def takes_plain(state: LegalityState) -> bool:
    """Whether nothing is open that the next message has to close: no call, no system section, no message without content."""
    began = state.previous is not None or not state.index
    return began and not state.calls and state.section is None and state.hollow is None


def after_plain(state: LegalityState, rounds: Sequence[tuple[WireMessage, ...]], calls: Iterable[str]) -> LegalityState:
    """The state behind `rounds`, at least one; `calls` are the ids of their calls."""
    index = state.index + sum(map(len, rounds))
    last = rounds[-1]
    call_ids = state.call_ids.add_all(calls)
    return msgspec.structs.replace(
        state,
        index=index,
        previous=last[-1].role,
        caller=index - 1,
        server_pending=False,
        after_server=False,
        answer=_answer(last[0], index - len(last)) if last[0].role is Role.ASSISTANT else state.answer,
        has_tool_blocks=state.has_tool_blocks or len(call_ids) > len(state.call_ids),
        call_ids=call_ids,
    )


def _answer(message: WireMessage, index: int) -> Answer:
    parts = message.parts
    last = parts[-1].block
    ends_in_space = isinstance(last, TextBlock) and last.text[-1:].isspace()
    return Answer(
        index=index,
        thought=None,
        has_calls=any(isinstance(part.block, ToolUseBlock) for part in parts),
        is_resumable=False,
        trailing_space=f"messages[{index}].content[{len(parts) - 1}].text" if ends_in_space else None,
    )
