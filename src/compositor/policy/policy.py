"""`Policy`: everything the enforcement line knows about the session, as one frozen value.

Decides the shape of that knowledge and which mode is in force. Every default is the closed choice. Never decides a verdict.
"""

from __future__ import annotations

from msgspec import Struct

from compositor.types.verdicts import PermissionMode, PermissionRule, RuleEffect

from .limits import ToolLimits

MANAGED = "managed"
# What a repository brings with it: its allow rules wait for trust (project-conventions 3.4).
REPOSITORY_LEVELS = frozenset({"project"})


class SandboxState(Struct, frozen=True, kw_only=True):
    """The sandbox of shell commands, as far as verdicts depend on it.

    `enabled`: settings ask for it. `available`: it can run here; `reason` says what runs it or why nothing can. `required`: without it
    no command runs. `allows_itself`: what it confines runs without a question where no rule speaks. `excluded`: command patterns that run
    outside, and then pass the gate like any command.
    """

    enabled: bool = False
    available: bool = False
    required: bool = False
    allows_itself: bool = True
    reason: str = "no sandbox is set up"
    excluded: tuple[str, ...] = ()


class Policy(Struct, frozen=True, kw_only=True, cache_hash=True):
    """Rules of all levels, and the facts they are judged against.

    All paths are absolute. `roots` are the directories in scope; a directory reached through a symbolic link stands here
    twice, as given and real. `cwd` is where relative paths start; the first root is where the session started. `trusted`:
    the person accepted this folder. `search_hides_denied`: the search tools leave out what a Read rule denies; while it is
    false a search through a directory asks as soon as such a rule exists. `readable` are folders of the session itself that may be read as if
    they were in scope: what a tool put into a file there was its own result. `ignore_case`: the file system does not tell
    `A` from `a`. `pre_hooks` are asked before the rules, `ask_hooks` before a person.
    """

    cwd: str
    roots: tuple[str, ...]
    home: str
    rules: tuple[PermissionRule, ...] = ()
    mode: PermissionMode = PermissionMode.DEFAULT
    interactive: bool = False
    trusted: bool = False
    bypass_disabled: bool = False
    managed_rules_only: bool = False
    sandbox: SandboxState = SandboxState()
    search_hides_denied: bool = False
    readable: tuple[str, ...] = ()
    ignore_case: bool = False
    pre_hooks: tuple[str, ...] = ()
    ask_hooks: tuple[str, ...] = ()
    limits: ToolLimits | None = None


def effective_mode(policy: Policy) -> PermissionMode:
    """The mode in force; a locked bypass acts as `default`."""
    if policy.mode is PermissionMode.BYPASS and policy.bypass_disabled:
        return PermissionMode.DEFAULT
    return policy.mode


def rules_in_force(policy: Policy, effect: RuleEffect) -> tuple[PermissionRule, ...]:
    """The rules of one effect that count, managed ones first.

    Deny and ask rules of every level always count. An allow rule of the repository waits for trust, and a managed policy
    may shut out every allow rule but its own (R372).
    """
    chosen = [rule for rule in policy.rules if rule.effect is effect]
    if effect is RuleEffect.ALLOW:
        chosen = [rule for rule in chosen if _allow_counts(policy, rule)]
    return tuple(sorted(chosen, key=lambda rule: rule.level != MANAGED))


def _allow_counts(policy: Policy, rule: PermissionRule) -> bool:
    if policy.managed_rules_only and rule.level != MANAGED:
        return False
    return policy.trusted or rule.level not in REPOSITORY_LEVELS
