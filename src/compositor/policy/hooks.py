"""Hooks as settings write them: which handlers there are, and which of them hear an event (project-conventions 4.1 to 4.4).

Decides whose handlers count, and whether a matcher fits. What one handler is stands in `hook_handlers`. Runs nothing and reads no output.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from compositor.config.layer import Layer, Level
from compositor.config.settings import Settings
from compositor.types.diagnostics import Diagnostic

from .hook_handlers import Hook, HookKind, handler_fault, read_handler
from .hook_table import BEFORE_CALLS, EVENTS


class OnFailure(enum.StrEnum):
    """What follows when a hook before a call gives no verdict (R371)."""

    REFUSE = "refuse"
    ASK = "ask"
    WARN = "warn"


class HookPlan(Struct, frozen=True, kw_only=True):
    """Every handler that counts, highest level first. `on_failure` is `None` where nobody chose."""

    hooks: tuple[Hook, ...] = ()
    on_failure: OnFailure | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def plan_hooks(settings: Settings, *, runs_shared: bool = True) -> HookPlan:
    """Read the hooks of all levels. A bad handler is left out with a diagnostic; a bad managed one stays as a guard that never passes.

    Without `runs_shared` what came with the repository is left out: a person did not vouch for it. `allowManagedHooksOnly` and `disableAllHooks` count as project-conventions 4.8 says: only managed settings turn managed hooks off.
    """
    notes: list[Diagnostic] = []
    found: list[Hook] = []
    for layer in settings.layers:
        if _is_off(layer, settings):
            continue
        if layer.shared and not runs_shared:
            if layer.values.get("hooks"):
                notes.append(_note("The hooks of a repository that is not trusted are not run", layer))
            continue
        for event, groups in layer.values.get("hooks", {}).items():
            if isinstance(groups, list):
                found += _event_hooks(event, groups, layer, settings, notes)
    written = settings.values.get("hooks", {}).get("onFailure")
    return HookPlan(
        hooks=tuple({_identity(hook): hook for hook in reversed(found)}.values())[::-1],
        on_failure=OnFailure(written) if isinstance(written, str) else None,
        diagnostics=tuple(notes),
    )


def with_hooks(plan: HookPlan, more: tuple[Hook, ...]) -> HookPlan:
    """The plan with the handlers of the program that started the run, behind those of settings."""
    return msgspec.structs.replace(plan, hooks=(*plan.hooks, *more)) if more else plan


def gate_hooks(plan: HookPlan) -> dict[str, tuple[str, ...]]:
    """The fields of a policy that say which hooks the gate asks."""
    heard = {hook.event for hook in plan.hooks}
    asked = ("PermissionRequest",) if heard & {"PermissionRequest", "Notification"} else ()
    return {"pre_hooks": ("PreToolUse",) if heard & BEFORE_CALLS else (), "ask_hooks": asked}


def chosen_hooks(plan: HookPlan, event: str, fields: Mapping[str, Any]) -> tuple[Hook, ...]:
    """The handlers that hear this event; `fields` is its input. Conditions (`if`) are judged by the caller, who knows the rules."""
    row = EVENTS[event]
    value = fields.get(row.matches) if row.matches else None
    return tuple(
        hook for hook in plan.hooks if hook.event == event and (not row.matches or matches(hook.matcher, value))
    )


def matches(matcher: str, value: object) -> bool:
    """`*`, nothing, a name or list of names, or a regular expression that may match anywhere (project-conventions 4.3)."""
    if matcher in {"", "*"}:
        return True
    if not isinstance(value, str):
        return False
    if re.fullmatch(r"[A-Za-z0-9_\- ,|]+", matcher):
        return value in {name.strip() for name in re.split(r"[|,]", matcher)}
    found = _expression(matcher)
    return found is None or found.search(value) is not None


@lru_cache(maxsize=256)
def _expression(matcher: str) -> re.Pattern[str] | None:
    """`None` for an expression that cannot be read: the handler then hears everything, which is the closed choice."""
    try:
        return re.compile(matcher)
    except re.error:
        return None


def _is_off(layer: Layer, settings: Settings) -> bool:
    if layer.level is Level.MANAGED:
        return any(one.level is Level.MANAGED and one.values.get("disableAllHooks") for one in settings.layers)
    return bool(settings.values.get("disableAllHooks") or settings.values.get("allowManagedHooksOnly"))


def _event_hooks(
    event: str, groups: list[Any], layer: Layer, settings: Settings, notes: list[Diagnostic]
) -> Iterator[Hook]:
    if event not in EVENTS:
        notes.append(_note(f"The hook event {event!r} is not known", layer))
        return
    if not EVENTS[event].fired:
        notes.append(_note(f"The hook event {event!r} is not fired by this version", layer))
    for group in groups:
        handlers = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(handlers, list):
            notes.append(_note(f"A group of the hook event {event!r} has no list of handlers", layer))
            continue
        matcher = group.get("matcher", "")
        for handler in handlers:
            problem = handler_fault(event, handler, settings)
            if problem is not None:
                notes.append(_note(f"A handler of the hook event {event!r} is left out: {problem}", layer))
            if problem is None:
                yield read_handler(event, str(matcher or ""), handler, layer, settings)
            elif layer.level is Level.MANAGED:
                yield Hook(event=event, kind=HookKind.COMMAND, level=layer.level, file=layer.file, command="exit 1")


def _identity(hook: Hook) -> bytes:
    """The same handler in several files runs once (project-conventions 4.5); a managed one is its own."""
    level = hook.level if hook.level is Level.MANAGED else None
    return msgspec.json.encode(msgspec.structs.replace(hook, level=Level.USER, file="")) + repr(level).encode()


def _note(message: str, layer: Layer) -> Diagnostic:
    return Diagnostic("hooks.settings", message, where=layer.file, step="hooks")
