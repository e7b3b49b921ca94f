"""The registry of instruction-like objects: one class each, everything declared, two axes that nobody compares (R016 to R018, R023)."""

from __future__ import annotations

import ast

import pytest

from compositor.context.messages.lanes import NOTE_INSTRUCTION, SYSTEM_NOTE_INSTRUCTION
from compositor.context.prompt.registry import PROMPT_INSTRUCTIONS
from compositor.policy.registry import GATE_INSTRUCTIONS
from compositor.types.instructions import (
    LOSS_MODES,
    EnforcementPower,
    Instruction,
    InstructionClass,
    LossMode,
    ModelAuthority,
    Region,
)
from tests.house.tree import PACKAGE

REGISTRY: tuple[Instruction, ...] = (
    *PROMPT_INSTRUCTIONS,
    NOTE_INSTRUCTION,
    SYSTEM_NOTE_INSTRUCTION,
    *GATE_INSTRUCTIONS,
)


@pytest.mark.req("R016", "R023")
@pytest.mark.parametrize("instruction", REGISTRY, ids=[instruction.name for instruction in REGISTRY])
def test_everything_is_declared(instruction: Instruction) -> None:
    assert instruction.producer
    assert instruction.form
    assert instruction.why_here
    assert instruction.loss_modes == LOSS_MODES[instruction.kind]
    assert (PACKAGE / instruction.producer).is_file()


@pytest.mark.req("R016", "R012")
def test_only_the_enforcement_line_can_stop_an_effect_and_it_says_nothing_to_the_model() -> None:
    for instruction in REGISTRY:
        enforces = instruction.kind is InstructionClass.ENFORCEMENT
        assert (instruction.power is EnforcementPower.STOPS_BEFORE) == enforces
        assert (instruction.region is Region.NONE) == enforces
        assert (instruction.authority is ModelAuthority.NONE) == enforces


def test_names_are_unique() -> None:
    names = [instruction.name for instruction in REGISTRY]
    assert len(names) == len(set(names))


@pytest.mark.req("R017")
def test_a_reminder_has_five_loss_modes_and_every_class_has_its_own() -> None:
    assert len(LOSS_MODES[InstructionClass.REMINDER]) == 5
    assert set(LOSS_MODES) == set(InstructionClass)
    assert {mode for modes in LOSS_MODES.values() for mode in modes} == set(LossMode)


@pytest.mark.req("R018")
def test_no_code_compares_authority_with_power() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                named = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
                assert not {"authority", "power"} <= named, f"{path}:{node.lineno}"
