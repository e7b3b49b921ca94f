"""Allow rules that a person gives while a session runs: for this session alone, or for the project from now on.

Performs the keeping. What a rule allows is decided in `policy`; deny and ask rules stand above every one of them.
"""

from __future__ import annotations

from pathlib import Path

from compositor.errors import UsageError
from compositor.policy.rules import parse_rule
from compositor.types.verdicts import PermissionRule, RuleEffect

from .approvals_rules import remember_rule


class SessionGrants:
    """Those of one session. `rules` are the ones that hold for it alone; `base` anchors the paths in them."""

    def __init__(self, home: str, project: str, base: str) -> None:
        self._home = Path(home)
        self._project = project
        self._base = base
        self.rules: tuple[PermissionRule, ...] = ()

    def give(self, text: str) -> None:
        """Let a rule hold for this session. Raises `UsageError` for what is no rule."""
        self.rules = (*self.rules, self._parsed(text))

    def save(self, text: str) -> None:
        """Remember a rule for the project; it holds from the next call on. Raises `UsageError` for what is no rule, and `OSError`."""
        self._parsed(text)
        remember_rule(self._home, self._project, text)

    def _parsed(self, text: str) -> PermissionRule:
        rule = parse_rule(text, effect=RuleEffect.ALLOW, level="session", base=self._base)
        if not isinstance(rule, PermissionRule):
            raise UsageError(str(rule))
        return rule
