"""An answer that was cut at its output limit: asked again with more room (R381, R383, F37).

Decides whether one more request is worth it, and its options. The prefix is what it was: only a scalar behind it differs. Nothing of
a cut answer was dispatched, so nothing can run twice. Never sends.
"""

from __future__ import annotations

import msgspec

from compositor.types.request import RequestOptions

from .attempt import Answered, Failed


def widen_output(answer: Answered | Failed | None, options: RequestOptions, limit: int) -> RequestOptions | None:
    """The options of the one resend with `limit` tokens of output; `None` when the answer was not cut or had that much room already."""
    if not isinstance(answer, Answered) or answer.message.stop_reason != "max_tokens":
        return None
    if options.max_tokens >= limit:
        return None
    return msgspec.structs.replace(options, max_tokens=limit)
