"""The record of what the gate found, for `explain` and for the log (R370).

Decides its shape. Never writes it anywhere and never holds the input itself, which may be large or secret: its digest.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from compositor.types.instructions import LOSS_MODES, InstructionClass, LossMode
from compositor.types.tools import ToolCall
from compositor.types.verdicts import Allow, Deny, PermissionRule

from .policy import Policy


class Gate(enum.StrEnum):
    """The gates in their order (R364)."""

    REGISTRY = "registry"
    DENY_RULES = "deny_rules"
    PRE_HOOKS = "pre_hooks"
    PERMISSION = "permission"
    QUESTION = "question"
    SANDBOX = "sandbox"
    EXECUTION = "execution"


class Finding(enum.StrEnum):
    PASSED = "passed"
    ASKED = "asked"
    REFUSED = "refused"
    ABSENT = "absent"
    """The gate has nothing to check with; it says so instead of passing in silence."""


class GateFinding(Struct, frozen=True):
    gate: Gate
    finding: Finding
    reason: str


class AuditRecord(Struct, frozen=True, kw_only=True):
    """One decided call. `input_digest` and `policy_digest` are SHA-256 in hexadecimal."""

    call_id: str
    tool: str
    allowed: bool
    gate: str
    reason: str
    rule: PermissionRule | None
    mode: str
    input_digest: str
    policy_digest: str
    trace: tuple[GateFinding, ...]


class EnforcementChange(Struct, frozen=True):
    """A field of the policy that changed while the session ran, and which of the four causes it has (R370)."""

    cause: LossMode
    field: str
    before: str
    after: str


def audit_record(
    call: ToolCall, input: Raw, verdict: Allow | Deny, trace: tuple[GateFinding, ...], policy: Policy
) -> AuditRecord:
    """The record of a decided call; `input` is the final one."""
    return AuditRecord(
        call_id=call.id,
        tool=call.name,
        allowed=isinstance(verdict, Allow),
        gate=verdict.gate if isinstance(verdict, Deny) else Gate.EXECUTION.value,
        reason=verdict.reason,
        rule=verdict.rule,
        mode=policy.mode.value,
        input_digest=hashlib.sha256(bytes(input)).hexdigest(),
        policy_digest=policy_digest(policy),
        trace=trace,
    )


def policy_digest(policy: Policy) -> str:
    """Equal for equal policies, on every machine."""
    return hashlib.sha256(msgspec.json.encode(policy)).hexdigest()


def opening_changes(policy: Policy, *, is_resumed: bool, is_whole: bool) -> Iterator[EnforcementChange]:
    """What the opening of a session changes: a resumed one is judged by the settings of today, and a machine may lack what settings ask for."""
    if is_resumed:
        yield EnforcementChange(LossMode.SESSION_REBUILD, "policy", "", policy_digest(policy))
    if not is_whole:
        yield EnforcementChange(
            LossMode.PLATFORM_ABILITY, "sandbox", "settings ask for a sandbox", policy.sandbox.reason
        )


def enforcement_changes(before: Policy, after: Policy, cause: LossMode) -> Iterator[EnforcementChange]:
    """What is different between two policies, field by field, for the log. Raises `ValueError` for a foreign cause."""
    if cause not in LOSS_MODES[InstructionClass.ENFORCEMENT]:
        raise ValueError(f"{cause.value!r} is no cause of a change of enforcement")
    for name in Policy.__struct_fields__:
        one, two = (msgspec.json.encode(getattr(policy, name)).decode() for policy in (before, after))
        if one != two:
            yield EnforcementChange(cause, name, one, two)
