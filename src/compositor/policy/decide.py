"""The one function that makes a verdict about a call: deny, ask, what is never approved, allow, mode (project-conventions 3.1).

Decides by an ordered table of stages, the first that speaks wins; specificity and level play no part, so any level's deny
beats any level's allow (R372). Asks nobody and touches nothing: who is asked, and when, is decided in `gate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from compositor.types.tools import ToolCall, ToolDefinition
from compositor.types.verdicts import Allow, Ask, Deny, PermissionMode, PermissionRule, RuleEffect, Verdict

from .actions import Case, action_of, is_open, part_action, redirected_paths
from .commands import (
    READERS,
    WRITERS,
    is_inert,
    reads_trees,
)
from .destructive import DELETERS, deleted_words, destructive_pattern
from .match import (
    allowing_command,
    allowing_rule,
    fetched_host,
    is_exact,
    possible_rule,
    reaching_path_rule,
    reaching_rule,
)
from .modes import Action, Answer, answer_of, rules_may_allow
from .paths import ResolvedPath, absolute_path, is_critical
from .policy import Policy, effective_mode
from .reach import plain_text
from .rules import COMMAND_TOOLS, EDIT_FAMILY, READ_FAMILY
from .sandbox import is_confined
from .shell_parts import Part
from .subject import Access, Subject, ToolKind, extra_use, subject_of

GATE = "permission"


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


def _case(call: ToolCall, definition: ToolDefinition, policy: Policy, resolved: Mapping[str, ResolvedPath]) -> Case:
    subject = subject_of(call, definition, policy)
    known = set(subject.asked_paths)
    extra = tuple(extra_use(subject, path) for key, path in resolved.items() if key not in known)
    return Case(replace(subject, uses=(*subject.uses, *extra)), resolved, policy, effective_mode(policy))


def _denied(case: Case) -> Deny | None:
    rule = reaching_rule(case.rules(RuleEffect.DENY), case.subject, case.resolved, case.policy)
    return None if rule is None else Deny(reason=f"the rule {rule.text!r} forbids it", gate=GATE, rule=rule)


def _unreadable(case: Case) -> Deny | None:
    if case.subject.kind is ToolKind.FETCH and fetched_host(case.subject) is None:
        return Deny(reason="the address can be read in two ways", gate=GATE)
    return None


def _refused_by_mode(case: Case) -> Deny | None:
    action = action_of(case)
    if answer_of(case.mode, action) is Answer.DENY:
        return Deny(reason=f"the call {action.value}, which the mode {case.mode.value!r} refuses", gate=GATE)
    return None


def _asked(case: Case) -> Ask | None:
    rule = reaching_rule(case.rules(RuleEffect.ASK), case.subject, case.resolved, case.policy)
    return None if rule is None else Ask(reason=f"the rule {rule.text!r} asks", rule=rule)


def _mentions_denied(case: Case) -> Ask | None:
    """A word of an unknown command that names a file no one may read."""
    rules = case.rules(RuleEffect.DENY)
    for use in case.subject.uses:
        rule = reaching_path_rule(rules, case.resolved[use.path], case.policy) if use.access is Access.MENTION else None
        if rule is not None and rule.specifier is not None:
            return Ask(reason=f"the command names {use.path!r}, which the rule {rule.text!r} protects", rule=rule)
    return None


def _searches_denied(case: Case) -> Ask | None:
    """A search that could print a denied file. The search tools can be made to hide it; a shell command cannot."""
    by_tool = case.subject.kind is ToolKind.SEARCH and not case.policy.search_hides_denied
    if not by_tool and not any(reads_trees(part.words) for part in case.parts):
        return None
    rule = next((rule for rule in case.rules(RuleEffect.DENY) if rule.tool in READ_FAMILY and rule.specifier), None)
    if rule is None:
        return None
    return Ask(reason=f"the search may show a file that the rule {rule.text!r} protects", rule=rule)


def _may_be_denied(case: Case) -> Ask | None:
    """A command whose words the shell makes up, and that a deny or ask rule would cover if they were the right ones."""
    rules = (*case.rules(RuleEffect.DENY), *case.rules(RuleEffect.ASK))
    rule = possible_rule(rules, case.subject) or _unseen(rules, case)
    if rule is None:
        return None
    return Ask(reason=f"what the shell puts into the command may fall under the rule {rule.text!r}", rule=rule)


def _unseen(rules: tuple[PermissionRule, ...], case: Case) -> PermissionRule | None:
    """A rule that could not be asked: files that only the shell knows, or a command inside another one."""
    about_files = next((rule for rule in rules if rule.tool in READ_FAMILY | EDIT_FAMILY), None)
    about_commands = next((rule for rule in rules if rule.tool in COMMAND_TOOLS and rule.specifier), None)
    allowing = case.rules(RuleEffect.ALLOW)
    for part in case.parts:
        name = part.words[0].text.rsplit("/", 1)[-1]
        if about_files is not None and not part.is_literal and name in READERS | WRITERS:
            return about_files
        if part.wraps and about_commands and allowing_command(allowing, case.subject.tool, part) is None:
            return about_commands
    return None


def _critical(case: Case) -> Ask | None:
    for words in case.subject.commands:
        for word in deleted_words(words):
            place = absolute_path(word, cwd=case.policy.cwd, home=case.policy.home)
            if is_critical(word, case.resolved.get(place, ResolvedPath(place, place)), case.policy):
                return Ask(reason=f"deleting {word!r} would delete a critical path")
        row = destructive_pattern(words)
        if row is not None and row.always:
            return Ask(reason=f"the command is destructive: {row.warning}")
    return None


def _not_simple(case: Case) -> Ask | None:
    line = case.subject.line
    if line is None or (line.problem is None and not case.subject.overfull):
        return None
    return Ask(reason=line.problem or "the command names too many paths")


def _confined(case: Case) -> Allow | None:
    """What the sandbox confines runs without a question (project-conventions 12); in plan mode the mode speaks."""
    sandbox, line = case.policy.sandbox, case.subject.line
    if line is None or not sandbox.allows_itself or case.mode is PermissionMode.PLAN:
        return None
    if case.subject.tool != "Bash" or not is_confined(line.raw, sandbox):
        return None
    return Allow(reason=f"the sandbox confines it: {sandbox.reason}")


def _allowed(case: Case) -> Allow | None:
    if case.subject.kind is ToolKind.SHELL:
        return _allowed_line(case)
    if not rules_may_allow(case.mode, action_of(case)):
        return None
    rule = allowing_rule(case.rules(RuleEffect.ALLOW), case.subject, case.resolved, case.policy)
    return None if rule is None else Allow(reason=f"the rule {rule.text!r} allows it", rule=rule)


def _allowed_line(case: Case) -> Allow | None:
    """Every command and every redirection of the line has to be allowed by itself (F32)."""
    rules = case.rules(RuleEffect.ALLOW)
    if not case.parts or not rules_may_allow(case.mode, action_of(case)):
        return None
    used: list[PermissionRule] = []
    for part in case.parts:
        if answer_of(case.mode, part_action(part, case)) is Answer.ALLOW:
            continue
        rule = allowing_command(rules, case.subject.tool, part)
        if rule is None:
            return None
        used.append(rule)
    if not all(is_open(path, access, case) for path, access in redirected_paths(case)):
        return None
    texts = ", ".join(dict.fromkeys(repr(rule.text) for rule in used))
    reason = f"allowed by {texts}" if used else "every command in it only reads or is permitted by the mode"
    return Allow(reason=reason, rule=used[0] if used else None)


def _by_mode(case: Case) -> Verdict:
    action = action_of(case)
    if answer_of(case.mode, action) is Answer.ALLOW:
        return Allow(reason=f"the call {action.value}, which the mode {case.mode.value!r} permits")
    closed = action in {Action.EDIT_PROTECTED, Action.PERSON} or case.mode is PermissionMode.PLAN
    return Ask(reason=f"the call {action.value}", suggestion=suggested_rule(case.subject), open=not closed)


# The order is the rule. A stage that says nothing leaves the call to the next one; the last always speaks.
STAGES: tuple[Callable[[Case], Verdict | None], ...] = (
    _denied,
    _unreadable,
    _refused_by_mode,
    _asked,
    _critical,
    _not_simple,
    _may_be_denied,
    _mentions_denied,
    _searches_denied,
    _confined,
    _allowed,
    _by_mode,
)


def suggested_rule(subject: Subject) -> str | None:
    """The narrowest rule that would allow the same call again; `None` where no rule should be saved."""
    parts = subject.line.parts if subject.line is not None else ()
    if subject.kind is ToolKind.SHELL:
        texts = {_suggested_command(part) for part in parts if not is_inert(part.words)}
        return texts.pop() if len(texts) == 1 else None
    if subject.kind is ToolKind.FETCH:
        host = fetched_host(subject)
        return None if host is None else f"WebFetch(domain:{host})"
    if subject.tool == "Skill" and isinstance(skill := subject.fields.get("skill"), str) and is_exact(skill):
        return f"Skill({skill})"
    if subject.kind in {ToolKind.WEB_SEARCH, ToolKind.OTHER}:
        return subject.tool
    return None


def _suggested_command(part: Part) -> str | None:
    text = plain_text(part.words)
    unfit = "*" in text or not part.is_literal or part.wraps or destructive_pattern(part.words)
    return None if unfit or part.words[0].text in DELETERS else f"Bash({text})"
