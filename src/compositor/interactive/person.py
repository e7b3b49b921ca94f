"""The person at the prompt, as the gate and the tools know them.

Decides how a question is put and what each answer means. An answer that saves something says what, before it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
from anyio import to_thread

from compositor.adapters.approvals_rules import remember_rule
from compositor.cli.running import chosen
from compositor.errors import CompositorError
from compositor.opened import Opened
from compositor.policy.rules import parse_rule
from compositor.ports import Modes, Permission, Question
from compositor.types.verdicts import PermissionMode, PermissionRule, RuleEffect

from .board import Board, Choice
from .proposed import proposed_change
from .screen import Screen

EDITORS = frozenset({"Edit", "Write", "NotebookEdit"})
"""Tools that the mode `acceptEdits` lets through."""


class AtThePrompt:
    """Asks on the board. `rules` are the allow rules that were given for this session, `shown` the calls whose change was seen."""

    def __init__(self, opened: Opened, screen: Screen, board: Board) -> None:
        self._opened = opened
        self._screen = screen
        self._board = board
        self.rules: tuple[PermissionRule, ...] = ()
        self.modes: Modes | None = None
        self.shown: set[str] = set()
        self._turn = anyio.Lock()
        self.ring: Callable[[], None] = lambda: None

    def mode(self) -> str:
        """The permission mode of the moment; empty before the session runs."""
        return "" if self.modes is None else self.modes.mode.value

    async def ask(self, permission: Permission) -> bool:
        """Once, for the session, or always; anything that is no clear yes is a no. One question after the other."""
        async with self._turn:
            return await self._ask(permission)

    async def _ask(self, permission: Permission) -> bool:
        hunks = await to_thread.run_sync(proposed_change, permission.call, self._opened.around.cwd)
        if hunks:
            self._screen.line(f"{permission.display.splitlines()[0]} would change:")
            self._screen.diff(hunks)
            self.shown.add(permission.call.id)
        lines = (permission.display, f"  asks because {permission.reason}")
        keys = {"y": "yes, once", **self._lasting(permission), "n": "no"}
        taken = await self._choose(Choice(lines=lines, keys=keys, otherwise="n"))
        self._screen.below(f"{permission.display.splitlines()[0]}: {keys[taken]}")
        if taken == "s" and permission.suggestion is not None:
            self._give(permission.suggestion)
        elif taken == "s" and self.modes is not None:
            self.modes.change(PermissionMode.ACCEPT_EDITS)
        elif taken == "a" and permission.suggestion is not None:
            self._save(permission.suggestion)
        return taken in {"y", "s", "a"}

    async def answer(self, question: Question) -> str | None:
        """Numbers of options, joined by commas, or words of one's own; an empty line is no answer."""
        header = f"{question.header}: " if question.header else ""
        self._screen.line(f"\n{header}{question.text}", self._screen.theme.accent)
        for number, (label, about) in enumerate(question.options, start=1):
            self._screen.line(f"  {number}. {label}{f': {about}' if about else ''}")
        self._screen.note(
            f"Type {'numbers, with commas,' if question.several else 'a number'} or an answer of your own."
        )
        self.ring()
        typed = (await self._board.read()).strip()
        found = chosen(typed, question)
        self._screen.said(found or "(no answer)")
        return found

    async def confirms(self, *lines: str) -> bool:
        return await self._choose(Choice(lines=lines, keys={"y": "yes", "n": "no"}, otherwise="n")) == "y"

    def _lasting(self, permission: Permission) -> dict[str, str]:
        """The answers that last, with the rule that each of them makes."""
        rule = permission.suggestion
        if rule is not None:
            return {"s": f"yes, this session: {rule}", "a": f"yes, always here: {rule}"}
        modes = self.modes
        if permission.call.name in EDITORS and modes is not None and modes.mode is PermissionMode.DEFAULT:
            return {"s": "yes, and accept edits this session"}
        return {}

    def _give(self, text: str) -> None:
        rule = parse_rule(text, effect=RuleEffect.ALLOW, level="session", base=self._opened.policy.roots[0])
        if isinstance(rule, PermissionRule):
            self.rules = (*self.rules, rule)

    def _save(self, text: str) -> None:
        try:
            remember_rule(Path(self._opened.home), self._opened.places.root, text)
        except (CompositorError, OSError) as problem:
            self._screen.error(f"The rule was not saved: {problem}")

    async def _choose(self, choice: Choice) -> str:
        if self._screen.plain:
            for line in choice.lines:
                self._screen.line(line)
            self._screen.line(", ".join(f"{key} for {words}" for key, words in choice.keys.items()))
        self.ring()
        return await self._board.choose(choice)
