"""The run contract: one resolver for every entrance."""

import json
from typing import Any

import msgspec
import pytest

from compositor.config.candidates import BUILTIN_TOOLS, named
from compositor.config.contract import Host, RunContract, resolve_contract
from compositor.config.eligibility import CandidateKind, CandidateSource, Gate
from compositor.config.flags import Flags, PromptText
from compositor.config.layer import Layer, Level, parse_layer
from compositor.config.profile import Effort, ThinkingKind
from compositor.config.settings import merge_layers
from compositor.config.trust import Trust
from compositor.errors import ConfigError
from compositor.types.request import Ttl
from compositor.types.verdicts import PermissionMode


def layer(level: Level, value: dict[str, Any], *, shared: bool = False) -> Layer:
    return parse_layer(json.dumps(value).encode(), level=level, file=f"{level}.json", base="/b", shared=shared)


NOTHING_SAID = Flags()


def resolve(
    flags: Flags = NOTHING_SAID, *layers: Layer, environment: dict[str, str] | None = None, **rest: Any
) -> RunContract:
    return resolve_contract(flags, merge_layers(layers), environment or {}, cwd="/work", **rest)


def codes(contract: RunContract) -> list[str]:
    return [note.code for note in contract.diagnostics]


@pytest.mark.req("R002")
def test_everything_is_resolved_before_any_text_is_built() -> None:
    contract = resolve(
        Flags(
            model="claude-opus-5[1m]",
            effort=Effort.LOW,
            fast=True,
            permission_mode=PermissionMode.PLAN,
            append_system_prompt=(PromptText("inline"), PromptText("text", file="extra.md")),
            exclude_dynamic_sections=True,
            disallowed_tools=("Write",),
            max_turns=7,
            betas=("some-beta-2026-01-01",),
            user_id="user-1",
        ),
        layer(Level.MANAGED, {"permissions": {"deny": ["WebFetch"]}}),
        layer(Level.USER, {"promptCacheTtl": "1h", "includeGitInstructions": False}),
        environment={"ANTHROPIC_API_KEY": "sk-key"},
        trust=Trust.TRUSTED,
        candidates=(*BUILTIN_TOOLS, *named(("mcp__git__log",), CandidateSource.MCP, "server 'git'")),
    )
    assert (contract.model, contract.model_source) == ("claude-opus-5", "--model")
    assert contract.profile.id == "claude-opus-5"
    assert contract.platform.id == "claude-api"
    assert contract.base_url == "https://api.anthropic.com"
    assert contract.api_version == "2026-10-21"
    assert (contract.window.tokens, contract.window.step) == (1_000_000, "[1m] suffix")
    assert contract.effort is Effort.LOW
    assert contract.thinking.kind is ThinkingKind.ADAPTIVE
    assert contract.fast
    assert (contract.max_output, contract.max_turns) == (8_000, 7)
    assert contract.caching
    assert contract.ttl is Ttl.LONG
    assert contract.betas == ("some-beta-2026-01-01",)
    assert contract.policy.mode is PermissionMode.PLAN
    assert [rule.text for rule in contract.policy.rules] == ["WebFetch", "Write"]
    assert contract.trust is Trust.TRUSTED
    assert contract.prompt.custom is None
    assert [prompt.file for prompt in contract.prompt.append] == [None, "extra.md"]
    assert contract.prompt.exclude_dynamic
    assert not contract.git_instructions
    always = ("Agent", "Bash", "BashOutput", "Edit", "Glob", "Grep", "Monitor", "NotebookEdit", "Read", "TaskStop")
    assert contract.tools == (*always, "WebSearch", "mcp__git__log")
    assert contract.credential is not None
    assert contract.system_role
    assert contract.diagnostics == ()


@pytest.mark.req("R002")
def test_a_contract_is_frozen_and_shows_no_key() -> None:
    contract = resolve(
        Flags(),
        layer(Level.USER, {"env": {"ANTHROPIC_AUTH_TOKEN": "sk-settings"}}),
        environment={"ANTHROPIC_API_KEY": "sk-shell"},
    )
    with pytest.raises(AttributeError):
        contract.model = "other"  # type: ignore[misc]
    assert contract.credential is not None
    assert contract.credential.secret.reveal() == "sk-settings"
    assert "sk-" not in repr(contract)


@pytest.mark.req("R003")
def test_a_custom_prompt_replaces_and_an_appended_one_adds() -> None:
    custom, extra = PromptText("custom"), PromptText("extra")
    cases = (
        (Flags(), None, ()),
        (Flags(system_prompt=custom), custom, ()),
        (Flags(append_system_prompt=(extra,)), None, (extra,)),
        (Flags(system_prompt=custom, append_system_prompt=(extra,)), custom, (extra,)),
    )
    for flags, chosen, added in cases:
        contract = resolve(flags)
        assert (contract.prompt.custom, contract.prompt.append) == (chosen, added)


@pytest.mark.req("R004")
def test_the_exclusion_flag_has_no_effect_on_a_custom_prompt() -> None:
    plain = resolve(Flags(system_prompt=PromptText("custom")))
    flagged = resolve(Flags(system_prompt=PromptText("custom"), exclude_dynamic_sections=True))
    assert flagged.prompt == plain.prompt
    assert codes(flagged) == ["contract.exclude-ignored"]
    assert codes(plain) == []
    assert codes(resolve(Flags(exclude_dynamic_sections=True))) == []


@pytest.mark.req("R004")
def test_an_empty_custom_prompt_is_a_custom_prompt() -> None:
    contract = resolve(Flags(system_prompt=PromptText(""), exclude_dynamic_sections=True))
    assert contract.prompt.custom == PromptText("")
    assert not contract.prompt.exclude_dynamic


@pytest.mark.req("R005")
def test_every_tool_and_beta_has_a_finding() -> None:
    contract = resolve(Flags(betas=("b-2026-01-01",), tools=("Read", "Bash")))
    findings = {(finding.kind, finding.name): finding for finding in contract.eligibility}
    assert contract.tools == ("Bash", "Read")
    for kind, names in ((CandidateKind.TOOL, contract.tools), (CandidateKind.BETA, contract.betas)):
        for name in names:
            assert findings[kind, name].allowed
            assert findings[kind, name].reason
    assert findings[CandidateKind.TOOL, "Edit"].gate is Gate.SESSION


@pytest.mark.req("R006")
def test_a_machine_without_a_shell_has_no_shell_tool() -> None:
    contract = resolve(host=Host(machine=frozenset()))
    assert "Bash" not in contract.tools
    (finding,) = [finding for finding in contract.eligibility if finding.name == "Bash"]
    assert finding.gate is Gate.HOST


def test_experimental_betas_can_be_turned_off() -> None:
    contract = resolve(Flags(betas=("b-2026-01-01",)), environment={"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"})
    assert contract.betas == ()
    (finding,) = [finding for finding in contract.eligibility if finding.kind is CandidateKind.BETA]
    assert finding.gate is Gate.FEATURE


@pytest.mark.req("R372")
def test_no_flag_brings_back_a_tool_that_policy_denies() -> None:
    policy = layer(Level.MANAGED, {"permissions": {"deny": ["Bash"]}})
    contract = resolve(Flags(tools=("Bash", "Read"), allowed_tools=("Bash",)), policy)
    assert contract.tools == ("Read",)
    (finding,) = [finding for finding in contract.eligibility if finding.name == "Bash"]
    assert finding.gate is Gate.POLICY
    assert "managed.json:1" in finding.reason


@pytest.mark.req("R007")
def test_a_flag_and_a_setting_that_say_the_same_give_the_same_run() -> None:
    said = resolve(Flags(model="haiku", effort=Effort.LOW))
    written = resolve(Flags(settings="{}"), layer(Level.USER, {"model": "haiku", "effortLevel": "low"}))
    same = ("model", "profile", "effort", "thinking", "window", "max_output", "tools", "betas", "api_version")
    assert all(getattr(said, name) == getattr(written, name) for name in same)


def test_resolving_twice_gives_equal_contracts() -> None:
    flags = Flags(model="opus", tools=("Read",))
    environment = {"ANTHROPIC_MODEL": "haiku"}
    assert resolve(flags, environment=environment) == resolve(flags, environment=environment)


def test_an_unknown_built_in_tool_is_said() -> None:
    contract = resolve(Flags(tools=("Read", "Reed")))
    assert contract.tools == ("Read",)
    assert codes(contract) == ["contract.unknown-tool"]


@pytest.mark.parametrize(
    ("model", "environment", "fast", "notes"),
    [
        ("claude-opus-5-5", {}, True, []),
        ("claude-haiku-5-5", {}, False, ["contract.fast-mode"]),
        ("claude-opus-5-5", {"CLAUDE_CODE_USE_BEDROCK": "1"}, False, ["contract.fast-mode"]),
    ],
)
def test_fast_mode_is_where_model_and_platform_have_it(
    model: str, environment: dict[str, str], fast: bool, notes: list[str]
) -> None:
    contract = resolve(Flags(model=model, fast=True), environment=environment)
    assert (contract.fast, codes(contract)) == (fast, notes)


@pytest.mark.parametrize(
    ("model", "environment", "window", "step"),
    [
        ("claude-haiku-4-5", {}, 200_000, "model capability"),
        ("claude-haiku-4-5", {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "50000"}, 50_000, "environment override"),
        ("claude-haiku-4-5[1m]", {}, 1_000_000, "[1m] suffix"),
        ("claude-opus-5-5", {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}, 200_000, "model capability"),
        ("unheard-of", {}, 200_000, "default"),
        ("unheard-of", {"ANTHROPIC_BETAS": "context-1m-2025-08-07"}, 1_000_000, "beta header"),
    ],
)
@pytest.mark.req("R380")
def test_the_window(model: str, environment: dict[str, str], window: int, step: str) -> None:
    contract = resolve(Flags(model=model), environment=environment)
    assert (contract.window.tokens, contract.window.step) == (window, step)


@pytest.mark.req("R380")
def test_an_experiment_group_decides_where_nothing_else_does() -> None:
    contract = resolve(Flags(model="unheard-of"), host=Host(experiment_window=400_000))
    assert (contract.window.tokens, contract.window.step) == (400_000, "experiment group")


def test_the_system_role_goes_by_model_and_platform() -> None:
    assert resolve(Flags(model="opus")).system_role
    assert not resolve(Flags(model="claude-sonnet-5")).system_role
    assert not resolve(Flags(model="opus"), environment={"ANTHROPIC_BASE_URL": "http://localhost:1"}).system_role
    assert resolve(Flags(model="opus"), environment={"CLAUDE_CODE_USE_BEDROCK": "1"}).system_role


def test_the_git_variable_outranks_the_setting() -> None:
    off = layer(Level.USER, {"includeGitInstructions": False})
    assert resolve().git_instructions
    assert not resolve(Flags(), off).git_instructions
    assert resolve(Flags(), off, environment={"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "0"}).git_instructions
    assert not resolve(environment={"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1"}).git_instructions


def test_diagnostics_of_every_part_arrive() -> None:
    contract = resolve(
        Flags(model="unheard-of", effort=Effort.HIGH),
        layer(
            Level.PROJECT, {"env": {"PATH": "/evil"}, "permissions": {"allow": ["Bash"]}, "futureKey": 1}, shared=True
        ),
    )
    assert codes(contract) == [
        "settings.unknown-key",
        "settings.untrusted-env",
        "model.unknown",
        "contract.effort",
        "policy.rule-ignored",
    ]


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        (Flags(platform="nowhere"), {}),
        (Flags(), {"ANTHROPIC_BASE_URL": "nowhere"}),
        (Flags(), {"MAX_THINKING_TOKENS": "much"}),
    ],
)
def test_what_cannot_be_used_stops_with_one_sentence(flags: Flags, environment: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(flags, environment=environment)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_findings_are_plain_data() -> None:
    contract = resolve()
    assert msgspec.json.decode(msgspec.json.encode(contract.eligibility))[0]["name"] == "Agent"


@pytest.mark.parametrize(
    ("model", "facts", "window", "known"),
    [
        ("claude-opus-4-5", {"claude-opus-4-5": {"window": 500_000}}, 500_000, True),
        ("opus", {"claude-opus-5-5": {"window": 400_000}}, 400_000, True),
        ("house-model", {"house-model": {"window": 64_000}}, 64_000, True),
        ("house-model", {"other": {"window": 64_000}}, 200_000, False),
    ],
)
def test_settings_change_what_a_run_knows_of_its_model(model: str, facts: Any, window: int, known: bool) -> None:
    contract = resolve(Flags(model=model), layer(Level.USER, {"compositor": {"models": facts}}))
    assert (contract.window.tokens, contract.profile.is_known) == (window, known)


@pytest.mark.parametrize(
    ("facts", "said"),
    [({"wind": 1}, "There is no fact 'wind' about a model"), ({"window": "big"}, "cannot be used: Expected `int`")],
)
def test_what_is_no_fact_is_said_with_its_key(facts: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        resolve(Flags(model="opus"), layer(Level.USER, {"compositor": {"models": {"claude-opus-5-5": facts}}}))
    assert caught.value.key == "compositor.models.claude-opus-5-5"


def test_a_repository_may_not_say_what_a_model_can_do() -> None:
    contract = resolve(
        Flags(model="opus"),
        layer(Level.PROJECT, {"compositor": {"models": {"claude-opus-5-5": {"window": 5}}}}, shared=True),
    )
    assert contract.window.tokens == 1_000_000
