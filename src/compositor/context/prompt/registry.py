"""Every instruction-like object of the prompt and the contexts, with what is declared about it (R016, R018, R023).

Decides the declarations of what is no section of the table in `order.py`: given prompts and the two contexts. Renders nothing.
"""

from __future__ import annotations

from compositor.types.instructions import EnforcementPower, Instruction, InstructionClass, ModelAuthority, Region

from .order import SECTIONS
from .section import section_instruction


def _given(name: str, why: str) -> Instruction:
    return Instruction(
        name=f"prompt.{name}",
        kind=InstructionClass.SYSTEM_PROMPT,
        producer="context/prompt/choose.py",
        region=Region.SYSTEM,
        form="text block of the top-level system prompt",
        authority=ModelAuthority.OPERATOR,
        power=EnforcementPower.NONE,
        why_here=why,
    )


PROMPT_INSTRUCTIONS: tuple[Instruction, ...] = (
    *(section_instruction(section) for section in SECTIONS),
    _given("override", "who you are: a text that stands for everything else"),
    _given("coordinator", "who you are: the agent that only hands out work"),
    _given("agent", "who you are: the definition of the main agent"),
    _given("custom", "who you are: a text that replaces the preset"),
    _given("append", "how to work: a text that only adds to what is there"),
    Instruction(
        name="context.system",
        kind=InstructionClass.SYSTEM_PROMPT,
        producer="context/prompt/system_context.py",
        region=Region.SYSTEM,
        form="key: value lines at the tail of the system prompt",
        authority=ModelAuthority.OPERATOR,
        power=EnforcementPower.NONE,
        why_here="where you are: the state of version control when the session began",
    ),
    Instruction(
        name="context.user",
        kind=InstructionClass.REMINDER,
        producer="context/prompt/user_context.py",
        region=Region.MESSAGES,
        form="first user message, in a reminder envelope",
        authority=ModelAuthority.USER,
        power=EnforcementPower.NONE,
        why_here="what this project is: instruction files, personal to user and project",
    ),
)
