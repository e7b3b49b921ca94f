"""An answer that was cut at its output limit: asked again with more room, then told about it (R381, R383, F37).

Decides whether one more request is worth it, its options, and what the model is told where there is no more room. The prefix is what it was: only
a scalar behind it differs. Nothing of a cut answer was dispatched, so nothing can run twice. Never sends.
"""

from __future__ import annotations

import msgspec

from compositor.context.wire.assemble import AssembledMessage
from compositor.types.attachments import TextAttachment
from compositor.types.request import RequestOptions

from .attempt import Answered, Failed

MAX_CUTS = 3
"""Answers in a row that may be cut at the top limit; the next one ends the turn (F37)."""
CUT = "max_tokens"
CUT_KIND = "output_limit"


def widen_output(answer: Answered | Failed | None, options: RequestOptions, limit: int) -> RequestOptions | None:
    """The options of the one resend with `limit` tokens of output; `None` when the answer was not cut or had that much room already."""
    if not isinstance(answer, Answered) or answer.message.stop_reason != CUT:
        return None
    if options.max_tokens >= limit:
        return None
    return msgspec.structs.replace(options, max_tokens=limit)


def fills_window(answer: Answered | Failed | None) -> bool:
    """Whether the answer was cut because the window is full: treated like a refusal for size, its cut text is dropped (wire page 7)."""
    return isinstance(answer, Answered) and answer.message.stop_reason == "model_context_window_exceeded"


def cut_note(message: AssembledMessage, limit: int) -> TextAttachment | None:
    """What the model is told about an answer that was cut at `limit` tokens, the top limit: the real cause, and how to go on (F37)."""
    if message.stop_reason != CUT:
        return None
    if message.cut:
        names = ", ".join(dict.fromkeys(repr(call.name) for call in message.cut))
        lost = (
            f"Your call of {names} was cut and did not run: nothing is wrong with the tool. Do the same work in parts that fit: "
            "write the first part of a file, then add to it with further calls."
        )
    elif message.calls:
        lost = "The calls that were complete ran. Continue behind them in smaller parts."
    else:
        lost = "Continue where the text broke off. Do not repeat what stands there, and do not begin anew."
    return TextAttachment(kind=CUT_KIND, text=f"Your last answer reached the output limit of {limit} tokens. {lost}")
