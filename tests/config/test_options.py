"""The steering fields: one setting, one field, and only where it is taken (R020, R021)."""

from typing import Any

import pytest
from msgspec import Raw

from compositor.config.contract import RunContract, resolve_contract
from compositor.config.eligibility import Gate
from compositor.config.flags import Flags
from compositor.config.options import FIELDS, RequestWishes, plan_options, request_facts, request_options
from compositor.config.profile import Effort, known_profiles
from compositor.config.settings import merge_layers
from compositor.types.json import decode_json
from compositor.types.request import RequestOptions, Ttl

OPTIONAL = ("thinking", "tool_choice", "metadata", "temperature", "context_management", "output_config", "speed")


def contract(model: str, environment: dict[str, str] | None = None, **flags: Any) -> RunContract:
    return resolve_contract(Flags(model=model, **flags), merge_layers([]), environment or {}, cwd="/work")


def fields(options: RequestOptions) -> dict[str, Any]:
    """The optional fields that are sent, decoded."""
    values = {name: getattr(options, name) for name in (*OPTIONAL, "stop_sequences")}
    sent = {name: value for name, value in values.items() if value is not None}
    return {name: decode_json(bytes(value)) if isinstance(value, Raw) else value for name, value in sent.items()}


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("claude-opus-5-5", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}),
        ("claude-opus-4-6", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        ("claude-opus-4-5", {"output_config": {"effort": "high"}}),
        ("claude-haiku-4-5", {}),
        ("unheard-of", {}),
    ],
)
@pytest.mark.req("R020")
def test_a_plain_run_sends_what_the_profile_has(model: str, sent: dict[str, Any]) -> None:
    options = request_options(contract(model))
    assert fields(options) == sent
    assert (options.model, options.max_tokens, options.stream) == (model, 8_000, True)
    assert (options.api_version, options.betas, options.ttl) == ("2026-10-21", (), Ttl.SHORT)


# A setting, and the one thing that changes by it.
ONE_FIELD: list[tuple[dict[str, Any], dict[str, str], RequestWishes, str, Any]] = [
    ({"effort": Effort.LOW}, {}, RequestWishes(), "output_config", {"effort": "low"}),
    ({"user_id": "u-1"}, {}, RequestWishes(), "metadata", {"user_id": "u-1"}),
    ({"fast": True}, {}, RequestWishes(), "speed", "fast"),
    ({"max_output_tokens": 9_000}, {}, RequestWishes(), "max_tokens", 9_000),
    ({"betas": ("b-1",)}, {}, RequestWishes(), "betas", ("b-1",)),
    ({}, {"ENABLE_PROMPT_CACHING_1H": "1"}, RequestWishes(), "ttl", Ttl.LONG),
    ({}, {"DISABLE_PROMPT_CACHING": "1"}, RequestWishes(), "caching", False),
    ({}, {}, RequestWishes(max_tokens=64_000), "max_tokens", 64_000),
    ({}, {}, RequestWishes(tool_choice=Raw(b'{"type":"none"}')), "tool_choice", {"type": "none"}),
    ({}, {}, RequestWishes(stop_sequences=("END",)), "stop_sequences", ("END",)),
]


@pytest.mark.parametrize(("flags", "environment", "wishes", "field", "value"), ONE_FIELD)
@pytest.mark.req("R021")
def test_a_setting_maps_to_exactly_one_field(
    flags: dict[str, Any], environment: dict[str, str], wishes: RequestWishes, field: str, value: Any
) -> None:
    before = request_options(contract("claude-opus-5-5"))
    after = request_options(contract("claude-opus-5-5", environment, **flags), wishes)
    changed = {name for name in RequestOptions.__struct_fields__ if _plain(before, name) != _plain(after, name)}
    assert changed == {field}
    assert _plain(after, field) == value


def _plain(options: RequestOptions, name: str) -> Any:
    value = getattr(options, name)
    return decode_json(bytes(value)) if isinstance(value, Raw) else value


@pytest.mark.parametrize("profile", known_profiles(), ids=lambda profile: profile.id)
@pytest.mark.req("R020")
def test_no_sampling_field_is_sent_in_the_new_version(profile: Any) -> None:
    planned = plan_options(contract(profile.id, temperature=0.5))
    assert planned.options.api_version == "2026-10-21"
    assert planned.options.temperature is None
    (finding,) = [finding for finding in planned.eligibility if finding.name == "temperature"]
    assert (finding.allowed, finding.gate) == (False, Gate.PROVIDER)


@pytest.mark.req("R020")
def test_the_old_version_still_has_sampling_for_old_models() -> None:
    bedrock = {"CLAUDE_CODE_USE_BEDROCK": "1"}
    old = request_options(contract("claude-opus-4-6", bedrock, temperature=0.5))
    new = request_options(contract("claude-opus-4-7", bedrock, temperature=0.5))
    assert (old.api_version, old.temperature) == ("2023-06-01", 0.5)
    assert (new.api_version, new.temperature) == ("2026-10-21", None)


@pytest.mark.parametrize("profile", known_profiles(), ids=lambda profile: profile.id)
@pytest.mark.parametrize("effort", [*Effort, None])
@pytest.mark.parametrize("environment", [{}, {"MAX_THINKING_TOKENS": "0"}, {"MAX_THINKING_TOKENS": "20000"}])
def test_thinking_and_effort_are_always_legal_for_the_model(
    profile: Any, effort: Effort | None, environment: dict[str, str]
) -> None:
    options = request_options(contract(profile.id, environment, effort=effort))
    sent = fields(options)
    thinking = sent.get("thinking")
    if thinking is not None:
        assert thinking["type"] in {kind.value for kind in profile.thinking.kinds}  # L91
        assert 1024 <= thinking.get("budget_tokens", 1024) < options.max_tokens  # L90
    level = sent.get("output_config", {}).get("effort")
    assert level is None or level in profile.efforts
    if thinking is not None and thinking["type"] in {"disabled", "between_tools"}:
        assert profile.thinking.off_effort_cap is None or level in {"low", "medium", "high"}  # L92
    assert options.max_tokens <= profile.max_output  # L18


def test_a_budget_that_does_not_fit_the_output_is_cut_or_left_out() -> None:
    budget = {"MAX_THINKING_TOKENS": "20000"}
    assert fields(request_options(contract("claude-opus-4-5", budget)))["thinking"]["budget_tokens"] == 7_999
    short = request_options(contract("claude-opus-4-5", budget), RequestWishes(max_tokens=1_000))
    assert "thinking" not in fields(short)


@pytest.mark.parametrize(
    ("model", "choice", "is_sent"),
    [
        ("claude-opus-5", b'{"type":"any"}', True),
        ("claude-opus-5-5", b'{"type":"any"}', False),
        ("claude-opus-5-5", b'{"type":"tool","name":"Read"}', False),
        ("claude-opus-5-5", b'{"type":"auto","disable_parallel_tool_use":true}', True),
    ],
)
def test_forced_tool_choice_goes_only_where_it_is_taken(model: str, choice: bytes, is_sent: bool) -> None:
    options = request_options(contract(model), RequestWishes(tool_choice=Raw(choice)))
    assert (options.tool_choice is not None) is is_sent


EDITS = Raw(b'{"edits":[{"type":"clear_tool_uses_20250919"}]}')


def test_a_field_brings_its_beta_and_never_stays_without_it() -> None:
    with_edits = request_options(contract("opus"), RequestWishes(context_management=EDITS))
    assert with_edits.context_management is not None
    assert with_edits.betas == ("context-management-2025-06-27",)
    elsewhere = contract("opus", {"CLAUDE_CODE_USE_BEDROCK": "1"}, platform="openai-compatible")
    without = request_options(elsewhere, RequestWishes(context_management=EDITS))
    assert (without.context_management, without.betas) == (None, ())


@pytest.mark.parametrize(("model", "betas"), [("claude-opus-5-5", ()), ("claude-opus-5", ("fast-mode-2026-02-01",))])
def test_fast_mode_brings_its_beta_where_the_model_needs_one(model: str, betas: tuple[str, ...]) -> None:
    options = request_options(contract(model, fast=True))
    assert (options.speed, options.betas) == ("fast", betas)


def test_a_beta_named_twice_is_sent_once() -> None:
    options = request_options(contract("claude-opus-5", fast=True, betas=("fast-mode-2026-02-01",)))
    assert options.betas == ("fast-mode-2026-02-01",)


@pytest.mark.req("R005")
def test_every_sent_field_and_beta_has_a_finding() -> None:
    run = contract("claude-opus-5", fast=True, user_id="u", betas=("b-1",))
    planned = plan_options(run, RequestWishes(context_management=EDITS, tool_choice=Raw(b'{"type":"any"}')))
    findings = {finding.name for finding in (*run.eligibility, *planned.eligibility) if finding.allowed}
    assert set(fields(planned.options)) | set(planned.options.betas) <= findings


@pytest.mark.req("R020")
def test_the_table_names_steering_fields_alone() -> None:
    names = [row.field for row in FIELDS]
    assert set(names) == {*OPTIONAL, "stop_sequences", "diagnostics"}
    assert not {"system", "messages", "tools"} & set(names)


def test_a_higher_cap_changes_nothing_else() -> None:
    run = contract("opus")
    first, second = request_options(run), request_options(run, RequestWishes(max_tokens=64_000))
    same = [name for name in RequestOptions.__struct_fields__ if name != "max_tokens"]
    assert all(_plain(first, name) == _plain(second, name) for name in same)
    assert (first.max_tokens, second.max_tokens) == (8_000, 64_000)


def test_the_facts_of_the_fold() -> None:
    facts = request_facts(contract("opus"))
    assert (facts.model, facts.binds_thinking, facts.system_role, facts.prefill) == (
        "claude-opus-5-5",
        True,
        True,
        False,
    )
    old = request_facts(contract("claude-haiku-4-5"))
    assert (old.binds_thinking, old.system_role, old.prefill) == (False, False, True)
