"""An ordinary foreign body, read in one typed decode: prompts, answers, calls, and their results in order.

Decides whether a body is one, by looking; nearly every body of a coding agent is. Whatever it does not know, and whatever a rule would mind, it
leaves to the whole check (`whole.py`), which gives the same for what it does know (a property holds it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from compositor.types.messages import Role

from .walk import Answer, LegalityState

_LEGAL_ID = re.compile(r"(?!srvtoolu_)[a-zA-Z0-9_-]+\Z")


class _Text(Struct, tag="text", forbid_unknown_fields=True, omit_defaults=True, gc=False):
    text: str
    cache_control: Any = None


class _Thinking(Struct, tag="thinking", forbid_unknown_fields=True, omit_defaults=True, gc=False):
    thinking: str
    signature: str
    cache_control: Any = None


class _Redacted(Struct, tag="redacted_thinking", forbid_unknown_fields=True, omit_defaults=True, gc=False):
    data: str
    cache_control: Any = None


class _Call(Struct, tag="tool_use", forbid_unknown_fields=True, omit_defaults=True, gc=False):
    id: str
    name: str
    input: dict[str, Any]
    cache_control: Any = None


class _Said(Struct, tag="text", forbid_unknown_fields=True, gc=False):
    """Text inside a result."""

    text: str


class _Result(Struct, tag="tool_result", forbid_unknown_fields=True, omit_defaults=True, gc=False):
    tool_use_id: str
    content: str | list[_Said] = ""
    is_error: bool = False
    cache_control: Any = None


_Block: TypeAlias = _Text | _Thinking | _Redacted | _Call | _Result


class _Message(Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["user", "assistant"]
    content: str | list[_Block]


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_messages = msgspec.json.Decoder(list[_Message]).decode


class PlainBody(Struct, frozen=True, kw_only=True):
    """`fields` are the decoded fields but `messages`; of these stand in `marked` those with a cache marker, by index, and `state` is behind them."""

    fields: dict[str, Any]
    count: int
    marked: dict[int, dict[str, Any]]
    state: LegalityState


def read_plain(data: bytes) -> PlainBody | None:
    """`None` for every other body."""
    try:
        raws = _decode_fields(data)
        messages = _decode_messages(raws.pop("messages"))
        fields = {name: msgspec.json.decode(raw) for name, raw in raws.items()}
    except (KeyError, ValueError, msgspec.DecodeError, RecursionError):
        return None
    state = _state_behind(messages)
    if state is None:
        return None
    marked = {at: _as_dict(message) for at, message in enumerate(messages) if _is_marked(message)}
    return PlainBody(fields=fields, count=len(messages), marked=marked, state=state)


def _state_behind(messages: Sequence[_Message]) -> LegalityState | None:
    """The state that the whole check would leave; `None` when it would find anything, or when a call waits at the end."""
    used: set[str] = set()
    calls: Sequence[str] = ()
    answered = -1
    for at, message in enumerate(messages):
        content = message.content
        if message.role == "assistant":
            opened = None if calls or not at else _open_calls(content, used)
            if opened is None:
                return None
            calls, answered = opened, at
        elif _answers(content, calls):
            calls = ()
        else:
            return None
    if calls or not messages:
        return None
    return LegalityState(
        index=len(messages),
        previous=Role(messages[-1].role),
        caller=len(messages) - 1,
        answer=None if answered < 0 else _answer(messages[answered].content, answered),
        has_tool_blocks=bool(used),
    )


def _open_calls(content: str | list[_Block], used: set[str]) -> Sequence[str] | None:
    """The calls of an answer, whose ids join `used`; `None` for an answer that is not plain."""
    if isinstance(content, str):
        return () if _is_visible(content) else None
    calls: list[str] = []
    for block in content:
        kind = type(block)
        if kind is _Text:
            if not _is_visible(block.text):  # type: ignore[union-attr]
                return None
        elif isinstance(block, _Call):
            if block.id in used or _LEGAL_ID.match(block.id) is None:
                return None
            used.add(block.id)
            calls.append(block.id)
        elif (
            isinstance(block, _Result)
            or not isinstance(content[0], (_Thinking, _Redacted))
            or (isinstance(block, _Thinking) and not block.signature)
        ):
            return None
    return calls if content else None


def _answers(content: str | list[_Block], calls: Sequence[str]) -> bool:
    """Whether a message of the user holds the results of `calls` in order and then visible text only."""
    if isinstance(content, str):
        return not calls and _is_visible(content)
    expected = len(calls)
    if len(content) < expected or not content:
        return False
    for position, block in enumerate(content):
        if position < expected:
            if not isinstance(block, _Result) or block.tool_use_id != calls[position]:
                return False
            if not isinstance(block.content, str) and not all(_is_visible(item.text) for item in block.content):
                return False
        elif not isinstance(block, _Text) or not _is_visible(block.text):
            return False
    return True


def _is_visible(text: str) -> bool:
    return bool(text) and not text.isspace()


def _answer(content: str | list[_Block], index: int) -> Answer:
    blocks = [_Text(content)] if isinstance(content, str) else content
    last = blocks[-1]
    path = f"messages[{index}].content"
    place = path if isinstance(content, str) else f"{path}[{len(blocks) - 1}].text"
    return Answer(
        index=index,
        thought=0 if isinstance(blocks[0], (_Thinking, _Redacted)) else None,
        has_calls=any(isinstance(block, _Call) for block in blocks),
        is_resumable=False,
        trailing_space=place if isinstance(last, _Text) and last.text[-1:].isspace() else None,
    )


def _is_marked(message: _Message) -> bool:
    content = message.content
    if isinstance(content, str):
        return False
    for block in content:  # noqa: SIM110 - a generator for each message costs as much as the whole decode
        if block.cache_control is not None:
            return True
    return False


def _as_dict(message: _Message) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(message))
    return decoded
