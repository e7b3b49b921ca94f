"""All settings layers as one value, each key with the files it comes from.

Decides how levels combine: scalars from the highest level, objects key by key, arrays one after the other from the lowest
level up. Managed settings stand highest and nothing below takes one of their entries away (R372). Never reads a file.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, assert_never

import msgspec
from msgspec import Struct

from compositor.types.diagnostics import Diagnostic
from compositor.types.verdicts import RuleEffect

from .budget import BudgetSettings
from .cache_choices import CacheSettings
from .keys import Join, key_at
from .layer import PRECEDENCE, Layer, Level


class Origin(Struct, frozen=True, kw_only=True):
    """Where a value was written; `line` counts from 1."""

    level: Level
    file: str
    line: int | None = None


class RuleText(Struct, frozen=True, kw_only=True):
    """A permission rule as it was written, not yet understood. `base` anchors its `/path` specifier."""

    effect: RuleEffect
    text: str
    level: Level
    file: str | None = None
    line: int | None = None
    base: str | None = None
    shared: bool = False


class PermissionSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    additional_directories: tuple[str, ...] = ()
    default_mode: str | None = None
    disable_bypass_permissions_mode: Literal["disable"] | None = None
    disable_auto_mode: Literal["disable"] | None = None


class OwnSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """The keys under `compositor`."""

    budget: BudgetSettings = BudgetSettings()
    cache: CacheSettings = CacheSettings()
    prompt_cache_ttl: Literal["5m", "1h"] | None = None
    resume_head: Literal["replay", "rebuild"] = "replay"
    durable_sessions: bool = False
    minimal: bool = False
    fast_mode: bool = False
    platform: str | None = None
    telemetry: bool = False
    agents_md: bool = True
    mcp_instructions: Literal["delta", "section"] = "delta"
    turn_result_tokens: int | None = None
    language_servers: dict[str, dict[str, Any]] = {}
    tool_search: Literal["client", "provider"] = "client"
    profile_instructions: str = ""
    reader: Literal["expert", "learner"] = "expert"
    length_anchors: bool = False
    autonomous: bool = False
    coordinator: bool = False
    version_control: Literal["git", "perforce", "none"] = "git"
    version_state: Literal["system", "message"] = "system"
    dynamic_scope: Literal["none", "org"] = "none"
    outline: bool = False
    session_memory: bool = False
    tell_usage: bool = False
    server_summary: bool = False
    team_memory_directory: str | None = None
    theme: Literal["dark", "light", "high-contrast", "none"] = "dark"
    screen_reader: bool = False
    models: dict[str, dict[str, Any]] = {}
    prices: dict[str, dict[str, Any]] = {}


class KnownSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """The keys that this version acts on, with their defaults."""

    model: str | None = None
    fallback_model: tuple[str, ...] = ()
    api_key_helper: str | None = None
    available_models: tuple[str, ...] | None = None
    effort_level: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    always_thinking_enabled: bool = True
    language: str | None = None
    output_style: str | None = None
    agent: str | None = None
    include_git_instructions: bool = True
    auto_compact_enabled: bool = True
    auto_compact_window: int | None = None
    claude_md_excludes: tuple[str, ...] = ()
    claude_md: str | None = None
    auto_memory_enabled: bool | None = None
    cleanup_period_days: int = 30
    prompt_cache_ttl: Literal["5m", "1h"] | None = None
    disable_auto_mode: Literal["disable"] | None = None
    file_checkpointing_enabled: bool = True
    disable_skill_shell_execution: bool = False
    skill_listing_budget_fraction: float | None = None
    skill_listing_max_desc_chars: int | None = None
    skill_overrides: dict[str, Literal["on", "name-only", "user-invocable-only", "off"]] = {}
    allow_managed_permission_rules_only: bool = False
    permissions: PermissionSettings = PermissionSettings()
    compositor: OwnSettings = OwnSettings()


Keys: TypeAlias = tuple[str, ...]
"""The way to a setting: its keys from the top."""


class Settings(KnownSettings, frozen=True, kw_only=True, rename="camel"):
    """The merged settings. What the product acts on are fields; `values` holds every key, known or not.

    `origins` names for each leaf the files it comes from, lowest level first: one for a scalar, one for each contributor to
    an array. `layers` stand highest first. `env` is no field on purpose: see `environment.py`.
    """

    values: Mapping[str, Any] = {}
    origins: Mapping[Keys, tuple[Origin, ...]] = {}
    layers: tuple[Layer, ...] = ()

    def origin(self, *keys: str) -> Origin | None:
        """The file that decides a key, `None` where none sets it."""
        found = self.origins.get(keys)
        return found[-1] if found else None

    def rules(self) -> tuple[RuleText, ...]:
        """Every permission rule of every level, highest level first, with its place."""
        return tuple(rule for layer in self.layers for rule in _rules_of(layer))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(note for layer in self.layers for note in layer.diagnostics)

    def __repr__(self) -> str:
        return f"Settings({', '.join(map(repr, self.layers))})"


def merge_layers(layers: Iterable[Layer]) -> Settings:
    """Combine layers into `Settings`.

    Levels go by `PRECEDENCE`; of two layers of one level the later one is the higher. Arrays of managed files are united
    without repetition; between levels they are only put one after the other.
    """
    ordered = sorted(layers, key=lambda layer: -PRECEDENCE.index(layer.level))
    tree = functools.reduce(_overlay, map(_plant, ordered), _EMPTY)
    values = _values(tree)
    known = msgspec.convert(values, type=KnownSettings)
    fields = {name: getattr(known, name) for name in KnownSettings.__struct_fields__}
    return Settings(**fields, values=values, origins=dict(_origins(tree, ())), layers=tuple(reversed(ordered)))


class _Leaf(Struct, frozen=True):
    value: Any
    origins: tuple[Origin, ...]


_Tree: TypeAlias = Mapping[str, Any]  # of `_Leaf` and further trees
_EMPTY: _Tree = {}


def _plant(layer: Layer) -> _Tree:
    def grow(value: Mapping[str, Any], keys: Keys) -> _Tree:
        return {
            name: grow(entry, (*keys, name)) if isinstance(entry, dict) else leaf(entry, (*keys, name))
            for name, entry in value.items()
        }

    def leaf(value: Any, keys: Keys) -> _Leaf:
        return _Leaf(value, (Origin(level=layer.level, file=layer.file, line=layer.lines.get(keys)),))

    return grow(layer.values, ())


def _overlay(lower: _Tree, higher: _Tree, keys: Keys = ()) -> _Tree:
    return {
        name: _join(lower[name], higher[name], (*keys, name))
        if name in lower and name in higher
        else higher.get(name, lower.get(name))
        for name in (*lower, *(name for name in higher if name not in lower))
    }


def _join(lower: Any, higher: Any, keys: Keys) -> Any:
    if isinstance(lower, Mapping) and isinstance(higher, Mapping):
        return _overlay(lower, higher, keys)
    if isinstance(lower, _Leaf) and isinstance(higher, _Leaf) and _concatenates(lower, higher, keys):
        return _Leaf(_concatenated(lower, higher), lower.origins + higher.origins)
    return higher


def _concatenates(lower: _Leaf, higher: _Leaf, keys: Keys) -> bool:
    if not (isinstance(lower.value, list) and isinstance(higher.value, list)):
        return False
    key = key_at(keys)
    join = key.join if key else Join.BY_SHAPE
    match join:
        case Join.WHOLE:
            return False
        case Join.MANAGED_REPLACES:
            return not _is_managed(higher) or _is_managed(lower)
        case Join.BY_SHAPE:
            return True
        case _:
            assert_never(join)


def _concatenated(lower: _Leaf, higher: _Leaf) -> list[Any]:
    united = _is_managed(lower) and _is_managed(higher)
    return [*lower.value, *(item for item in higher.value if not (united and item in lower.value))]


def _is_managed(leaf: _Leaf) -> bool:
    return all(origin.level is Level.MANAGED for origin in leaf.origins)


def _values(tree: _Tree) -> dict[str, Any]:
    return {name: entry.value if isinstance(entry, _Leaf) else _values(entry) for name, entry in tree.items()}


def _origins(tree: _Tree, keys: Keys) -> Iterable[tuple[Keys, tuple[Origin, ...]]]:
    for name, entry in tree.items():
        here = (*keys, name)
        if isinstance(entry, _Leaf):
            yield here, entry.origins
        else:
            yield from _origins(entry, here)


def _rules_of(layer: Layer) -> Iterable[RuleText]:
    written = layer.values.get("permissions", {})
    for effect in RuleEffect:
        for index, text in enumerate(written.get(effect.value, ())):
            yield RuleText(
                effect=effect,
                text=text,
                level=layer.level,
                file=layer.file,
                line=layer.lines.get(("permissions", effect.value, index)),
                base=layer.base,
                shared=layer.shared,
            )
