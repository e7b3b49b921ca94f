"""The ladder of what can be done about a full window, from what costs nothing to what costs a model call (R281, R282, P31).

Decides which step is taken: the first that is possible and makes enough room. Gain and cost of every step are computed first and kept, so that
the choice can be shown. Performs nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from msgspec import Struct

from compositor.config.price import Price

from .budget import Budget


class Step(enum.StrEnum):
    """The steps, cheapest first."""

    NOTHING = "nothing"
    SERVER_EDIT = "server_edit"
    COLD_CLEAN = "cold_clean"
    SESSION_MEMORY = "session_memory"
    SERVER_SUMMARY = "server_summary"
    SUMMARY = "summary"
    OUTLINE = "outline"


class Trigger(enum.StrEnum):
    """Why compaction is considered: the window fills up, the service refused the size, or a person asks for it."""

    AUTO = "auto"
    OVERFLOW = "overflow"
    MANUAL = "manual"


class Situation(Struct, frozen=True, kw_only=True):
    """What the choice depends on. All sizes in tokens, estimated.

    `tokens` is the next request, `fixed` its part that no step touches (tools, system, user context), `kept` what is kept word for word,
    `cached` what would be read from the cache. `clearable` are old tool results; `edits` tells whether the service clears them itself and
    `edited` what it has cleared so far, `cold` that nothing of the messages is in the cache. `memory` is the session memory, 0 for none.
    `has_model` is false where no request may be sent.
    """

    trigger: Trigger
    budget: Budget
    tokens: int
    fixed: int
    kept: int = 0
    cached: int = 0
    clearable: int = 0
    edits: bool = False
    cold: bool = False
    memory: int = 0
    server_summary: bool = False
    has_model: bool = True
    price: Price | None = None
    long_ttl: bool = False


class Option(Struct, frozen=True, kw_only=True):
    """One step: what it would free and cost, and why it can or cannot be taken. `dollars` is `None` without a price."""

    step: Step
    gain: int
    dollars: float | None
    possible: bool
    reason: str


class Ladder(Struct, frozen=True, kw_only=True):
    """Every step in order, the one that is taken, and what the choice was made from."""

    situation: Situation
    options: tuple[Option, ...]
    chosen: Step

    @property
    def choice(self) -> Option:
        return next(option for option in self.options if option.step is self.chosen)


EXPECTED_SUMMARY = 3_000
"""Tokens that a summary is taken for before it is written; half of its room in a small window."""


def climb(situation: Situation) -> Ladder:
    """The whole ladder, judged. When no step makes enough room, the first of those that make most is taken; none that frees nothing (F28)."""
    options = tuple(make(situation) for make in _STEPS)
    # What a person asks for, or the service forces, is a summary; the cheapest way to one comes first.
    wanted = options if situation.trigger is Trigger.AUTO else options[len(_LIGHT) :]
    possible = [option for option in wanted if option.possible]
    enough = (option for option in possible if _makes_room(situation, option))
    most = max(possible, key=lambda option: option.gain, default=options[0])
    chosen = next(enough, most if most.gain > 0 else options[0])
    return Ladder(situation=situation, options=options, chosen=chosen.step)


def takes_space(situation: Situation) -> str:
    """What fills a request that no step makes smaller, as the end of a sentence."""
    return (
        f"of about {situation.tokens:,} tokens {situation.fixed:,} are tools, system prompt and instruction files, and {situation.kept:,} the "
        f"messages that have to stay; {situation.budget.start:,} are allowed. Shorten them, or take a model with a larger window"
    )


def after(situation: Situation, option: Option) -> int:
    """The size of the next request behind a step."""
    return situation.tokens - option.gain


def _makes_room(situation: Situation, option: Option) -> bool:
    if option.step is Step.NOTHING:
        return not situation.budget.is_due(situation.tokens)
    return after(situation, option) < situation.budget.start or situation.trigger is Trigger.MANUAL


def _nothing(situation: Situation) -> Option:
    due = situation.budget.is_due(situation.tokens)
    start = situation.budget.start
    reason = f"{situation.tokens:,} of {start:,} tokens" + (" are reached" if due else "")
    return Option(step=Step.NOTHING, gain=0, dollars=0.0, possible=True, reason=reason)


def _server_edit(situation: Situation) -> Option:
    # The service reads a shorter conversation; what stands behind the cleared results is written again.
    rewritten = max(situation.tokens - situation.fixed - situation.clearable, 0)
    return Option(
        step=Step.SERVER_EDIT,
        gain=situation.clearable if situation.edits else 0,
        dollars=_write(situation, rewritten),
        possible=situation.edits and situation.clearable > 0,
        reason=_clearing(
            situation, "the service clears them" if situation.edits else "the service clears nothing here (R277)"
        ),
    )


def _cold_clean(situation: Situation) -> Option:
    loss = 0.0 if situation.cold else _lost(situation, situation.cached - situation.fixed)
    return Option(
        step=Step.COLD_CLEAN,
        gain=situation.clearable,
        dollars=loss,
        possible=situation.cold and situation.clearable > 0,
        reason=_clearing(
            situation,
            "nothing of the conversation is in the cache (R278)" if situation.cold else "the cache is warm (R276)",
        ),
    )


def _session_memory(situation: Situation) -> Option:
    return Option(
        step=Step.SESSION_MEMORY,
        gain=_summarized(situation, situation.memory),
        dollars=0.0,
        possible=bool(situation.memory) and situation.budget.allowed,
        reason="the session keeps a memory (R334)" if bool(situation.memory) else "the session keeps no memory",
    )


def _server_summary(situation: Situation) -> Option:
    return _asked(situation, Step.SERVER_SUMMARY, "the service summarizes itself" if situation.server_summary else "")


def _summary(situation: Situation) -> Option:
    return _asked(situation, Step.SUMMARY, "the model is asked for a summary")


def _outline(situation: Situation) -> Option:
    return Option(
        step=Step.OUTLINE,
        gain=_summarized(situation, _expected(situation)),
        dollars=0.0,
        possible=situation.budget.allowed,
        reason="prompts, files and results are listed without a model",
    )


def _asked(situation: Situation, step: Step, how: str) -> Option:
    """A summary that a request has to ask for; `how` is empty where that cannot be done."""
    room = situation.tokens + situation.budget.summary <= situation.budget.window
    reason = how or "the service does not do it here"
    if how and not room:
        reason += "; the oldest rounds are left out of the request for it (F26)"
    return Option(
        step=step,
        gain=_summarized(situation, _expected(situation)),
        dollars=_asking(situation),
        possible=bool(how) and situation.has_model and situation.budget.allowed,
        reason=reason,
    )


_LIGHT = (Step.NOTHING, Step.SERVER_EDIT, Step.COLD_CLEAN)
_STEPS: tuple[Callable[[Situation], Option], ...] = (
    _nothing,
    _server_edit,
    _cold_clean,
    _session_memory,
    _server_summary,
    _summary,
    _outline,
)


def _summarized(situation: Situation, summary: int) -> int:
    return max(situation.tokens - situation.fixed - situation.kept - summary, 0)


def _expected(situation: Situation) -> int:
    return min(EXPECTED_SUMMARY, situation.budget.summary // 2)


def _clearing(situation: Situation, reason: str) -> str:
    if not situation.clearable:
        return "there are no old tool results"
    return f"{situation.clearable:,} tokens of old tool results; {reason}"


def _asking(situation: Situation) -> float | None:
    """Dollars of the request for a summary: it reads what is cached and answers with a summary."""
    if situation.price is None:
        return None
    tier = situation.price.tier(situation.tokens)
    fresh = max(situation.tokens - situation.cached, 0)
    return (situation.cached * tier.read + fresh * tier.input + _expected(situation) * tier.output) / 1_000_000


def _write(situation: Situation, tokens: int) -> float | None:
    if situation.price is None:
        return None
    tier = situation.price.tier(situation.tokens)
    return tokens * (tier.write_1h if situation.long_ttl else tier.write_5m) / 1_000_000


def _lost(situation: Situation, tokens: int) -> float | None:
    """Dollars that a warm cache is worth: what would be read is written again."""
    written = _write(situation, max(tokens, 0))
    if written is None or situation.price is None:
        return None
    return written - max(tokens, 0) * situation.price.tier(situation.tokens).read / 1_000_000
