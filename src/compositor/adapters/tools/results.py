"""Reading a call's input and answering it.

Decides the form in which every built-in tool says that it is done or has failed. Never performs anything.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from compositor.context.tools.display import one_line
from compositor.types.blocks import ResultContent
from compositor.types.json import raw_json, repair_raw, repair_text, repair_value
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

Input = TypeVar("Input", bound=Struct)


class Problem(Struct, frozen=True):
    """Why a call cannot be done, in words for the model."""

    message: str


def read_input(call: ToolCall, shape: type[Input]) -> Input | Problem:
    """The call's input as `shape`. The gate has checked the schema before; this is the type-safe second look."""
    try:
        return msgspec.json.decode(bytes(repair_raw(call.input)), type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Problem(f"The input of {call.name} is not valid: {error}")


def done(
    call: ToolCall, content: str | tuple[ResultContent, ...], *, display: str, structured: dict[str, Any]
) -> ToolOutcome:
    """A call that did what it was asked."""
    return _outcome(call, OutcomeKind.DONE, content, display, structured)


def failed(
    call: ToolCall, message: str, *, display: str | None = None, structured: dict[str, Any] | None = None
) -> ToolOutcome:
    """A call that did not. Only text may stand beside an error (L63)."""
    return _outcome(call, OutcomeKind.FAILED, message, display or message, structured or {"error": message})


def _outcome(
    call: ToolCall,
    kind: OutcomeKind,
    content: str | tuple[ResultContent, ...],
    display: str,
    structured: dict[str, Any],
) -> ToolOutcome:
    return ToolOutcome(
        call_id=call.id,
        kind=kind,
        content=repair_text(content) if isinstance(content, str) else content,
        display=one_line(display),
        structured=_encoded(structured),
    )


def _encoded(structured: dict[str, Any]) -> Raw:
    try:
        return raw_json(structured)
    except UnicodeEncodeError:
        # A file that is no UTF-8 gives text with lone surrogates; the stdlib writes them, and then they can be repaired.
        return raw_json(repair_value(json.loads(json.dumps(structured))))
