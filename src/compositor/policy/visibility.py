"""Whether the context may show a file at all: what a Read rule denies stays out of searches as well as out of tools (R397).

Decides for one path. The tools that search ask here through the wiring; they know no rules.
"""

from __future__ import annotations

from compositor.types.verdicts import RuleEffect

from .match import reaching_path_rule
from .paths import ResolvedPath
from .policy import Policy, rules_in_force


def may_be_shown(path: ResolvedPath, policy: Policy) -> bool:
    """False when a deny rule on reading covers the path or the place it leads to."""
    return reaching_path_rule(rules_in_force(policy, RuleEffect.DENY), path, policy) is None
