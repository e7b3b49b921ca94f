"""The one function that makes a verdict about a call: deny, ask, what is never approved, allow, mode (project-conventions 3.1).

Decides by an ordered table of stages, the first that speaks wins; specificity and level play no part, so any level's deny
beats any level's allow (R372). Asks nobody and touches nothing: who is asked, and when, is decided in `gate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from compositor.types.tools import ToolCall, ToolDefinition
from compositor.types.verdicts import Allow, Ask, Deny, PermissionMode, PermissionRule, RuleEffect, Verdict

from .commands import DELETERS, deleted_words, destructive_pattern, edited_paths, harmless_paths, reads_trees
from .match import allowing_path_rule, allowing_rule, fetched_host, reaching_path_rule, reaching_rule
from .modes import Action, Answer, answer_of, rules_may_allow
from .paths import ResolvedPath, absolute_path, is_critical, is_in_scope, is_protected
from .policy import Policy, effective_mode, rules_in_force
from .reach import plain_text
from .rules import READ_FAMILY
from .shell import Word
from .subject import Access, Subject, ToolKind, extra_use, subject_of

GATE = "permission"


class _Case(Struct, frozen=True):
    subject: Subject
    resolved: Mapping[str, ResolvedPath]
    policy: Policy
    mode: PermissionMode

    def rules(self, effect: RuleEffect) -> tuple[PermissionRule, ...]:
        return rules_in_force(self.policy, effect)

    def path(self, word: str) -> ResolvedPath:
        return self.resolved[absolute_path(word, cwd=self.policy.cwd, home=self.policy.home)]


def decide(call: ToolCall, definition: ToolDefinition, policy: Policy, resolved: Mapping[str, ResolvedPath]) -> Verdict:
    """The verdict on one call.

    `resolved` holds, under each path of `Subject.asked_paths`, what it really is; further ones are paths the tool says it
    would touch, and count as written unless the tool only reads. Raises `ValueError` for an input that can be read in two
    ways and `KeyError` for a path that was not resolved; `gate` turns both into a refusal.
    """
    case = _case(call, definition, policy, resolved)
    verdict = next(verdict for stage in STAGES if (verdict := stage(case)) is not None)
    if isinstance(verdict, Ask) and case.mode is PermissionMode.DONT_ASK:
        return Deny(reason=f"{verdict.reason}, and the mode is {case.mode.value!r}", gate=GATE, rule=verdict.rule)
    return verdict


def check_denied(
    call: ToolCall, definition: ToolDefinition, policy: Policy, resolved: Mapping[str, ResolvedPath]
) -> Deny | None:
    """The deny rules alone, for the input as it was given, before any hook may change it (R364)."""
    return _denied(_case(call, definition, policy, resolved))


def _case(call: ToolCall, definition: ToolDefinition, policy: Policy, resolved: Mapping[str, ResolvedPath]) -> _Case:
    subject = subject_of(call, definition, policy)
    known = set(subject.asked_paths)
    extra = tuple(extra_use(subject, path) for key, path in resolved.items() if key not in known)
    return _Case(replace(subject, uses=(*subject.uses, *extra)), resolved, policy, effective_mode(policy))


def _denied(case: _Case) -> Deny | None:
    rule = reaching_rule(case.rules(RuleEffect.DENY), case.subject, case.resolved, case.policy)
    return None if rule is None else Deny(reason=f"the rule {rule.text!r} forbids it", gate=GATE, rule=rule)


def _unreadable(case: _Case) -> Deny | None:
    if case.subject.kind is ToolKind.FETCH and fetched_host(case.subject) is None:
        return Deny(reason="the address can be read in two ways", gate=GATE)
    return None


def _refused_by_mode(case: _Case) -> Deny | None:
    action = _action_of(case)
    if answer_of(case.mode, action) is Answer.DENY:
        return Deny(reason=f"the call {action.value}, which the mode {case.mode.value!r} refuses", gate=GATE)
    return None


def _asked(case: _Case) -> Ask | None:
    rule = reaching_rule(case.rules(RuleEffect.ASK), case.subject, case.resolved, case.policy)
    return None if rule is None else Ask(reason=f"the rule {rule.text!r} asks", rule=rule)


def _mentions_denied(case: _Case) -> Ask | None:
    """A word of an unknown command that names a file no one may read."""
    rules = case.rules(RuleEffect.DENY)
    for use in case.subject.uses:
        rule = reaching_path_rule(rules, case.resolved[use.path], case.policy) if use.access is Access.MENTION else None
        if rule is not None and rule.specifier is not None:
            return Ask(reason=f"the command names {use.path!r}, which the rule {rule.text!r} protects", rule=rule)
    return None


def _searches_denied(case: _Case) -> Ask | None:
    """A search that could print a denied file. The search tools can be made to hide it; a shell command cannot."""
    words = case.subject.line.simple if case.subject.line is not None else None
    by_tool = case.subject.kind is ToolKind.SEARCH and not case.policy.search_hides_denied
    if not by_tool and (words is None or not reads_trees(words)):
        return None
    rule = next((rule for rule in case.rules(RuleEffect.DENY) if rule.tool in READ_FAMILY and rule.specifier), None)
    if rule is None:
        return None
    return Ask(reason=f"the search may show a file that the rule {rule.text!r} protects", rule=rule)


def _critical(case: _Case) -> Ask | None:
    for words in case.subject.commands:
        for word in deleted_words(words):
            place = absolute_path(word, cwd=case.policy.cwd, home=case.policy.home)
            if is_critical(word, case.resolved.get(place, ResolvedPath(place, place)), case.policy):
                return Ask(reason=f"deleting {word!r} would delete a critical path")
        row = destructive_pattern(words)
        if row is not None and row.always:
            return Ask(reason=f"the command is destructive: {row.warning}")
    return None


def _not_simple(case: _Case) -> Ask | None:
    line = case.subject.line
    if line is None or (line.problem is None and not case.subject.overfull):
        return None
    return Ask(reason=line.problem or "the command names too many paths")


def _allowed(case: _Case) -> Allow | None:
    if not rules_may_allow(case.mode, _action_of(case)):
        return None
    rule = allowing_rule(case.rules(RuleEffect.ALLOW), case.subject, case.resolved, case.policy)
    return None if rule is None else Allow(reason=f"the rule {rule.text!r} allows it", rule=rule)


def _by_mode(case: _Case) -> Verdict:
    action = _action_of(case)
    if answer_of(case.mode, action) is Answer.ALLOW:
        return Allow(reason=f"the call {action.value}, which the mode {case.mode.value!r} permits")
    return Ask(reason=f"the call {action.value}", suggestion=suggested_rule(case.subject))


# The order is the rule. A stage that says nothing leaves the call to the next one; the last always speaks.
STAGES: tuple[Callable[[_Case], Verdict | None], ...] = (
    _denied,
    _unreadable,
    _refused_by_mode,
    _asked,
    _critical,
    _not_simple,
    _mentions_denied,
    _searches_denied,
    _allowed,
    _by_mode,
)


def _action_of(case: _Case) -> Action:
    """What the call does, as far as its paths and its one command show."""
    paths = [case.resolved[use.path] for use in case.subject.uses]
    match case.subject.kind:
        case ToolKind.READ | ToolKind.SEARCH:
            inside = bool(paths) and all(_is_readable(path, case) for path in paths)
            return Action.READ if inside else Action.READ_OUTSIDE
        case ToolKind.EDIT:
            return _edit_action(paths, case)
        case ToolKind.SHELL:
            return _shell_action(case)
        case ToolKind.FETCH | ToolKind.WEB_SEARCH:
            return Action.NETWORK
        case ToolKind.INTERNAL:
            return Action.INTERNAL
        case ToolKind.PERSON:
            return Action.PERSON
        case ToolKind.OTHER:
            return Action.EDIT_PROTECTED if any(is_protected(path) for path in paths) else Action.OTHER
        case _:
            assert_never(case.subject.kind)


def _edit_action(paths: list[ResolvedPath], case: _Case) -> Action:
    if not paths:
        return Action.OTHER
    if any(is_protected(path) for path in paths):
        return Action.EDIT_PROTECTED
    return Action.EDIT if all(is_in_scope(path, case.policy) for path in paths) else Action.EDIT_OUTSIDE


def _shell_action(case: _Case) -> Action:
    written = [case.resolved[use.path] for use in case.subject.uses if use.access is Access.WRITE]
    if any(is_protected(path) for path in written):
        return Action.EDIT_PROTECTED
    words = case.subject.line.simple if case.subject.line is not None else None
    if words is None:
        return Action.SHELL_WRITE if written else Action.SHELL
    if _is_harmless(words, case):
        return Action.SHELL_READ
    if edited_paths(words) is not None and all(is_in_scope(path, case.policy) for path in written):
        return Action.SHELL_EDIT
    return Action.SHELL_WRITE if written else Action.SHELL


def _is_harmless(words: tuple[Word, ...], case: _Case) -> bool:
    read = harmless_paths(words)
    if read is None or not all(_is_readable(case.path(word), case) for word in read):
        return False
    # A repository inside the repository may bring a configuration that runs programs.
    return words[0].text != "git" or case.policy.cwd in case.policy.roots[:1]


def _is_readable(path: ResolvedPath, case: _Case) -> bool:
    if is_in_scope(path, case.policy):
        return True
    return allowing_path_rule(case.rules(RuleEffect.ALLOW), path, Access.READ, case.policy) is not None


def suggested_rule(subject: Subject) -> str | None:
    """The narrowest rule that would allow the same call again; `None` where no rule should be saved."""
    words = subject.line.simple if subject.line is not None else None
    if words is not None:
        text = plain_text(words)
        return None if "*" in text or destructive_pattern(words) or words[0].text in DELETERS else f"Bash({text})"
    if subject.kind is ToolKind.FETCH:
        host = fetched_host(subject)
        return None if host is None else f"WebFetch(domain:{host})"
    if subject.kind in {ToolKind.WEB_SEARCH, ToolKind.OTHER}:
        return subject.tool
    return None
