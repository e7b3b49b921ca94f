"""What is in force while a session runs: rules, hooks and borders follow the settings files (project-conventions 2.4).

Decides whether a change is taken in: a `ConfigChange` hook can keep one out, never one of the managed settings (R372). Each change is logged with its
cause (R370). Planning the policy and reading the files is done by whoever hands the parts in.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
from msgspec import Struct

from compositor.config.settings import Settings
from compositor.errors import CompositorError
from compositor.policy.audit import EnforcementChange, enforcement_changes
from compositor.policy.hooks import HookPlan
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy
from compositor.policy.visibility import may_be_shown
from compositor.ports import SettingsChange
from compositor.runtime.events import NotesCollected, Watcher
from compositor.runtime.hooks import Hooks
from compositor.types.diagnostics import Diagnostic
from compositor.types.instructions import LossMode

MANAGED_SOURCE = "policy_settings"


class CurrentPolicy:
    """The policy of the moment. `resolve` gives the real place of an absolute path."""

    def __init__(self, policy: Policy, resolve: Callable[[str], str]) -> None:
        self.policy = policy
        self._resolve = resolve

    def shows(self, path: str) -> bool:
        """Whether the model may be shown the file: no Read rule that is in force now denies it."""
        return may_be_shown(ResolvedPath(path, self._resolve(path)), self.policy)


class Renewing(Struct, frozen=True, kw_only=True):
    """`changed` looks at the files, `plan` makes a policy and the hooks of new settings, `apply` moves the borders of the sandbox along."""

    changed: Callable[[], SettingsChange | None]
    plan: Callable[[Settings], tuple[Policy, HookPlan]]
    apply: Callable[[Settings, Policy], None]
    log: Callable[[EnforcementChange], None]
    watch: Watcher


class Renewal:
    """Looks at the settings whenever a call is judged or an event is fired. One change is taken in at a time; all others wait for it."""

    def __init__(self, force: CurrentPolicy, hooks: Hooks, parts: Renewing) -> None:
        self._force = force
        self._hooks = hooks
        self._parts = parts
        self._lock = anyio.Lock()

    async def policy(self) -> Policy:
        """The policy in force now."""
        async with self._lock:
            found = self._parts.changed()
            if found is not None:
                await self._consider(found)
            return self._force.policy

    async def _consider(self, found: SettingsChange) -> None:
        if found.settings is None:
            self._say(f"The changed settings cannot be read, the old ones stay in force: {found.problem}", found.where)
            return
        blocked = await self._blocked(found)
        if blocked is not None:
            self._say(
                f"A hook keeps a change of the settings out, the old ones stay in force: {blocked[0]}", blocked[1]
            )
            return
        try:
            self._take(found, found.settings)
        except CompositorError as problem:
            self._say(f"The changed settings cannot be used, the old ones stay in force: {problem.message}", "")

    async def _blocked(self, found: SettingsChange) -> tuple[str, str] | None:
        """Why the change is not taken in, and the file. All hooks hear of every file; the managed settings are taken in all the same."""
        reasons = [(await self._hooks.on_config(source, file), source, file) for source, file in found.files]
        if any(source == MANAGED_SOURCE for _, source, _ in reasons):
            return None
        return next(((reason, file) for reason, _, file in reasons if reason is not None), None)

    def _take(self, found: SettingsChange, settings: Settings) -> None:
        before = self._force.policy
        policy, plan = self._parts.plan(settings)
        managed = any(source == MANAGED_SOURCE for source, _ in found.files)
        cause = LossMode.EXTERNAL_POLICY if managed else LossMode.CONFIGURATION_SOURCE
        changes = list(enforcement_changes(before, policy, cause))
        if plan != self._hooks.firing.plan:
            names = [", ".join(hook.name for hook in one.hooks) for one in (self._hooks.firing.plan, plan)]
            changes.append(EnforcementChange(cause, "hooks", *names))
            for note in plan.diagnostics:
                self._parts.watch(NotesCollected((), (note,)))
        for change in changes:
            self._parts.log(change)
        self._parts.apply(settings, policy)
        self._hooks.firing.plan = plan
        self._force.policy = policy

    def _say(self, message: str, where: str) -> None:
        self._parts.watch(NotesCollected((), (Diagnostic("settings.reload", message, where=where, step="settings"),)))
