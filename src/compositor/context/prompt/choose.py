"""Which system prompt applies: one branch of six wins, and the appended text comes last (R075 to R082).

Decides the choice. Never writes a text of its own, and never lays anything out.
"""

from __future__ import annotations

import enum

from msgspec import Struct

from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Source
from compositor.types.system import EffectivePrompt, SectionText, Zone


class Branch(enum.StrEnum):
    """The branches, highest first."""

    OVERRIDE = "override"
    COORDINATOR = "coordinator"
    AGENT_PROACTIVE = "agent_proactive"
    AGENT = "agent"
    CUSTOM = "custom"
    DEFAULT = "default"


DEFAULT_BRANCHES = frozenset({Branch.DEFAULT, Branch.AGENT_PROACTIVE})
"""The branches that hold the default prompt."""


class PromptInputs(Struct, frozen=True, kw_only=True):
    """Everything the choice depends on. `None` is not given; blank text is given and says nothing.

    Coordinator mode needs its text, the feature gate and the switch (R077). `proactive` also shapes the default, where that stands. `agent` is the text of the main agent's definition, `custom`
    and `append` come from the command line or the library call, `default` is the default prompt ready to use.
    """

    default: tuple[SectionText, ...]
    override: str | None = None
    coordinator: str | None = None
    coordinator_gate: bool = False
    coordinator_switch: bool = False
    agent: str | None = None
    proactive: bool = False
    custom: str | None = None
    append: str | None = None


def choose_prompt(inputs: PromptInputs) -> EffectivePrompt:
    """The effective prompt, the branch that made it, and what was given but not used."""
    branch = _choose_branch(inputs)
    texts = {
        Branch.OVERRIDE: inputs.override,
        Branch.COORDINATOR: inputs.coordinator,
        Branch.AGENT: inputs.agent,
        Branch.CUSTOM: inputs.custom,
    }
    if branch is Branch.AGENT_PROACTIVE:
        # The default stays: it holds the rules about actions that cannot be undone (R078).
        sections = (*inputs.default, *_given("agent", Zone.DYNAMIC, inputs.agent))
    elif branch is Branch.DEFAULT:
        sections = inputs.default
    else:
        sections = _given(branch.value, Zone.STATIC, texts[branch])
    if branch is not Branch.OVERRIDE:
        sections = (*sections, *_given("append", Zone.DYNAMIC, inputs.append))
    return EffectivePrompt(branch=branch.value, sections=sections, ignored=_ignored(inputs, branch))


def holds_default(prompt: EffectivePrompt) -> bool:
    """Whether the default prompt is part of it."""
    return prompt.branch in DEFAULT_BRANCHES


def takes_system_context(prompt: EffectivePrompt) -> bool:
    """Whether system context may follow: an override is all there is (R076), and the minimal prompt is one line (R043)."""
    return prompt.branch != Branch.OVERRIDE and all(section.key != "minimal" for section in prompt.sections)


def _choose_branch(inputs: PromptInputs) -> Branch:
    if inputs.override is not None:
        return Branch.OVERRIDE
    if inputs.coordinator is not None and inputs.coordinator_gate and inputs.coordinator_switch:
        return Branch.COORDINATOR
    if inputs.agent is not None:
        return Branch.AGENT_PROACTIVE if inputs.proactive else Branch.AGENT
    return Branch.DEFAULT if inputs.custom is None else Branch.CUSTOM


def _ignored(inputs: PromptInputs, branch: Branch) -> tuple[str, ...]:
    """Inputs that were given and left no trace, in the order of the branches."""
    is_agent = branch in {Branch.AGENT, Branch.AGENT_PROACTIVE}
    is_default = branch in DEFAULT_BRANCHES
    unused = (
        ("coordinator", inputs.coordinator is not None and branch is not Branch.COORDINATOR),
        ("proactive", inputs.proactive and not is_default),
        ("agent", inputs.agent is not None and not is_agent),
        ("custom", inputs.custom is not None and branch is not Branch.CUSTOM),
        ("default", not is_default),
        ("append", inputs.append is not None and branch is Branch.OVERRIDE),
    )
    return tuple(name for name, is_unused in unused if is_unused)


def _given(key: str, zone: Zone, text: str | None) -> tuple[SectionText, ...]:
    """A text from outside as a section; none where it is blank, since an empty text block is illegal (L07)."""
    if text is None or not text.strip():
        return ()
    origin = Attribution(Source("option", f"{key} prompt"), Lane.SYSTEM, Lifetime.SESSION, f"the {key} text was given")
    return (SectionText(key=key, zone=zone, fragment=Fragment(text, origin)),)
