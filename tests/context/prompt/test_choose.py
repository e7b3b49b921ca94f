"""The priority chain: the whole truth table, written out once more from the specification."""

from itertools import product

import pytest

from compositor.context.prompt.choose import PromptInputs, choose_prompt
from compositor.context.prompt.layout import Placement, head_parts
from compositor.context.prompt.system_context import GitStatus, plan_system_context
from compositor.errors import UsageError
from compositor.types.provenance import Lane, Source
from tests.context.prompt.building import blocks, prompt, sections

DEFAULT_KEYS = [section.key for section in sections()]
GIT = plan_system_context(GitStatus(branch="main"), "2026-01-31")


@pytest.mark.req("R075", "R076", "R077", "R078", "R079", "R080", "R081")
@pytest.mark.parametrize(
    ("override", "coordinator", "agent", "proactive", "custom"), list(product([False, True], repeat=5))
)
@pytest.mark.parametrize("append", [False, True])
def test_exactly_one_branch_applies(
    override: bool, coordinator: bool, agent: bool, proactive: bool, custom: bool, append: bool
) -> None:
    chosen = choose_prompt(
        PromptInputs(
            default=sections(),
            override="O" if override else None,
            coordinator="C",
            coordinator_gate=coordinator,
            coordinator_switch=coordinator,
            agent="A" if agent else None,
            proactive=proactive,
            custom="U" if custom else None,
            append="P" if append else None,
        )
    )
    if override:
        branch, keys = "override", ["override"]
    elif coordinator:
        branch, keys = "coordinator", ["coordinator"]
    elif agent and proactive:
        branch, keys = "agent_proactive", [*DEFAULT_KEYS, "agent"]
    elif agent:
        branch, keys = "agent", ["agent"]
    elif custom:
        branch, keys = "custom", ["custom"]
    else:
        branch, keys = "default", DEFAULT_KEYS
    if append and not override:
        keys = [*keys, "append"]
    assert chosen.branch == branch
    assert [section.key for section in chosen.sections] == keys
    given = {
        "coordinator": True,
        "proactive": proactive,
        "agent": agent,
        "custom": custom,
        "default": True,
        "append": append,
    }
    used = set(keys)
    used |= {"default", "proactive"} if branch in {"default", "agent_proactive"} else set()
    assert set(chosen.ignored) == {name for name, is_given in given.items() if is_given} - used


@pytest.mark.req("R077")
@pytest.mark.parametrize(("gate", "switch"), list(product([False, True], repeat=2)))
def test_coordinator_mode_needs_gate_and_switch(gate: bool, switch: bool) -> None:
    chosen = prompt(coordinator="C", coordinator_gate=gate, coordinator_switch=switch)
    assert chosen.branch == ("coordinator" if gate and switch else "default")


@pytest.mark.req("R003")
def test_custom_replaces_and_append_only_adds() -> None:
    none, custom, append, both = (
        blocks(head_parts(prompt(**inputs)))
        for inputs in ({}, {"custom": "U"}, {"append": "P"}, {"custom": "U", "append": "P"})
    )
    assert custom == ["U"]
    assert both == ["U", "P"]
    assert append == [none[0], f"{none[1]}\n\nP"]


@pytest.mark.req("R076")
def test_an_override_is_all_there_is() -> None:
    assert blocks(head_parts(prompt(override="O", append="P", custom="U"), system_context=GIT)) == ["O"]


@pytest.mark.req("R004")
def test_exclusion_means_nothing_under_a_custom_prompt() -> None:
    plain, excluded = (
        head_parts(prompt(custom="U"), system_context=GIT, placement=placement) for placement in Placement
    )
    assert plain == excluded


@pytest.mark.req("R082")
def test_what_was_ignored_is_explained() -> None:
    parts = head_parts(prompt(agent="A", custom="U"))
    assert [(omission.what, omission.reason) for omission in parts.omissions] == [
        ("custom prompt", "the agent prompt applies"),
        ("default prompt", "the agent prompt applies"),
    ]


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_blank_text_wins_its_branch_and_makes_no_block(blank: str) -> None:
    chosen = prompt(custom=blank, append=blank)
    assert (chosen.branch, chosen.sections) == ("custom", ())
    assert head_parts(chosen).system == ()


@pytest.mark.req("R015")
def test_given_texts_keep_their_source() -> None:
    origin = prompt(custom="U").sections[0].fragment.origin
    assert (origin.source, origin.lane) == (Source("option", "custom prompt"), Lane.SYSTEM)


@pytest.mark.req("R027")
@pytest.mark.parametrize("wrong", [["text"], "text", ("text",), None])
def test_only_an_effective_prompt_makes_a_head(wrong: object) -> None:
    with pytest.raises(UsageError, match="EffectivePrompt"):
        head_parts(wrong)  # type: ignore[arg-type]
