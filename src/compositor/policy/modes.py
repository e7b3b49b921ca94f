"""Permission modes as one table: what a kind of action gets when no rule speaks (project-conventions 3.2).

Decides the answer of the mode alone. Rules, critical paths and lines that cannot be read are judged before it.
"""

from __future__ import annotations

import enum

from compositor.types.verdicts import PermissionMode


class Action(enum.Enum):
    """What a call does, as far as the client can tell by itself."""

    READ = "reads inside the working directories"
    READ_OUTSIDE = "reads outside the working directories"
    EDIT = "edits inside the working directories"
    EDIT_OUTSIDE = "edits outside the working directories"
    EDIT_PROTECTED = "edits a protected path"
    SHELL_READ = "runs a command that only reads"
    SHELL_EDIT = "runs a command that only edits files inside the working directories"
    SHELL_WRITE = "runs a command that writes files"
    SHELL_BUILD = "runs a build or test command of the project"
    SHELL = "runs a command"
    NETWORK = "reaches the network"
    INTERNAL = "changes nothing outside the session"
    PERSON = "needs an answer of a person"
    OTHER = "has an effect that the client does not know"


class Answer(enum.Enum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_FREE = frozenset({Action.READ, Action.SHELL_READ, Action.INTERNAL})
_EDITS = frozenset({Action.EDIT, Action.EDIT_OUTSIDE, Action.EDIT_PROTECTED, Action.SHELL_EDIT, Action.SHELL_WRITE})

# What runs without asking, and what is refused outright. Everything else asks.
FREE_ACTIONS: dict[PermissionMode, frozenset[Action]] = {
    PermissionMode.DEFAULT: _FREE,
    PermissionMode.ACCEPT_EDITS: _FREE | {Action.EDIT, Action.SHELL_EDIT},
    PermissionMode.PLAN: _FREE,
    PermissionMode.AUTO: _FREE | {Action.EDIT, Action.SHELL_EDIT, Action.SHELL_BUILD},
    PermissionMode.DONT_ASK: _FREE,
    PermissionMode.BYPASS: frozenset(Action) - {Action.PERSON},
}
REFUSED_ACTIONS: dict[PermissionMode, frozenset[Action]] = {PermissionMode.PLAN: _EDITS}


def answer_of(mode: PermissionMode, action: Action) -> Answer:
    """What the mode says to an action. `auto` goes by this table too: its classifier is a list of rules, not a model."""
    if action in REFUSED_ACTIONS.get(mode, frozenset()):
        return Answer.DENY
    return Answer.ALLOW if action in FREE_ACTIONS[mode] else Answer.ASK


def rules_may_allow(mode: PermissionMode, action: Action) -> bool:
    """Whether an allow rule counts: never for what needs a person or a protected path, in plan mode only for reading."""
    if action in {Action.PERSON, Action.EDIT_PROTECTED} or action in REFUSED_ACTIONS.get(mode, frozenset()):
        return False
    return mode is not PermissionMode.PLAN or action in _FREE | {Action.READ_OUTSIDE, Action.NETWORK}
