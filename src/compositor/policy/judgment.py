"""One call judged without running anything, with every rule that was looked at: what `compositor permissions test` shows.

Decides nothing itself: the verdict is that of the gate, and the rules are asked as `decide` asks them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping

from msgspec import Struct

from compositor.types.tools import ToolCall, ToolDefinition
from compositor.types.verdicts import Allow, PermissionRule, RuleEffect

from .audit import GateFinding
from .gate import AskPerson, GateAnswer, GateQuestion, GateResult, HookAnswer, ResolvePaths, gate_flow
from .match import allowing_command, allowing_rule, reaches
from .paths import ResolvedPath, path_patterns
from .policy import Policy, rules_in_force
from .rules import EDIT_FAMILY, READ_FAMILY
from .subject import subject_of


class Considered(Struct, frozen=True, kw_only=True):
    """One rule in force. `covers`: the whole call for deny and ask, the call or one of its commands for allow."""

    rule: PermissionRule
    covers: bool


class Judgment(Struct, frozen=True, kw_only=True):
    """`verdict` is allow, ask or deny; `rule` the one that decided, if one did."""

    verdict: str
    reason: str
    rule: PermissionRule | None
    considered: tuple[Considered, ...]
    trace: tuple[GateFinding, ...]


def judge_call(
    call: ToolCall, definition: ToolDefinition | None, policy: Policy, resolve: Callable[[str], str]
) -> Judgment:
    """Take the call through the gate without hooks; `resolve` gives the real place of a path."""
    asked: list[AskPerson] = []
    result = _finish(gate_flow(call, definition, policy), resolve, asked)
    verdict = "ask" if asked else "allow" if isinstance(result.verdict, Allow) else "deny"
    return Judgment(
        verdict=verdict,
        reason=asked[0].reason if asked else result.verdict.reason,
        rule=result.verdict.rule,
        considered=considered_rules(call, definition, policy, resolve),
        trace=result.trace,
    )


def _finish(
    flow: Generator[GateQuestion, GateAnswer, GateResult], resolve: Callable[[str], str], asked: list[AskPerson]
) -> GateResult:
    """The end of the flow; every question to a person is noted and answered with yes."""
    try:
        question = next(flow)
        while True:
            answer: GateAnswer = HookAnswer()
            if isinstance(question, ResolvePaths):
                answer = tuple(ResolvedPath(path, resolve(path)) for path in question.paths)
            elif isinstance(question, AskPerson):
                asked.append(question)
                answer = True
            question = flow.send(answer)
    except StopIteration as end:
        result: GateResult = end.value
        return result


def considered_rules(
    call: ToolCall, definition: ToolDefinition | None, policy: Policy, resolve: Callable[[str], str]
) -> tuple[Considered, ...]:
    """Every rule in force, in the order of evaluation; none for a call that cannot be read."""
    if definition is None:
        return ()
    try:
        subject = subject_of(call, definition, policy)
    except ValueError:
        return ()
    resolved: Mapping[str, ResolvedPath] = {path: ResolvedPath(path, resolve(path)) for path in subject.asked_paths}

    def covers(rule: PermissionRule) -> bool:
        if rule.effect is not RuleEffect.ALLOW:
            return reaches(rule, subject, resolved, policy)
        if subject.line is not None:
            return any(allowing_command((rule,), subject.tool, part) is not None for part in subject.line.parts)
        return allowing_rule((rule,), subject, resolved, policy) is not None

    rules = (rule for effect in RuleEffect for rule in rules_in_force(policy, effect))
    return tuple(Considered(rule=rule, covers=covers(rule)) for rule in rules)


class Reach(Struct, frozen=True, kw_only=True):
    """What a path rule means for one path: its patterns as regular expressions over absolute paths, and which readings fall under it."""

    patterns: tuple[str, ...]
    matched: tuple[str, ...]
    unmatched: tuple[str, ...]

    def covers(self, effect: RuleEffect) -> bool:
        """Deny and ask need either reading, allow needs both."""
        return bool(self.matched) and (effect is not RuleEffect.ALLOW or not self.unmatched)


def explain_reach(rule: PermissionRule, path: ResolvedPath, policy: Policy) -> Reach | None:
    """`None` for a rule that is not about paths."""
    if rule.tool not in READ_FAMILY | EDIT_FAMILY or rule.specifier is None:
        return None
    deep = rule.effect is not RuleEffect.ALLOW
    patterns = path_patterns(rule.specifier, policy, base=rule.base, deep=deep)
    matched = tuple(form for form in path.forms if any(pattern.matches(form) for pattern in patterns))
    return Reach(
        patterns=tuple(pattern.expression for pattern in patterns),
        matched=matched,
        unmatched=tuple(form for form in path.forms if form not in matched),
    )
