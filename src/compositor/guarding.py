"""Puts the enforcement line of a session together: the gate's driver, hooks, sandbox, log, and settings that change on the way.

Decides which implementation stands behind each part. Decides nothing about permission: that is `policy`, and this file hands it values.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from compositor.adapters.enforcement import Enforcement, open_enforcement, real_path
from compositor.adapters.settings_files import SettingsPlaces
from compositor.adapters.settings_watch import SettingsWatch
from compositor.adapters.tools.ask_user import QuestionsAreTheirOwnPermission
from compositor.adapters.tools.batch_limit import limit_batch
from compositor.adapters.tools.session_tools import SessionTools
from compositor.config.settings import Settings
from compositor.context.freshness.file_table import FileTable
from compositor.context.prompt.sections.scratchpad import SCRATCHPAD_VARIABLE
from compositor.policy.audit import Gate, audit_record, enforcement_changes
from compositor.policy.condition import condition_applies
from compositor.policy.policy import Policy
from compositor.ports import Asker, Clock, ToolScope
from compositor.runtime.driver import Admission, Workshop
from compositor.runtime.events import NotesCollected, Watcher
from compositor.runtime.gatekeeper import Gatekeeper
from compositor.runtime.hooks import HookFacts, Hooks
from compositor.types.diagnostics import Diagnostic
from compositor.types.instructions import LossMode
from compositor.types.tools import ToolCall, ToolOutcome
from compositor.types.verdicts import Allow, Deny, PermissionRule


class Guarding(Struct, frozen=True, kw_only=True):
    """What the parts are made for. `load` reads the settings anew, `plan` makes a policy of them, `granted` gives rules of the moment.

    `approvals` are files whose change counts like that of settings.
    """

    settings: Settings
    policy: Policy
    env: Mapping[str, str]
    home: str
    session_id: str
    transcript: str
    clock: Clock
    tools: SessionTools
    asker: Asker
    watch: Watcher
    places: SettingsPlaces
    load: Callable[[], Settings]
    plan: Callable[[Settings], Policy]
    granted: Callable[[], tuple[PermissionRule, ...]] = tuple
    approvals: tuple[str, ...] = ()


class Guard(Struct, frozen=True, kw_only=True):
    """The parts, joined: where calls are judged and run.

    `judge_quietly` is the gate where nobody may be asked. `close` ends what runs beside the session, `note` logs the verdict on a call of a helper that has limits of its own.
    """

    workshop: Workshop
    hooks: Hooks
    judge_quietly: Callable[[ToolCall], Awaitable[Admission]]
    close: Callable[[], None]
    note: Callable[[ToolCall, bool, str], None]


def build_guard(given: Guarding) -> Guard:
    """Probe, plan and join. Nothing of it can be reached from the context line."""
    edges = open_enforcement(
        given.settings,
        given.policy,
        home=given.home,
        session_id=given.session_id,
        env=given.env,
        clock=given.clock,
    )
    policy = msgspec.structs.replace(edges.policy, search_hides_denied=True, readable=(real_path(edges.outputs),))
    env = {**given.env, SCRATCHPAD_VARIABLE: edges.scratchpad}
    scope = ToolScope(cwd=policy.cwd, roots=policy.roots, output_dir=edges.outputs, env=env, confine=edges.confine)
    for note in edges.hooks.diagnostics:
        given.watch(NotesCollected((), (note,)))

    def current() -> ToolScope:
        return msgspec.structs.replace(scope, cwd=given.tools.box.directory.at(scope))

    hooks = _hooks(given, edges, policy, current)
    gatekeeper = Gatekeeper(
        tools=given.tools.box,
        policy=policy,
        scope=current,
        resolve=real_path,
        asker=QuestionsAreTheirOwnPermission(given.asker),
        watch=given.watch,
        mode=lambda: given.tools.mode.mode,
        hooks=hooks,
        log=edges.log.verdict,
        renewed=_renewal(given, edges, policy),
        granted=given.granted,
    )

    workshop = Workshop(
        tools=given.tools.box,
        scope=lambda: scope,
        judge=gatekeeper.judge,
        watch=given.watch,
        limit=_limiting(given.tools.box.files, edges.outputs),
        after=hooks.after_call,
    )

    def log_helper(call: ToolCall, allowed: bool, reason: str) -> None:  # noqa: FBT001
        verdict = Allow(reason=reason) if allowed else Deny(reason=reason, gate=Gate.DENY_RULES.value)
        edges.log.verdict(audit_record(call, call.input, verdict, (), policy))

    return Guard(
        workshop=workshop,
        hooks=hooks,
        judge_quietly=msgspec.structs.replace(gatekeeper, quiet=True).judge,
        close=edges.close,
        note=log_helper,
    )


def _hooks(given: Guarding, edges: Enforcement, policy: Policy, scope: Callable[[], ToolScope]) -> Hooks:
    facts = HookFacts(
        session_id=given.session_id,
        transcript_path=given.transcript,
        cwd=lambda: scope().cwd,
        mode=lambda: given.tools.mode.mode.value,
    )
    return Hooks(
        edges.hooks,
        edges.runner,
        facts,
        given.watch,
        interactive=policy.interactive,
        applies=lambda rule, call: condition_applies(rule, call, policy),
    )


def _limiting(files: FileTable, folder: str) -> Callable[[Sequence[ToolOutcome]], tuple[ToolOutcome, ...]]:
    """The limit of a batch; what of it was moved to a file no longer stands before the model."""

    def limit(outcomes: Sequence[ToolOutcome]) -> tuple[ToolOutcome, ...]:
        limited = limit_batch(outcomes, folder)
        if limited != tuple(outcomes):
            files.fade()
        return limited

    return limit


def _renewal(given: Guarding, edges: Enforcement, first: Policy) -> Callable[[], Policy]:
    """The policy in force now: rules follow the settings files, the sandbox stays as it was opened (project-conventions 2.4)."""
    force, watched = first, SettingsWatch(given.places, given.load, also=given.approvals)

    def renewed() -> Policy:
        nonlocal force
        found = watched.changed()
        if isinstance(found, Settings):
            found_policy = given.plan(found)
            planned = msgspec.structs.replace(
                found_policy,
                sandbox=first.sandbox,
                pre_hooks=first.pre_hooks,
                search_hides_denied=True,
                readable=first.readable,
                roots=(*found_policy.roots, edges.scratchpad),
            )
            for change in enforcement_changes(force, planned, LossMode.CONFIGURATION_SOURCE):
                edges.log.change(change)
            force = planned
        elif found is not None:
            message = f"The changed settings cannot be read, the old ones stay in force: {found.message}"
            given.watch(
                NotesCollected((), (Diagnostic("settings.reload", message, where=found.where or "", step="settings"),))
            )
        return force

    return renewed
