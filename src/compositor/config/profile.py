"""What a model can do, as data: one `ModelProfile` for each known model, and one that is safe for any other.

Decides which profile a model name gets (R024). The facts stand in `profiles/claude.json` with source and date; no other
file tests a model's name. Never decides what a run asks of a model: that is `contract.py`.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from compositor.errors import ConfigError
from compositor.types.diagnostics import Diagnostic

from .data import read_data


class Effort(enum.StrEnum):
    """How much work the model puts into an answer, least first (`output_config.effort`)."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


class ThinkingKind(enum.StrEnum):
    """A value of `thinking.type` (L91)."""

    ADAPTIVE = "adaptive"
    ENABLED = "enabled"
    BETWEEN_TOOLS = "between_tools"
    DISABLED = "disabled"


class ThinkingDefault(enum.StrEnum):
    """What the service does when `thinking` is not sent. `ALWAYS` cannot be turned off."""

    ALWAYS = "always"
    ON = "on"
    OFF = "off"


class FastMode(enum.StrEnum):
    """Whether `speed: fast` is accepted, and whether it needs its beta header."""

    NONE = "none"
    BETA = "beta"
    PLAIN = "plain"


class AppendMode(enum.StrEnum):
    """The best way a model has to be told something new without an edit of what it already read (wire page 0.3, 0.4)."""

    TURN_SCOPED = "turn_scoped"
    SYSTEM_MESSAGE = "system_message"
    USER_TEXT = "user_text"


class ThinkingProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model thinks.

    `kinds` are accepted, all others refused (L91). `off_effort_cap`: the highest effort at which `disabled` or
    `between_tools` is legal (L92), `None` for no limit. `kept`: the service keeps thinking of earlier turns.
    """

    kinds: tuple[ThinkingKind, ...]
    default: ThinkingDefault
    off_effort_cap: Effort | None
    kept: bool


class ImageLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`max_tokens` one image can cost; `long_edge` in pixels, above which the service scales it down."""

    max_tokens: int
    long_edge: int


class ModelProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts about one model. `window` and `max_output` in tokens.

    `binds_thinking`: a replayed thinking block is tied to everything before it (L78). `system_role`: the platforms where
    `role: system` is legal inside messages (L30); `turn_scoped`: such a message may last for one turn only (L38);
    `mid_effort`: it may set the effort (L37); `tool_changes`: the platforms where it may add and remove tools (L45).
    `binds_account`: replayed thinking is tied to the account that made it (L84). `tool_search`: the service's own tool search;
    `edits`: the context edits it knows (wire page 5.1). `prefill`: the last message may be an unfinished assistant one (L13).
    `cache_minimum`: the shortest prefix in tokens that is cached, `None` where it is not known. `sampling`: other than
    default sampling values are accepted where the API version has these fields at all. `forced_tools`: `tool_choice` may
    be `any` or `tool` (L94). `api_versions` holds the platforms that differ from `api_version`. `tool_preamble`: tokens
    that the presence of any tool costs, with free and with forced choice. `doubts` names the fields nobody confirmed.
    """

    id: str
    other_ids: tuple[str, ...]
    name: str
    family: str
    window: int
    max_output: int
    thinking: ThinkingProfile
    binds_thinking: bool
    binds_account: bool
    efforts: tuple[Effort, ...]
    default_effort: Effort | None
    system_role: tuple[str, ...]
    turn_scoped: bool
    mid_effort: bool
    tool_changes: tuple[str, ...]
    tool_search: bool
    edits: tuple[str, ...]
    prefill: bool
    cache_minimum: int | None
    sampling: bool
    forced_tools: bool
    fast: FastMode
    api_version: str
    api_versions: dict[str, str]
    tokenizer: str
    chars_per_token: float
    images: ImageLimits
    tool_preamble: tuple[int, int] | None
    source: str
    date: str
    verified: bool
    doubts: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        """False for the profile that stands in for models without one."""
        return self.id != UNKNOWN_ID

    def append_mode(self, platform: str) -> AppendMode:
        """How news reaches the model behind a settled prefix on a platform, by its id (R222)."""
        if platform not in self.system_role:
            return AppendMode.USER_TEXT
        return AppendMode.TURN_SCOPED if self.turn_scoped else AppendMode.SYSTEM_MESSAGE

    def version_on(self, platform: str) -> str:
        """The API version to speak on a platform, by its id."""
        return self.api_versions.get(platform, self.api_version)


class FoundProfile(Struct, frozen=True, kw_only=True):
    """A model name after normalization: `model` goes into the body, `long_context` tells that a `[1m]` suffix was there."""

    model: str
    profile: ModelProfile
    long_context: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


UNKNOWN_ID = "*"
# What a person may say about a model; the rest is identity and provenance.
_FACTS = frozenset(ModelProfile.__struct_fields__) - {
    "id",
    "other_ids",
    "family",
    "source",
    "date",
    "verified",
    "doubts",
}


def find_profile(name: str) -> FoundProfile:
    """Normalize a model name (R024) and find its profile.

    An alias becomes the id it stands for; a `[1m]` suffix is taken off; a platform's own spelling of an id stays what goes
    into the body and is matched without its decoration. A name nobody knows gets the conservative profile and a diagnostic.
    """
    bare, long_context = _without_suffix(name)
    alias = _aliases().get(bare.lower())
    model = alias.id if alias else bare
    profile = _profiles().get(model) or _profiles().get(_undecorated(model))
    notes: list[Diagnostic] = []
    if alias and alias.note:
        notes.append(
            _diagnostic("model.alias", f"The model alias {bare!r} stands for {alias.id!r}: {alias.note}", name)
        )
    if profile is None:
        profile = _catalog().unknown
        notes.append(
            _diagnostic("model.unknown", f"The model {model!r} is not known; it gets the conservative profile", name)
        )
    return FoundProfile(model=model, profile=profile, long_context=long_context, diagnostics=tuple(notes))


def overridden(profile: ModelProfile, facts: Mapping[str, Any], *, model: str) -> ModelProfile:
    """The profile with the facts that settings give for it, by the names of the data file; source and doubts say so.

    Raises `ConfigError` for a name that is no fact and for a value that cannot be one.
    """
    key = f"compositor.models.{model}"
    unknown = sorted(facts.keys() - _FACTS)
    if unknown:
        raise ConfigError(
            f"There is no fact {unknown[0]!r} about a model",
            key=key,
            expected=", ".join(sorted(_FACTS)),
            got=unknown[0],
        )
    values = {**msgspec.to_builtins(profile), **facts}
    if not profile.is_known:
        values |= {"id": model, "name": values["name"] if "name" in facts else model}
    doubts = tuple(doubt for doubt in profile.doubts if doubt not in facts)
    source = f"settings for {', '.join(sorted(facts))}; {profile.source}"
    try:
        changed = msgspec.convert({**values, "source": source, "doubts": doubts}, type=ModelProfile)
    except msgspec.ValidationError as problem:
        raise ConfigError(f"A fact about the model {model!r} cannot be used: {problem}", key=key) from problem
    return msgspec.structs.replace(changed, verified=profile.verified or not doubts)


def known_profiles() -> tuple[ModelProfile, ...]:
    """Every profile of the data file, in its order, without the conservative one."""
    return _catalog().models


def known_aliases() -> Mapping[str, str]:
    """Alias to model id."""
    return {name: alias.id for name, alias in _aliases().items()}


def default_model() -> str:
    """The model of a run in which nobody chose one; the reason stands beside it in `profiles/aliases.json`."""
    return _alias_file().default.id


class _Catalog(Struct, frozen=True, forbid_unknown_fields=True):
    models: tuple[ModelProfile, ...]
    unknown: ModelProfile


class _Alias(Struct, frozen=True, forbid_unknown_fields=True):
    alias: str
    id: str
    note: str = ""


class _Default(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    reason: str


class _AliasFile(Struct, frozen=True, forbid_unknown_fields=True):
    default: _Default
    aliases: tuple[_Alias, ...]


@functools.cache
def _catalog() -> _Catalog:
    return msgspec.json.decode(read_data("profiles/claude.json"), type=_Catalog)


@functools.cache
def _alias_file() -> _AliasFile:
    return msgspec.json.decode(read_data("profiles/aliases.json"), type=_AliasFile)


@functools.cache
def _aliases() -> dict[str, _Alias]:
    return {row.alias: row for row in _alias_file().aliases}


@functools.cache
def _profiles() -> dict[str, ModelProfile]:
    return {name: profile for profile in _catalog().models for name in (profile.id, *profile.other_ids)}


_SUFFIX = re.compile(r"\[1m\]$", re.IGNORECASE)
# `us.anthropic.claude-opus-4-6-v1:0`, `anthropic/claude-opus-4-6`, `claude-opus-4-5@20251101`, `claude-opus-4-5-20251101`
_DECORATION = re.compile(r"^(?:[a-z-]+\.)?anthropic[./]|-v\d+(?::\d+)?$|[@-]\d{8}(?=$|-v\d)|@default$")


def _without_suffix(name: str) -> tuple[str, bool]:
    bare = name.strip()
    stripped = _SUFFIX.sub("", bare).strip()
    return stripped, stripped != bare


def _undecorated(model: str) -> str:
    return _DECORATION.sub("", model)


def _diagnostic(code: str, message: str, where: str) -> Diagnostic:
    return Diagnostic(code, message, where=where, step="contract")
