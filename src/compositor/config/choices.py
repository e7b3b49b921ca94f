"""The single choices of a run: model, platform, effort, thinking, output budget, cache lifetime.

Decides who wins where flag, variable, setting and profile disagree; each choice is one function. Never joins them: that is
`contract.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from msgspec import Struct, structs

from compositor.errors import ConfigError
from compositor.types.diagnostics import Diagnostic
from compositor.types.request import Ttl

from .environment import Environment
from .flags import Flags
from .platforms import Ability, Platform, find_platform, platform_of
from .profile import (
    Effort,
    FastMode,
    FoundProfile,
    ModelProfile,
    ThinkingDefault,
    ThinkingKind,
    default_model,
    find_profile,
    overridden,
)
from .settings import Settings
from .window import DEFAULT_OUTPUT, ESCALATED_OUTPUT

T = TypeVar("T")


class Choice(Struct, Generic[T], frozen=True, kw_only=True):
    """What was chosen, by whom (`--model`, a variable, a setting, a default), and what had to be said about it."""

    value: T
    source: str
    diagnostics: tuple[Diagnostic, ...] = ()


class Thinking(Struct, frozen=True, kw_only=True):
    """The `thinking` field: `kind` `None` is not sent. `budget` in tokens, only for `enabled`."""

    kind: ThinkingKind | None
    budget: int | None = None


UNASKED = "the default"
"""The source of a choice that nobody made."""

THINKING_BUDGET = 4_096
"""Tokens for `enabled` thinking where nobody names a number: half of the default output, and above the least (L90)."""


def choose_model(flags: Flags, environment: Environment, settings: Settings) -> Choice[FoundProfile]:
    """`--model`, then `ANTHROPIC_MODEL`, then the setting, then `ANTHROPIC_DEFAULT_MODEL`, then the built-in default.

    Raises `ConfigError` for a chosen model outside `availableModels`; a default outside it gives way to the first in it.
    """
    asked = (
        ("--model", flags.model),
        ("ANTHROPIC_MODEL", environment.model),
        ("the setting 'model'", settings.model),
        ("ANTHROPIC_DEFAULT_MODEL", environment.default_model),
    )
    source, name = next(((source, name) for source, name in asked if name), ("the default", default_model()))
    found = find_profile(name)
    if not _is_available(found, settings.available_models):
        if source != "the default":
            raise _unavailable(name, source, settings)
        source = "the setting 'availableModels'"
        found = find_profile((settings.available_models or (name,))[0])
    found = with_facts(found, settings)
    return Choice(value=found, source=source, diagnostics=found.diagnostics)


def with_facts(found: FoundProfile, settings: Settings) -> FoundProfile:
    """The model with what the setting `compositor.models` says about it. Raises `ConfigError` for what is no fact."""
    said = settings.compositor.models
    facts = said.get(found.model) or said.get(found.profile.id)
    if not facts:
        return found
    return structs.replace(found, profile=overridden(found.profile, facts, model=found.model))


def choose_platform(flags: Flags, variables: Mapping[str, str], settings: Settings) -> Platform:
    """A flag, then the setting, then what the environment means. Raises `ConfigError` for an unknown name."""
    return find_platform(flags.platform or settings.compositor.platform or platform_of(variables))


def choose_effort(
    flags: Flags, environment: Environment, settings: Settings, profile: ModelProfile
) -> Choice[Effort | None]:
    """`--effort`, then the variable, then the setting, then the profile; lowered to the nearest level the model has."""
    asked = (
        ("--effort", flags.effort),
        ("CLAUDE_CODE_EFFORT_LEVEL", environment.effort),
        ("the setting 'effortLevel'", Effort(settings.effort_level) if settings.effort_level else None),
    )
    source, effort = next(((source, effort) for source, effort in asked if effort), ("the profile", None))
    if effort is None:
        return Choice(value=profile.default_effort, source=source)
    order = tuple(Effort)
    usable = [level for level in profile.efforts if order.index(level) <= order.index(effort)]
    sent = usable[-1] if usable else None
    if sent is effort:
        return Choice(value=sent, source=source)
    instead = f"{sent.value!r} is used" if sent else "none is sent"
    message = f"The model {profile.id!r} has no effort level {effort.value!r}; {instead}"
    return Choice(value=sent, source=source, diagnostics=(_note("contract.effort", message, source),))


def choose_thinking(
    environment: Environment, settings: Settings, profile: ModelProfile, effort: Effort | None
) -> Choice[Thinking]:
    """Adaptive where the model has it; a fixed budget only where somebody asked; off as far as the model can be off."""
    off = _thinking_is_off(environment, settings)
    if off is not None:
        return _quiet(profile, effort, off)
    kinds = profile.thinking.kinds
    fixed = ThinkingKind.ENABLED in kinds
    if ThinkingKind.ADAPTIVE in kinds and not (environment.disable_adaptive_thinking and fixed):
        return Choice(value=Thinking(kind=ThinkingKind.ADAPTIVE), source="the profile")
    if fixed and environment.max_thinking_tokens is not None:
        budget = environment.max_thinking_tokens
        return Choice(value=Thinking(kind=ThinkingKind.ENABLED, budget=budget), source="MAX_THINKING_TOKENS")
    if fixed and settings.origin("alwaysThinkingEnabled") is not None:
        thinking = Thinking(kind=ThinkingKind.ENABLED, budget=THINKING_BUDGET)
        return Choice(value=thinking, source="the setting 'alwaysThinkingEnabled'")
    return Choice(value=Thinking(kind=None), source="the profile")


def choose_output(flags: Flags, environment: Environment, profile: ModelProfile) -> Choice[int]:
    """The output cap in tokens: a flag, then the variable, then 8,000 (R381); never above what the model has (L18)."""
    asked = (("the caller", flags.max_output_tokens), ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", environment.max_output_tokens))
    source, tokens = next(((source, tokens) for source, tokens in asked if tokens), (UNASKED, DEFAULT_OUTPUT))
    if tokens <= profile.max_output:
        return Choice(value=tokens, source=source)
    message = f"The model {profile.id!r} writes at most {profile.max_output} tokens; {tokens} were asked for"
    notes = (_note("contract.max-output", message, source),) if source != UNASKED else ()
    return Choice(value=profile.max_output, source="the profile", diagnostics=notes)


def choose_output_limit(output: Choice[int], profile: ModelProfile) -> int:
    """The cap of the resend after an answer was cut, in tokens (R381): a cap that somebody asked for is not raised."""
    return max(output.value, min(ESCALATED_OUTPUT, profile.max_output)) if output.source == UNASKED else output.value


def choose_fast(flags: Flags, settings: Settings, profile: ModelProfile, platform: Platform) -> Choice[bool]:
    """Fast mode where somebody asked for it and both model and platform have it."""
    asked = flags.fast if flags.fast is not None else settings.compositor.fast_mode
    source = "the caller" if flags.fast is not None else "the setting 'compositor.fastMode'"
    if not asked or has_fast_mode(profile, platform):
        return Choice(value=asked, source=source)
    message = f"Fast mode is not there for {profile.id!r} on {platform.id!r}; the request goes at standard speed"
    return Choice(value=False, source=source, diagnostics=(_note("contract.fast-mode", message, source),))


def has_fast_mode(profile: ModelProfile, platform: Platform) -> bool:
    """Whether model and platform both have it."""
    return profile.fast is not FastMode.NONE and platform.has(Ability.FAST)


def asked_ttl(environment: Environment, settings: Settings) -> Ttl | None:
    """The lifetime of cache markers that somebody asks for: variables, then the own setting, then the shared one."""
    if environment.force_short_ttl:
        return Ttl.SHORT
    if environment.enable_long_ttl:
        return Ttl.LONG
    said = settings.compositor.prompt_cache_ttl or settings.prompt_cache_ttl
    return None if said is None else Ttl(said)


def _thinking_is_off(environment: Environment, settings: Settings) -> str | None:
    """Who turned thinking off, `None` for nobody."""
    asked = (
        ("CLAUDE_CODE_DISABLE_THINKING", environment.disable_thinking),
        ("MAX_THINKING_TOKENS", environment.max_thinking_tokens == 0),
        ("the setting 'alwaysThinkingEnabled'", not settings.always_thinking_enabled),
    )
    return next((source for source, is_off in asked if is_off), None)


def _quiet(profile: ModelProfile, effort: Effort | None, source: str) -> Choice[Thinking]:
    thinking = profile.thinking
    if thinking.default is ThinkingDefault.OFF:
        return Choice(value=Thinking(kind=None), source=source)
    order = tuple(Effort)
    cap = thinking.off_effort_cap
    kind = next((kind for kind in (ThinkingKind.DISABLED, ThinkingKind.BETWEEN_TOOLS) if kind in thinking.kinds), None)
    if kind is not None and (cap is None or effort is None or order.index(effort) <= order.index(cap)):
        return Choice(value=Thinking(kind=kind), source=source)
    why = f"at effort {effort.value!r}" if kind is not None and effort is not None else "at all"
    message = f"The model {profile.id!r} cannot be kept from thinking {why}; it thinks"
    return Choice(value=Thinking(kind=None), source=source, diagnostics=(_note("contract.thinking", message, source),))


def _is_available(found: FoundProfile, available: tuple[str, ...] | None) -> bool:
    if available is None:
        return True
    profile = found.profile
    return any(
        name.lower() == profile.family or find_profile(name).model in {found.model, profile.id} for name in available
    )


def _unavailable(name: str, source: str, settings: Settings) -> ConfigError:
    allowed = ", ".join(settings.available_models or ()) or "the default model"
    origin = settings.origin("availableModels")
    return ConfigError(
        f"The model {name!r} chosen by {source} is not among the available ones",
        path=origin.file if origin else None,
        line=origin.line if origin else None,
        key="availableModels",
        expected=allowed,
        got=name,
        hint=f"Choose one of: {allowed}",
    )


def _note(code: str, message: str, where: str) -> Diagnostic:
    return Diagnostic(code, message, where=where, step="contract")
