"""The status line: model, mode, context used, cache and the time it has left, money.

Decides what is in it and what goes first where the terminal is narrow. Every figure is of the session's own account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compositor.adapters.spending import spent_before
from compositor.config.price import cost, priced
from compositor.context.cache.book import SECONDS
from compositor.loop.accounting import Paid, seconds
from compositor.opened import Opened
from compositor.runtime.events import AgentEvent, AnswerEnded, Compacted, HeadRenewed, RequestStarted
from compositor.types.request import Ttl


class Status:
    """Of one session; hears its events. `waiting` counts what was typed ahead."""

    def __init__(self, opened: Opened, transcript: str, mode: Callable[[], str], waiting: Callable[[], int]) -> None:
        self._opened = opened
        self._mode = mode
        self._waiting = waiting
        prices = opened.contract.settings.compositor.prices
        self._price = priced(opened.contract.model, prices)
        self.dollars = spent_before(transcript, prices).dollars
        self._paid: Paid | None = opened.account.paid
        self._ttl = Ttl.SHORT
        self.tokens = 0 if self._paid is None else self._paid.tokens
        self.cache = ""

    def hear(self, event: AgentEvent) -> None:
        match event:
            case RequestStarted(compiled=compiled, forecast=forecast):
                self.tokens, self._ttl = forecast.total, compiled.options.ttl
            case AnswerEnded(message=message, cache=cache):
                usage = message.usage
                self.tokens = usage.total_input + usage.output_tokens
                self._paid = Paid(usage.read + usage.written, self._now(), self._ttl)
                self.cache = cache.verdict.value.replace("_", " ")
                if self._price is not None:
                    self.dollars += cost(usage, self._price)
            case Compacted(after=after):
                self.tokens = after
            case HeadRenewed():
                self._paid = None
            case _:
                pass

    def left(self) -> float | None:
        """Seconds that the cache still holds what was written; `None` where nothing was."""
        if self._paid is None or not self._paid.tokens:
            return None
        return self._paid.at + SECONDS[self._paid.ttl] - self._now()

    def line(self, width: int) -> str:
        """As many parts as fit into `width` columns, the most important first."""
        found = ""
        for part in self.parts():
            longer = f"{found} · {part}" if found else part
            if len(longer) > width:
                break
            found = longer
        return found

    def parts(self) -> Iterator[str]:
        contract = self._opened.contract
        yield contract.model
        yield self._mode()
        window = contract.window.tokens
        yield f"{self.tokens / window:.0%} of {_short(window)}"
        if self._waiting():
            yield f"{self._waiting()} waiting"
        yield self._cache_part()
        yield f"${self.dollars:.4f}" if self._price is not None else "price unknown"
        yield self._opened.header.session_id[:8]

    def _cache_part(self) -> str:
        left = self.left()
        if left is None:
            return "cache empty"
        if left <= 0:
            return "cache expired"
        minutes, rest = divmod(int(left), 60)
        return f"cache {minutes}:{rest:02}"

    def _now(self) -> float:
        return seconds(self._opened.clock.now())


def _short(tokens: int) -> str:
    return f"{tokens / 1_000_000:g}M" if tokens >= 1_000_000 else f"{tokens // 1000}k"
