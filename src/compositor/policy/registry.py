"""One row for each gate in the registry of instruction-like objects: all of class ENFORCEMENT (R016, R018).

Decides what is declared about the gates. None of them has a wire form or any standing with the model; each of them stops an
effect before it happens.
"""

from __future__ import annotations

from compositor.types.instructions import EnforcementPower, Instruction, InstructionClass, ModelAuthority, Region

from .audit import Gate

_WHY: dict[Gate, str] = {
    Gate.REGISTRY: "a tool nobody registered, or an input of another shape, has no defined effect",
    Gate.DENY_RULES: "what a person forbade stays forbidden before any hook is run on it",
    Gate.PRE_HOOKS: "a project's own checks see the call before it is allowed, and can only refuse or change it",
    Gate.PERMISSION: "the rules of all levels and the mode decide on the input that would really run",
    Gate.QUESTION: "what no rule decided is decided by a person, and by nobody in a run without one",
    Gate.SANDBOX: "limits what an allowed command can reach, whatever it does",
    Gate.EXECUTION: "the last place where anything but a plain permission stops the call",
}

GATE_INSTRUCTIONS: tuple[Instruction, ...] = tuple(
    Instruction(
        name=f"gate.{gate.value}",
        kind=InstructionClass.ENFORCEMENT,
        producer="policy/gate.py",
        region=Region.NONE,
        form="none",
        authority=ModelAuthority.NONE,
        power=EnforcementPower.STOPS_BEFORE,
        why_here=why,
    )
    for gate, why in _WHY.items()
)
