"""The four classes of instruction-like objects (R016), their loss modes (R017) and their two axes (R018).

Decides the vocabulary only. Registries elsewhere declare one `Instruction` for each object; no code compares the two
axes with each other.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class InstructionClass(enum.StrEnum):
    """Exactly one holds for each object that tells somebody what to do."""

    SYSTEM_PROMPT = "system_prompt"
    MID_SYSTEM = "mid_system"
    REMINDER = "reminder"
    ENFORCEMENT = "enforcement"


class ModelAuthority(enum.StrEnum):
    """First axis: with which standing the model is addressed. It promises nothing about obedience (R406)."""

    OPERATOR = "operator"
    USER = "user"
    DATA = "data"
    NONE = "none"


class EnforcementPower(enum.StrEnum):
    """Second axis: what the client itself can do about it."""

    NONE = "none"
    FEEDBACK = "feedback"
    STOPS_BEFORE = "stops_before"


class LossMode(enum.StrEnum):
    """Ways in which an object of a class can be absent (R017)."""

    PREFIX_CHANGE = "prefix_change"
    SESSION_REBUILD = "session_rebuild"
    CAPABILITY_REFUSED = "capability_refused"
    DEDUP = "dedup"
    RECOMPUTED = "recomputed"
    COMPACTION = "compaction"
    GENERATOR_FAILED = "generator_failed"
    RESUME_FILTER = "resume_filter"
    CONFIGURATION_SOURCE = "configuration_source"
    PLATFORM_ABILITY = "platform_ability"
    EXTERNAL_POLICY = "external_policy"


LOSS_MODES: dict[InstructionClass, tuple[LossMode, ...]] = {
    InstructionClass.SYSTEM_PROMPT: (LossMode.PREFIX_CHANGE, LossMode.SESSION_REBUILD),
    InstructionClass.MID_SYSTEM: (LossMode.CAPABILITY_REFUSED,),
    InstructionClass.REMINDER: (
        LossMode.DEDUP,
        LossMode.RECOMPUTED,
        LossMode.COMPACTION,
        LossMode.GENERATOR_FAILED,
        LossMode.RESUME_FILTER,
    ),
    InstructionClass.ENFORCEMENT: (
        LossMode.CONFIGURATION_SOURCE,
        LossMode.SESSION_REBUILD,
        LossMode.PLATFORM_ABILITY,
        LossMode.EXTERNAL_POLICY,
    ),
}


class Region(enum.StrEnum):
    """The three request fields that become model tokens (R019), and none for what never reaches the model."""

    SYSTEM = "system"
    MESSAGES = "messages"
    TOOLS = "tools"
    NONE = "none"


class Instruction(Struct, frozen=True, kw_only=True):
    """One instruction-like object and what is declared about it."""

    name: str
    kind: InstructionClass
    producer: str
    region: Region
    form: str
    authority: ModelAuthority
    power: EnforcementPower
    why_here: str

    @property
    def loss_modes(self) -> tuple[LossMode, ...]:
        return LOSS_MODES[self.kind]
