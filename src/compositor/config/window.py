"""How large the context window of a run is (R380).

Decides it by a table: the first step that knows a size wins. The output budget's numbers (R381) stand here too. Never
counts a token: that is `context/tokens.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

DEFAULT_WINDOW = 200_000
LONG_WINDOW = 1_000_000
LONG_CONTEXT_BETA = "context-1m-2025-08-07"

DEFAULT_OUTPUT = 8_000
"""Output cap of an ordinary request, in tokens (R381)."""
ESCALATED_OUTPUT = 64_000
"""Output cap of the one resend after the cap was hit (R381)."""


class WindowFacts(Struct, frozen=True, kw_only=True):
    """What is known about the window. Sizes in tokens; `capability` is what the service or the profile says of the model.

    `long_context_off` caps what the later steps may find at the default size.
    """

    override: int | None = None
    long_context: bool = False
    capability: int | None = None
    betas: tuple[str, ...] = ()
    experiment: int | None = None
    long_context_off: bool = False


class WindowDecision(Struct, frozen=True, kw_only=True):
    """The size in tokens, and the step that decided it."""

    tokens: int
    step: str


class WindowStep(Struct, frozen=True):
    """One row: `find` gives a size or passes."""

    name: str
    find: Callable[[WindowFacts], int | None]


WINDOW_STEPS: tuple[WindowStep, ...] = (
    WindowStep("environment override", lambda facts: facts.override),
    WindowStep("[1m] suffix", lambda facts: _long(facts, is_asked=facts.long_context)),
    WindowStep("model capability", lambda facts: _capped(facts, facts.capability)),
    WindowStep("beta header", lambda facts: _long(facts, is_asked=LONG_CONTEXT_BETA in facts.betas)),
    WindowStep("experiment group", lambda facts: _capped(facts, facts.experiment)),
    WindowStep("default", lambda _: DEFAULT_WINDOW),
)


def decide_window(facts: WindowFacts) -> WindowDecision:
    """Walk the table; the last row always knows a size."""
    found = ((step.name, step.find(facts)) for step in WINDOW_STEPS)
    return next(WindowDecision(tokens=tokens, step=name) for name, tokens in found if tokens is not None)


def _long(facts: WindowFacts, *, is_asked: bool) -> int | None:
    return LONG_WINDOW if is_asked and not facts.long_context_off else None


def _capped(facts: WindowFacts, tokens: int | None) -> int | None:
    return min(tokens, DEFAULT_WINDOW) if tokens is not None and facts.long_context_off else tokens
