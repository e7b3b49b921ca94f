"""Verdicts of the enforcement line, and the rules they point at.

Decides their shape. A refusal is a value with a reason; only `policy/decide.py` makes one.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

from msgspec import Struct


class RuleEffect(enum.StrEnum):
    """In the order of evaluation: deny beats ask beats allow (project-conventions 3.1)."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class PermissionMode(enum.StrEnum):
    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    PLAN = "plan"
    AUTO = "auto"
    DONT_ASK = "dontAsk"
    BYPASS = "bypassPermissions"


class PermissionRule(Struct, frozen=True, kw_only=True):
    """One rule a person wrote: `tool` or `tool(specifier)`, with the place it was written at.

    `level`: managed, cli, local, project, user, session. `base` is the directory that anchors `/path` specifiers.
    """

    effect: RuleEffect
    tool: str
    specifier: str | None
    text: str
    level: str
    file: str | None = None
    base: str | None = None


class Allow(Struct, frozen=True, kw_only=True):
    reason: str
    rule: PermissionRule | None = None


class Ask(Struct, frozen=True, kw_only=True):
    """A person has to decide. `suggestion` is the rule text that an "always" answer would save.

    `open`: only the mode asks; no rule, no protected or critical place and nothing that could not be understood.
    """

    reason: str
    rule: PermissionRule | None = None
    suggestion: str | None = None
    open: bool = False


class Deny(Struct, frozen=True, kw_only=True):
    """Final at any gate. `gate` names the one that refused."""

    reason: str
    gate: str
    rule: PermissionRule | None = None


Verdict: TypeAlias = Allow | Ask | Deny
