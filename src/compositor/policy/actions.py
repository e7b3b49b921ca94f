"""What a call does, as far as its paths and its commands show: the action that a permission mode answers.

Decides by names and by what they really are (`ResolvedPath`). Never decides a verdict: that is `decide`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from compositor.types.verdicts import PermissionMode, PermissionRule, RuleEffect

from .commands import WRITERS, edited_paths, harmless_paths, is_build
from .match import allowing_path_rule
from .modes import Action, Answer, answer_of
from .paths import ResolvedPath, absolute_path, is_in_scope, is_protected, normal_path
from .policy import Policy, rules_in_force
from .shell_parts import Part
from .subject import Access, Subject, ToolKind
from .words import Word


class Case(Struct, frozen=True):
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


def action_of(case: Case) -> Action:
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


def _edit_action(paths: list[ResolvedPath], case: Case) -> Action:
    if not paths:
        return Action.OTHER
    if any(is_protected(path) for path in paths):
        return Action.EDIT_PROTECTED
    return Action.EDIT if all(is_in_scope(path, case.policy) for path in paths) else Action.EDIT_OUTSIDE


def _shell_action(case: Case) -> Action:
    written = [case.resolved[use.path] for use in case.subject.uses if use.access is Access.WRITE]
    if any(is_protected(path) for path in written):
        return Action.EDIT_PROTECTED
    if not case.parts:
        return Action.SHELL_WRITE if written else Action.SHELL
    actions = {part_action(part, case) for part in case.parts}
    for path, access in redirected_paths(case):
        if access is Access.WRITE:
            actions.add(Action.SHELL_EDIT if is_in_scope(path, case.policy) else Action.SHELL_WRITE)
        elif not _is_readable(path, case):
            actions.add(Action.SHELL)
    return next(action for action in _STRONGEST if action in actions)


# What a line does is the strongest thing that one of its parts does.
_STRONGEST = (Action.SHELL_WRITE, Action.SHELL, Action.SHELL_BUILD, Action.SHELL_EDIT, Action.SHELL_READ)


def part_action(part: Part, case: Case) -> Action:
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


def redirected_paths(case: Case) -> list[tuple[ResolvedPath, Access]]:
    redirects = case.subject.line.redirects if case.subject.line is not None else ()
    return [
        (path, Access.WRITE if redirect.writes else Access.READ)
        for redirect in redirects
        for path in case.paths(redirect.target.text)
    ]


def is_open(path: ResolvedPath, access: Access, case: Case) -> bool:
    """Whether a redirection may go there: as the mode has it, or by a rule on that path."""
    if access is Access.READ:
        return _is_readable(path, case)
    by_mode = answer_of(case.mode, Action.EDIT if is_in_scope(path, case.policy) else Action.EDIT_OUTSIDE)
    if by_mode is Answer.ALLOW:
        return True
    return allowing_path_rule(case.rules(RuleEffect.ALLOW), path, Access.WRITE, case.policy) is not None


def _is_harmless(words: tuple[Word, ...], case: Case) -> bool:
    read = harmless_paths(words)
    if read is None or not all(_is_readable(path, case) for word in read for path in case.paths(word)):
        return False
    # A repository inside the repository may bring a configuration that runs programs.
    return words[0].text != "git" or (
        {normal_path(folder) for folder in case.subject.folders} <= set(case.policy.roots[:1])
    )


def _is_readable(path: ResolvedPath, case: Case) -> bool:
    own = replace(case.policy, roots=case.policy.readable)
    if is_in_scope(path, case.policy) or is_in_scope(path, own):
        return True
    return allowing_path_rule(case.rules(RuleEffect.ALLOW), path, Access.READ, case.policy) is not None
