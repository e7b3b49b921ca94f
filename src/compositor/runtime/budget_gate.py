"""What stands between a turn and its next request: the budgets of `compositor.budget`, and a person where they ask.

Decides yes or no before a request. What a limit means is `loop/budget.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from compositor.config.budget import BudgetSettings
from compositor.config.price import Price, priced
from compositor.config.settings import OwnSettings
from compositor.loop.budget import Span, Spent, add_spent, find_excess, limits_of, spent_by
from compositor.ports import Interviewer, Question, Spending
from compositor.types.usage import Usage

_MORE, _STOP = "Go on", "Stop"


class BudgetGate:
    """One session's. `before` is what the session had spent when it was opened, `run_dollars` what the caller lets this run cost."""

    def __init__(
        self,
        settings: BudgetSettings,
        *,
        price_of: Callable[[str], Price | None],
        day: Spending,
        before: Spent,
        interviewer: Interviewer | None,
        run_dollars: float | None = None,
    ) -> None:
        self._limits = limits_of(settings, run_dollars)
        self._asks = settings.action == "ask"
        self._price_of = price_of
        self._day = day
        self._interviewer = interviewer
        self._turn = Spent()
        self._run = Spent()
        self._session = before
        self._allowed: dict[tuple[Span, str], int] = {}

    def begin_turn(self) -> None:
        self._turn = Spent()

    def add(self, model: str, usage: Usage) -> None:
        """Count an answer."""
        spent = spent_by(usage, self._price_of(model))
        self._turn, self._run = add_spent(self._turn, spent), add_spent(self._run, spent)
        self._session = add_spent(self._session, spent)
        if Span.DAY in self._limits:
            self._day.add(spent)

    async def refuses(self, model: str) -> str | None:
        """Why the next request to `model` may not be sent; `None` lets it through. A yes gives the same amount once more."""
        if not self._limits:
            return None
        day = self._day.today() if Span.DAY in self._limits else Spent()
        spent = {Span.TURN: self._turn, Span.RUN: self._run, Span.SESSION: self._session, Span.DAY: day}
        while True:
            has_price = self._price_of(model) is not None
            excess = find_excess(self._limits, spent, has_price=has_price, allowed=self._allowed)
            if excess is None:
                return None
            if excess.span is Span.RUN:
                return f"{excess.text}; --max-budget-usd stops there"
            if not self._asks:
                return f"{excess.text}; the setting compositor.budget stops there"
            if self._interviewer is None:
                return f"{excess.text}; the setting compositor.budget asks first, and nobody can be asked"
            options = ((_MORE, "the same amount once more"), (_STOP, "nothing is sent"))
            question = Question(text=f"{excess.text}. Go on?", header="Budget", options=options)
            if await self._interviewer.answer(question) != _MORE:
                return f"{excess.text}; it was not gone on with, as was answered"
            place = (excess.span, excess.unit)
            self._allowed[place] = self._allowed.get(place, 0) + 1


class SharedBudget(BudgetGate):
    """The budget of a session for an agent of it: what the agent spends counts there, and its turns begin nothing anew."""

    def __init__(self, whole: BudgetGate) -> None:  # it has nothing of its own to begin with
        self._whole = whole

    def begin_turn(self) -> None:
        pass

    def add(self, model: str, usage: Usage) -> None:
        self._whole.add(model, usage)

    async def refuses(self, model: str) -> str | None:
        return await self._whole.refuses(model)


def make_budget(
    own: OwnSettings,
    day: Spending,
    before: Callable[[], Spent],
    interviewer: Interviewer | None,
    *,
    run_dollars: float | None = None,
) -> BudgetGate:
    """The gate of the settings; `before` is asked only where a session has a limit."""
    limited = Span.SESSION in limits_of(own.budget)
    return BudgetGate(
        own.budget,
        price_of=lambda model: priced(model, own.prices),
        day=day,
        before=before() if limited else Spent(),
        interviewer=interviewer,
        run_dollars=run_dollars,
    )
