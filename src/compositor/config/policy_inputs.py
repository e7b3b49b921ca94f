"""What the enforcement line is given: rules as they were written, the mode, and the directories in scope.

Decides whose word counts: managed settings over all, a repository's own files only as far as the user trusts them. Never
understands a rule and never makes a verdict: that is `policy`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic
from compositor.types.verdicts import PermissionMode, RuleEffect

from .flags import Flags, parse_mode
from .layer import Layer, Level
from .settings import RuleText, Settings
from .trust import Trust


class AddedDirectory(Struct, frozen=True, kw_only=True):
    """One more directory in scope, as written; relative ones start at `base`."""

    path: str
    base: str
    level: Level
    file: str | None = None


class PolicyInputs(Struct, frozen=True, kw_only=True):
    """Everything the gate depends on that somebody configured. `mode_source` says who chose the mode."""

    rules: tuple[RuleText, ...]
    mode: PermissionMode
    mode_source: str
    directories: tuple[AddedDirectory, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def collect_policy(flags: Flags, settings: Settings, trust: Trust, cwd: str) -> PolicyInputs:
    """Gather rules, mode and directories. `cwd` anchors what the caller wrote."""
    notes: list[Diagnostic] = []
    mode, source = _mode(flags, settings, trust, notes)
    return PolicyInputs(
        rules=tuple(_counting(_rules(flags, settings, cwd), settings, trust, notes)),
        mode=mode,
        mode_source=source,
        directories=tuple(_directories(flags, settings, trust, cwd, notes)),
        diagnostics=tuple(notes),
    )


def denied_tools(rules: Iterable[RuleText]) -> tuple[tuple[str, str], ...]:
    """The deny rules that take a whole tool out of a request: a bare name or glob, or `Tool(*)`, with who wrote them."""
    whole = ((rule, rule.text.strip().removesuffix("(*)")) for rule in rules if rule.effect is RuleEffect.DENY)
    return tuple((name, _origin(rule)) for rule, name in whole if name and "(" not in name)


def is_mode_off(mode: PermissionMode, settings: Settings) -> bool:
    """Whether settings refuse the mode."""
    switches = settings.permissions
    off = {
        PermissionMode.BYPASS: switches.disable_bypass_permissions_mode,
        PermissionMode.AUTO: switches.disable_auto_mode or settings.disable_auto_mode,
    }
    return off.get(mode) is not None


# Modes that loosen the gate. From a repository's own files the first never count, the second only with trust.
_NEVER_SHARED = frozenset({PermissionMode.AUTO, PermissionMode.BYPASS})
_WITH_TRUST = frozenset({PermissionMode.ACCEPT_EDITS})


def _rules(flags: Flags, settings: Settings, cwd: str) -> Iterable[RuleText]:
    given = ((RuleEffect.DENY, flags.disallowed_tools), (RuleEffect.ALLOW, flags.allowed_tools))
    yield from settings.rules()
    for effect, texts in given:
        for text in texts:
            yield RuleText(effect=effect, text=text, level=Level.CLI, base=cwd)


def _counting(
    rules: Iterable[RuleText], settings: Settings, trust: Trust, notes: list[Diagnostic]
) -> Iterable[RuleText]:
    """The rules without those that may not loosen anything; deny and ask rules always stay (R372)."""
    for rule in rules:
        objection = _objection(rule, settings, trust) if rule.effect is RuleEffect.ALLOW else None
        if objection is None:
            yield rule
        else:
            message = f"The allow rule {rule.text!r} does not count: {objection}"
            notes.append(_note("policy.rule-ignored", message, _origin(rule)))


def _objection(rule: RuleText, settings: Settings, trust: Trust) -> str | None:
    if settings.allow_managed_permission_rules_only and rule.level is not Level.MANAGED:
        return "managed settings allow only their own"
    if rule.shared and trust is not Trust.TRUSTED:
        return "it comes from a repository that is not trusted"
    return None


def _mode(flags: Flags, settings: Settings, trust: Trust, notes: list[Diagnostic]) -> tuple[PermissionMode, str]:
    mode, source = _chosen_mode(flags, settings, trust, notes)
    if not is_mode_off(mode, settings):
        return mode, source
    notes.append(_note("policy.mode-disabled", f"The permission mode {mode.value!r} is disabled by settings", source))
    return PermissionMode.DEFAULT, "settings that disable the chosen mode"


def _chosen_mode(flags: Flags, settings: Settings, trust: Trust, notes: list[Diagnostic]) -> tuple[PermissionMode, str]:
    if flags.permission_mode is not None:
        return flags.permission_mode, "--permission-mode"
    for layer in settings.layers:
        written = layer.values.get("permissions", {}).get("defaultMode")
        if written is None:
            continue
        mode = parse_mode(written)
        place = f"{layer.file}:{layer.lines.get(('permissions', 'defaultMode'), 1)}"
        if _may_choose(layer, mode, trust):
            return mode, place
        notes.append(_note("policy.mode-ignored", f"A repository's file may not choose the mode {mode.value!r}", place))
    return PermissionMode.DEFAULT, "the default"


def _may_choose(layer: Layer, mode: PermissionMode, trust: Trust) -> bool:
    in_repository = layer.level in {Level.PROJECT, Level.LOCAL}
    return not (
        (in_repository and mode in _NEVER_SHARED)
        or (layer.shared and mode in _WITH_TRUST and trust is not Trust.TRUSTED)
    )


def _directories(
    flags: Flags, settings: Settings, trust: Trust, cwd: str, notes: list[Diagnostic]
) -> Iterable[AddedDirectory]:
    for layer in settings.layers:
        for path in layer.values.get("permissions", {}).get("additionalDirectories", ()):
            if layer.shared and trust is not Trust.TRUSTED:
                message = f"The directory {path!r} is not added: it comes from a repository that is not trusted"
                notes.append(_note("policy.directory-ignored", message, layer.file))
            else:
                # Relative directories start where the run starts, whichever file names them.
                yield AddedDirectory(path=path, base=cwd, level=layer.level, file=layer.file)
    for path in flags.add_dirs:
        yield AddedDirectory(path=path, base=cwd, level=Level.CLI)


def _origin(rule: RuleText) -> str:
    return f"{rule.file}:{rule.line}" if rule.file and rule.line else rule.file or "the command line"


def _note(code: str, message: str, where: str) -> Diagnostic:
    return Diagnostic(code, message, where=where, step="contract")
