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

from .commands import (
    DELETERS,
    READERS,
    WRITERS,
    deleted_words,
    destructive_pattern,
    edited_paths,
    harmless_paths,
    is_build,
    is_inert,
    reads_trees,
)
from .match import (
    allowing_command,
    allowing_path_rule,
    allowing_rule,
    fetched_host,
    is_exact,
    possible_rule,
    reaching_path_rule,
    reaching_rule,
)
from .modes import Action, Answer, answer_of, rules_may_allow
from .paths import ResolvedPath, absolute_path, is_critical, is_in_scope, is_protected, normal_path
from .policy import Policy, effective_mode, rules_in_force
from .reach import plain_text
from .rules import COMMAND_TOOLS, EDIT_FAMILY, READ_FAMILY
from .sandbox import is_confined
from .shell_parts import Part
from .subject import Access, Subject, ToolKind, extra_use, subject_of
from .words import Word

GATE = "permission"


class _Case(Struct, frozen=True):
    subject: Subject
    resolved: Mapping[str, ResolvedPath]
    policy: Policy
    mode: PermissionMode

    def rules(self, effect: RuleEffect) -> tuple[PermissionRule, ...]:
        return rules_in_force(self.policy, effect)

    def paths(self, word: str) -> tuple[ResolvedPath, ...]:
        """What the word may name: one place for each folder that the line may be in."""
        places = (absolute_path(word, cwd=folder, home=self.policy.home) for folder in self.subject.folders)
        return tuple(self.resolved[place] for place in places)

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.subject.line.parts if self.subject.line is not None else ()


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
    by_tool = case.subject.kind is ToolKind.SEARCH and not case.policy.search_hides_denied
    if not by_tool and not any(reads_trees(part.words) for part in case.parts):
        return None
    rule = next((rule for rule in case.rules(RuleEffect.DENY) if rule.tool in READ_FAMILY and rule.specifier), None)
    if rule is None:
        return None
    return Ask(reason=f"the search may show a file that the rule {rule.text!r} protects", rule=rule)


def _may_be_denied(case: _Case) -> Ask | None:
    """A command whose words the shell makes up, and that a deny or ask rule would cover if they were the right ones."""
    rules = (*case.rules(RuleEffect.DENY), *case.rules(RuleEffect.ASK))
    rule = possible_rule(rules, case.subject) or _unseen(rules, case)
    if rule is None:
        return None
    return Ask(reason=f"what the shell puts into the command may fall under the rule {rule.text!r}", rule=rule)


def _unseen(rules: tuple[PermissionRule, ...], case: _Case) -> PermissionRule | None:
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


def _confined(case: _Case) -> Allow | None:
    """What the sandbox confines runs without a question (project-conventions 12); in plan mode the mode speaks."""
    sandbox, line = case.policy.sandbox, case.subject.line
    if line is None or not sandbox.allows_itself or case.mode is PermissionMode.PLAN:
        return None
    if case.subject.tool != "Bash" or not is_confined(line.raw, sandbox):
        return None
    return Allow(reason=f"the sandbox confines it: {sandbox.reason}")


def _allowed(case: _Case) -> Allow | None:
    if case.subject.kind is ToolKind.SHELL:
        return _allowed_line(case)
    if not rules_may_allow(case.mode, _action_of(case)):
        return None
    rule = allowing_rule(case.rules(RuleEffect.ALLOW), case.subject, case.resolved, case.policy)
    return None if rule is None else Allow(reason=f"the rule {rule.text!r} allows it", rule=rule)


def _allowed_line(case: _Case) -> Allow | None:
    """Every command and every redirection of the line has to be allowed by itself (F32)."""
    rules = case.rules(RuleEffect.ALLOW)
    if not case.parts or not rules_may_allow(case.mode, _action_of(case)):
        return None
    used: list[PermissionRule] = []
    for part in case.parts:
        if answer_of(case.mode, _part_action(part, case)) is Answer.ALLOW:
            continue
        rule = allowing_command(rules, case.subject.tool, part)
        if rule is None:
            return None
        used.append(rule)
    if not all(_is_open(path, access, case) for path, access in _redirected(case)):
        return None
    texts = ", ".join(dict.fromkeys(repr(rule.text) for rule in used))
    reason = f"allowed by {texts}" if used else "every command in it only reads or is permitted by the mode"
    return Allow(reason=reason, rule=used[0] if used else None)


def _by_mode(case: _Case) -> Verdict:
    action = _action_of(case)
    if answer_of(case.mode, action) is Answer.ALLOW:
        return Allow(reason=f"the call {action.value}, which the mode {case.mode.value!r} permits")
    closed = action in {Action.EDIT_PROTECTED, Action.PERSON} or case.mode is PermissionMode.PLAN
    return Ask(reason=f"the call {action.value}", suggestion=suggested_rule(case.subject), open=not closed)


# The order is the rule. A stage that says nothing leaves the call to the next one; the last always speaks.
STAGES: tuple[Callable[[_Case], Verdict | None], ...] = (
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
    if not case.parts:
        return Action.SHELL_WRITE if written else Action.SHELL
    actions = {_part_action(part, case) for part in case.parts}
    for path, access in _redirected(case):
        if access is Access.WRITE:
            actions.add(Action.SHELL_EDIT if is_in_scope(path, case.policy) else Action.SHELL_WRITE)
        elif not _is_readable(path, case):
            actions.add(Action.SHELL)
    return next(action for action in _STRONGEST if action in actions)


# What a line does is the strongest thing that one of its parts does.
_STRONGEST = (Action.SHELL_WRITE, Action.SHELL, Action.SHELL_BUILD, Action.SHELL_EDIT, Action.SHELL_READ)


def _part_action(part: Part, case: _Case) -> Action:
    """What one command of an understood line does, redirections aside."""
    if not part.open_ended and _is_harmless(part.words, case):
        return Action.SHELL_READ
    edited = None if part.open_ended else edited_paths(part.words)
    if edited is not None:
        inside = all(is_in_scope(path, case.policy) for word in edited for path in case.paths(word))
        return Action.SHELL_EDIT if inside else Action.SHELL_WRITE
    if not part.open_ended and not part.wraps and is_build(part.words):
        return Action.SHELL_BUILD
    return Action.SHELL_WRITE if part.words[0].text.rsplit("/", 1)[-1] in WRITERS else Action.SHELL


def _redirected(case: _Case) -> list[tuple[ResolvedPath, Access]]:
    redirects = case.subject.line.redirects if case.subject.line is not None else ()
    return [
        (path, Access.WRITE if redirect.writes else Access.READ)
        for redirect in redirects
        for path in case.paths(redirect.target.text)
    ]


def _is_open(path: ResolvedPath, access: Access, case: _Case) -> bool:
    """Whether a redirection may go there: as the mode has it, or by a rule on that path."""
    if access is Access.READ:
        return _is_readable(path, case)
    by_mode = answer_of(case.mode, Action.EDIT if is_in_scope(path, case.policy) else Action.EDIT_OUTSIDE)
    if by_mode is Answer.ALLOW:
        return True
    return allowing_path_rule(case.rules(RuleEffect.ALLOW), path, Access.WRITE, case.policy) is not None


def _is_harmless(words: tuple[Word, ...], case: _Case) -> bool:
    read = harmless_paths(words)
    if read is None or not all(_is_readable(path, case) for word in read for path in case.paths(word)):
        return False
    # A repository inside the repository may bring a configuration that runs programs.
    return words[0].text != "git" or (
        {normal_path(folder) for folder in case.subject.folders} <= set(case.policy.roots[:1])
    )


def _is_readable(path: ResolvedPath, case: _Case) -> bool:
    own = replace(case.policy, roots=case.policy.readable)
    if is_in_scope(path, case.policy) or is_in_scope(path, own):
        return True
    return allowing_path_rule(case.rules(RuleEffect.ALLOW), path, Access.READ, case.policy) is not None


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
