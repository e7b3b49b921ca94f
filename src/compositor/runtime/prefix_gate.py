"""What stands between an event and a prefix that was paid for: the setting `compositor.cache.prefix`, and a person where it asks.

Decides yes or no to a move whose price is known. The price is computed in `loop/moves.py`.
"""

from __future__ import annotations

from compositor.loop.moves import Move, PrefixPolicy
from compositor.ports import Interviewer, Question

_SEND, _STOP = "Send", "Stop"


class PrefixGate:
    """One session's. Once a person has said yes to the events of a move, the same events are not asked about again."""

    def __init__(self, policy: PrefixPolicy, interviewer: Interviewer | None) -> None:
        self._policy = policy
        self._interviewer = interviewer
        self._allowed: set[str] = set()

    async def refuses(self, move: Move) -> str | None:
        """Why the request may not be sent; `None` lets it through. A full window is no choice: compaction is only said."""
        if self._policy is PrefixPolicy.WARN or not move.is_chosen:
            return None
        if self._policy is PrefixPolicy.REFUSE:
            return f"{move.text}; the setting compositor.cache.prefix refuses that"
        events = repr(move.events)
        if events in self._allowed:
            return None
        if self._interviewer is None:
            return f"{move.text}; the setting compositor.cache.prefix asks first, and nobody can be asked"
        options = ((_SEND, "the prefix is written again"), (_STOP, "nothing is sent"))
        question = Question(text=f"{move.text}. Send the request?", header="Cache", options=options)
        if await self._interviewer.answer(question) != _SEND:
            return f"{move.text}; it was not sent, as was answered"
        self._allowed.add(events)
        return None
