"""The run contract: everything that is fixed before any text is built, resolved once and frozen (R002, R008).

Decides nothing by itself: it joins the choices, the policy inputs and the eligibility findings into one value. The command
line and the SDK come through this one door (R007). Never builds a request: the fields are `options.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic
from compositor.types.request import Ttl

from .candidates import BUILTIN_TOOLS
from .choices import (
    Thinking,
    asked_ttl,
    choose_effort,
    choose_fast,
    choose_model,
    choose_output,
    choose_output_limit,
    choose_platform,
    choose_thinking,
    has_fast_mode,
)
from .compaction import CompactionChoice, choose_compaction
from .eligibility import Candidate, CandidateKind, CandidateSource, Eligibility, GateFacts, allowed_names, narrow
from .environment import Credential, Environment, join_environment, read_environment
from .flags import Flags, PromptText
from .platforms import Ability, Platform, base_url, beta_for
from .policy_inputs import PolicyInputs, collect_policy, denied_tools
from .profile import Effort, FoundProfile, ModelProfile
from .settings import Settings
from .trust import Trust
from .window import WindowDecision, WindowFacts, decide_window


class PromptChoice(Struct, frozen=True, kw_only=True):
    """Which system prompt: `custom` replaces the preset, `append` only adds to whichever it is (R003), `override` is all there is (R076).

    `exclude_dynamic` is never true beside `custom` (R004).
    """

    custom: PromptText | None = None
    override: PromptText | None = None
    append: tuple[PromptText, ...] = ()
    exclude_dynamic: bool = False


class Host(Struct, frozen=True, kw_only=True):
    """What surrounds the run: abilities of the machine, the account and the session, and features that are on, by name."""

    machine: frozenset[str] = frozenset({"bash"})
    account: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    session: frozenset[str] = frozenset()
    experiment_window: int | None = None


class RunContract(Struct, frozen=True, kw_only=True):
    """One run, settled. `model` goes into the body; `effort` `None` and `thinking.kind` `None` are not sent.

    `max_output` in tokens, `output_limit` that of the one resend after an answer was cut (R381), `ttl_wish` the lifetime of markers that somebody asked for or that was chosen, `max_turns` `None` for no
    limit. `tools` are the names that passed every gate; `eligibility`
    says of every candidate why or why not. `facts` are what the gates saw, for candidates that appear later.
    """

    prompt: PromptChoice
    model: str
    model_source: str
    profile: ModelProfile
    platform: Platform
    base_url: str
    api_version: str
    window: WindowDecision
    effort: Effort | None
    thinking: Thinking
    fast: bool
    max_output: int
    output_limit: int
    max_turns: int | None
    caching: bool
    ttl_wish: Ttl | None
    betas: tuple[str, ...]
    temperature: float | None
    user_id: str | None
    git_instructions: bool
    compaction: CompactionChoice
    policy: PolicyInputs
    trust: Trust
    settings: Settings
    credential: Credential | None
    tools: tuple[str, ...]
    eligibility: tuple[Eligibility, ...]
    facts: GateFacts
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ttl(self) -> Ttl:
        """The lifetime of cache markers."""
        return self.ttl_wish or Ttl.SHORT

    @property
    def system_role(self) -> bool:
        """Whether `role: system` is legal inside messages on this model and platform (L30)."""
        return self.platform.id in self.profile.system_role


def resolve_contract(
    flags: Flags,
    settings: Settings,
    environment: Mapping[str, str],
    *,
    cwd: str,
    trust: Trust = Trust.UNTRUSTED,
    host: Host = Host(),  # noqa: B008  (a frozen value)
    candidates: Sequence[Candidate] = BUILTIN_TOOLS,
) -> RunContract:
    """Resolve flags, settings and the shell's variables into one frozen contract.

    `cwd` is the absolute start directory; `candidates` are the tools of all sources. Raises `ConfigError` for a variable,
    an address, a platform or a model that cannot be used.
    """
    joined = join_environment(environment, settings, trust)
    variables = read_environment(joined.variables)
    model = choose_model(flags, variables, settings)
    profile = model.value.profile
    platform = choose_platform(flags, joined.variables, settings)
    effort = choose_effort(flags, variables, settings, profile)
    thinking = choose_thinking(variables, settings, profile, effort.value)
    output, fast = choose_output(flags, variables, profile), choose_fast(flags, settings, profile, platform)
    policy = collect_policy(flags, settings, trust, cwd)
    version = profile.version_on(platform.id)
    betas = tuple(dict.fromkeys((*flags.betas, *variables.betas)))
    facts = _gate_facts(flags, host, policy, provider_facts(profile, platform, version), variables)
    eligibility = narrow((*candidates, *_beta_candidates(betas)), facts)
    noted = (settings, joined, model, effort, thinking, output, fast, policy)
    return RunContract(
        prompt=_prompt(flags),
        model=model.value.model,
        model_source=model.source,
        profile=profile,
        platform=platform,
        base_url=base_url(joined.variables),
        api_version=version,
        window=decide_window(_window_facts(model.value, variables, betas, host)),
        effort=effort.value,
        thinking=thinking.value,
        fast=fast.value,
        max_output=output.value,
        output_limit=choose_output_limit(output, profile),
        max_turns=flags.max_turns or variables.max_turns,
        caching=platform.has(Ability.CACHING) and not variables.disable_caching,
        ttl_wish=asked_ttl(variables, settings),
        betas=allowed_names(eligibility, CandidateKind.BETA),
        temperature=flags.temperature,
        user_id=flags.user_id,
        git_instructions=_git_instructions(variables, settings),
        compaction=choose_compaction(variables, settings),
        policy=policy,
        trust=trust,
        settings=settings,
        credential=variables.credential,
        tools=allowed_names(eligibility, CandidateKind.TOOL),
        eligibility=eligibility,
        facts=facts,
        diagnostics=(*(note for part in noted for note in part.diagnostics), *_flag_notes(flags, candidates)),
    )


def provider_facts(profile: ModelProfile, platform: Platform, api_version: str) -> frozenset[str]:
    """What model and platform have together, as names that candidates can need."""
    context_management = beta_for("context_management")
    there = {
        "messages": platform.api == "messages",
        "betas": platform.betas_in != "none",
        "effort": bool(profile.efforts) and platform.api == "messages",
        "fast mode": has_fast_mode(profile, platform),
        "sampling": platform.api != "messages" or (profile.sampling and api_version in _SAMPLING_VERSIONS),
        "forced tool choice": profile.forced_tools,
        "context management": context_management is not None and platform.id in context_management.platforms,
        "system role": platform.id in profile.system_role,
        "cache diagnostics": platform.has(Ability.DIAGNOSTICS),
    }
    kinds = (f"thinking {kind.value}" for kind in profile.thinking.kinds if platform.api == "messages")
    return frozenset({*(name for name, has in there.items() if has), *kinds, *platform.abilities})


# The versions whose body still has temperature, top_p and top_k (L10).
_SAMPLING_VERSIONS = frozenset({"2023-06-01", "bedrock-2023-05-31"})


def _gate_facts(
    flags: Flags, host: Host, policy: PolicyInputs, provider: frozenset[str], variables: Environment
) -> GateFacts:
    experimental = frozenset() if variables.disable_experimental_betas else frozenset({"experimental betas"})
    return GateFacts(
        host=host.machine,
        account=host.account,
        features=host.features | experimental,
        provider=provider,
        session=host.session,
        builtins=None if flags.tools is None else frozenset(flags.tools),
        denied=denied_tools(policy.rules),
    )


def _beta_candidates(names: Sequence[str]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            name=name,
            kind=CandidateKind.BETA,
            source=CandidateSource.CONDITIONAL,
            why="a beta that the caller named",
            features=frozenset({"experimental betas"}),
            provider=frozenset({"betas"}),
        )
        for name in names
    )


def _window_facts(found: FoundProfile, variables: Environment, betas: tuple[str, ...], host: Host) -> WindowFacts:
    return WindowFacts(
        override=variables.max_context_tokens,
        long_context=found.long_context,
        capability=found.profile.window if found.profile.is_known else None,
        betas=betas,
        experiment=host.experiment_window,
        long_context_off=variables.disable_long_context,
    )


def _prompt(flags: Flags) -> PromptChoice:
    exclude = flags.exclude_dynamic_sections and flags.system_prompt is None
    return PromptChoice(
        custom=flags.system_prompt,
        override=flags.override_system_prompt,
        append=flags.append_system_prompt,
        exclude_dynamic=exclude,
    )


def _git_instructions(variables: Environment, settings: Settings) -> bool:
    off = variables.disable_git_instructions
    return settings.include_git_instructions if off is None else not off


def _flag_notes(flags: Flags, candidates: Sequence[Candidate]) -> Iterator[Diagnostic]:
    """What a caller asked for and does not get."""
    if flags.exclude_dynamic_sections and flags.system_prompt is not None:
        message = "Dynamic sections exist only in the default prompt; the flag that excludes them is ignored (R004)"
        yield _note("contract.exclude-ignored", message, "--exclude-dynamic-system-prompt-sections")
    known = {candidate.name for candidate in candidates}
    for name in flags.tools or ():
        if name not in known:
            yield _note("contract.unknown-tool", f"There is no built-in tool {name!r}", "--tools")


def _note(code: str, message: str, where: str) -> Diagnostic:
    return Diagnostic(code, message, where=where, step="contract")
