"""Hooks as settings write them: which handlers there are, and which of them hear an event (project-conventions 4.1 to 4.4).

Decides what a handler is, whose handlers count, and whether a matcher fits. Runs nothing and reads no output.
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

from .hook_table import COMMAND_ONLY, EVENTS


class HookKind(enum.StrEnum):
    COMMAND = "command"
    HTTP = "http"


class OnFailure(enum.StrEnum):
    """What follows when a hook before a call gives no verdict (R371)."""

    REFUSE = "refuse"
    ASK = "ask"
    WARN = "warn"


class Hook(Struct, frozen=True, kw_only=True):
    """One handler. `guard`: without a verdict of it nothing runs. `seconds` is its time limit.

    `shared`: it came with the repository. `command` is a shell line, or with `args` a program; `url` is where an HTTP handler listens. `headers` may name variables of
    `allowed_env`.
    """

    event: str
    kind: HookKind
    level: Level
    file: str
    matcher: str = ""
    condition: str | None = None
    command: str = ""
    args: tuple[str, ...] | None = None
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    allowed_env: tuple[str, ...] = ()
    seconds: float = 600.0
    guard: bool = False
    background: bool = False
    shared: bool = False

    @property
    def name(self) -> str:
        """How messages call it: what runs, and who wrote it."""
        what = self.url if self.kind is HookKind.HTTP else " ".join((self.command, *(self.args or ())))
        return f"{what[:80]} ({self.level.value})"

    @property
    def is_guard(self) -> bool:
        return self.guard or self.level is Level.MANAGED


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
            problem = _fault(event, handler, settings)
            if problem is not None:
                notes.append(_note(f"A handler of the hook event {event!r} is left out: {problem}", layer))
            if problem is None:
                yield _handler(event, str(matcher or ""), handler, layer, settings)
            elif layer.level is Level.MANAGED:
                yield Hook(event=event, kind=HookKind.COMMAND, level=layer.level, file=layer.file, command="exit 1")


def _handler(event: str, matcher: str, fields: dict[str, Any], layer: Layer, settings: Settings) -> Hook:
    seconds, args, names = fields.get("timeout"), fields.get("args"), fields.get("allowedEnvVars")
    limit = settings.values.get("httpHookAllowedEnvVars")
    return Hook(
        event=event,
        kind=HookKind(fields["type"]),
        level=layer.level,
        file=layer.file,
        matcher=matcher,
        condition=fields.get("if"),
        command=fields.get("command", ""),
        args=tuple(map(str, args)) if isinstance(args, list) else None,
        url=fields.get("url", ""),
        headers=tuple(sorted((str(name), str(value)) for name, value in fields.get("headers", {}).items())),
        allowed_env=tuple(str(name) for name in names if not isinstance(limit, list) or name in limit)
        if isinstance(names, list)
        else (),
        seconds=float(seconds) if isinstance(seconds, (int, float)) and seconds > 0 else EVENTS[event].seconds,
        guard=fields.get("guard") is True,
        background=fields.get("async") is True,
        shared=layer.shared,
    )


def _fault(event: str, handler: Any, settings: Settings) -> str | None:
    if not isinstance(handler, dict):
        return "it is no object"
    kind = handler.get("type")
    if kind == "command":
        return None if isinstance(handler.get("command"), str) and handler["command"].strip() else "it has no command"
    if kind != "http":
        return f"its type {kind!r} is not run by this version"
    url = handler.get("url")
    if event in COMMAND_ONLY or not isinstance(url, str) or not re.match(r"https?://", url):
        return "it has no address, or the event takes none"
    allowed = settings.values.get("allowedHttpHookUrls")
    if isinstance(allowed, list) and not any(_fits_url(str(pattern), url) for pattern in allowed):
        return f"the address {url!r} is not among the allowed ones"
    return None if isinstance(handler.get("headers", {}), dict) else "its headers are no object"


def _fits_url(pattern: str, url: str) -> bool:
    return re.fullmatch(".*".join(re.escape(piece) for piece in pattern.split("*")), url) is not None


def _identity(hook: Hook) -> bytes:
    """The same handler in several files runs once (project-conventions 4.5); a managed one is its own."""
    level = hook.level if hook.level is Level.MANAGED else None
    return msgspec.json.encode(msgspec.structs.replace(hook, level=Level.USER, file="")) + repr(level).encode()


def _note(message: str, layer: Layer) -> Diagnostic:
    return Diagnostic("hooks.settings", message, where=layer.file, step="hooks")
