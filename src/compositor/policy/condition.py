"""The `if` of a hook handler: one permission rule, judged against a call (project-conventions 4.3).

Decides whether the handler hears the call. What cannot be judged is heard: a guard that stays silent would be a hole.
"""

from __future__ import annotations

from compositor.types.json import raw_json
from compositor.types.tools import ToolCall, ToolDefinition, ToolOrigin
from compositor.types.verdicts import PermissionRule, RuleEffect

from .match import reaches
from .paths import ResolvedPath
from .policy import Policy
from .rules import parse_rule
from .subject import subject_of


def condition_applies(text: str, call: ToolCall, policy: Policy) -> bool:
    """Whether the rule `text` covers the call, as far as names show."""
    rule = parse_rule(text, effect=RuleEffect.DENY, level="session", base=policy.roots[0])
    if not isinstance(rule, PermissionRule):
        return True
    origin = ToolOrigin.MCP if call.name.startswith("mcp__") else ToolOrigin.BUILTIN
    definition = ToolDefinition(name=call.name, description="", input_schema=raw_json({}), origin=origin)
    try:
        subject = subject_of(call, definition, policy)
    except ValueError:
        return True
    if rule.tool == call.name and subject.line is not None and subject.line.problem is not None:
        return True
    return reaches(rule, subject, {path: ResolvedPath(path, path) for path in subject.asked_paths}, policy)
