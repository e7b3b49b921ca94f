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
from compositor.policy.audit import Gate, audit_record, opening_changes
from compositor.policy.condition import condition_applies
from compositor.policy.hook_handlers import Hook, HookKind
from compositor.policy.hooks import HookPlan, gate_hooks, plan_hooks, with_hooks
from compositor.policy.policy import Policy
from compositor.ports import Asker, Clock, HandlerWay, ToolScope
from compositor.runtime.driver import Admission, Workshop
from compositor.runtime.events import NotesCollected, Watcher
from compositor.runtime.gatekeeper import Gatekeeper
from compositor.runtime.hook_firing import HookFacts
from compositor.runtime.hooks import Hooks
from compositor.runtime.renewal import CurrentPolicy, Renewal, Renewing
from compositor.types.tools import ToolCall, ToolOutcome
from compositor.types.verdicts import Allow, Deny, PermissionRule


class Guarding(Struct, frozen=True, kw_only=True):
    """What the parts are made for.

    `load` reads the settings anew, `plan` makes a policy of them, `granted` gives rules of the moment, `force` holds the policy in force. `approvals`
    are files whose change counts like that of settings. `ways` run handlers that are no child process and no HTTP server. `instructions` are
    the instruction files of the start: path and level. `batch_tokens` is what all results of a message may cost. `branches` are the opened parts of the
    session that an agent works for; without them they are opened.
    """

    settings: Settings
    force: CurrentPolicy
    env: Mapping[str, str]
    home: str
    session_id: str
    transcript: str
    clock: Clock
    tools: SessionTools
    asker: Asker
    watch: Watcher
    places: SettingsPlaces
    batch_tokens: int
    load: Callable[[], Settings]
    plan: Callable[[Settings], Policy]
    granted: Callable[[], tuple[PermissionRule, ...]] = tuple
    approvals: tuple[str, ...] = ()
    ways: Mapping[HookKind, HandlerWay] = {}
    more_hooks: tuple[Hook, ...] = ()
    instructions: tuple[tuple[str, str], ...] = ()
    is_resumed: bool = False
    branches: Enforcement | None = None
    agent: str = ""


class Guard(Struct, frozen=True, kw_only=True):
    """The parts, joined: where calls are judged and run.

    `judge_quietly` is the gate where nobody may be asked. `close` ends what runs beside the session, `note` logs the verdict on a call of a helper that has limits of its own.
    """

    workshop: Workshop
    hooks: Hooks
    judge_quietly: Callable[[ToolCall], Awaitable[Admission]]
    close: Callable[[], None]
    edges: Enforcement
    note: Callable[[ToolCall, bool, str], None]


def build_guard(given: Guarding) -> Guard:
    """Probe, plan and join. Nothing of it can be reached from the context line."""
    edges = _edges(given)
    policy = msgspec.structs.replace(edges.policy, search_hides_denied=True, readable=(real_path(edges.outputs),))
    given.force.policy = policy
    if given.branches is None:
        for change in opening_changes(policy, is_resumed=given.is_resumed, is_whole=edges.is_whole):
            edges.log.change(change)
    env = {**given.env, SCRATCHPAD_VARIABLE: edges.scratchpad}
    scope = ToolScope(cwd=policy.cwd, roots=policy.roots, output_dir=edges.outputs, env=env, confine=edges.confine)
    for note in edges.hooks.diagnostics:
        given.watch(NotesCollected((), (note,)))

    def current() -> ToolScope:
        return msgspec.structs.replace(scope, cwd=given.tools.box.directory.at(scope))

    hooks = _hooks(given, edges, current)
    renewal = _renewal(given, edges, hooks)
    hooks.firing.renew = renewal.policy
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
        renewed=renewal.policy,
        granted=given.granted,
    )

    workshop = Workshop(
        tools=given.tools.box,
        scope=lambda: scope,
        judge=gatekeeper.judge,
        watch=given.watch,
        limit=_limiting(given.tools.box.files, edges.outputs, given.batch_tokens),
        after=hooks.after_call,
    )

    def log_helper(call: ToolCall, allowed: bool, reason: str) -> None:  # noqa: FBT001
        verdict = Allow(reason=reason) if allowed else Deny(reason=reason, gate=Gate.DENY_RULES.value)
        edges.log.verdict(audit_record(call, call.input, verdict, (), given.force.policy))

    return Guard(
        workshop=workshop,
        hooks=hooks,
        judge_quietly=msgspec.structs.replace(gatekeeper, quiet=True).judge,
        close=_nothing if given.branches is not None else edges.close,
        edges=edges,
        note=log_helper,
    )


def _edges(given: Guarding) -> Enforcement:
    """The parts that reach the outside: those of the session itself, or those of the session that it works for, under its own policy."""
    whole, policy = given.branches, given.force.policy
    if whole is None:
        return open_enforcement(
            given.settings,
            policy,
            home=given.home,
            session_id=given.session_id,
            env=given.env,
            clock=given.clock,
            ways=given.ways,
            more_hooks=given.more_hooks,
        )
    theirs = whole.policy
    return msgspec.structs.replace(
        whole,
        policy=msgspec.structs.replace(
            policy,
            sandbox=theirs.sandbox,
            pre_hooks=theirs.pre_hooks,
            ask_hooks=theirs.ask_hooks,
            roots=(*policy.roots, whole.scratchpad),
        ),
    )


def _nothing() -> None:
    """An agent closes nothing that its session still needs."""


def _keeps(_settings: Settings, _policy: Policy) -> None:
    """The borders of the sandbox follow the session, not its agents."""


def _hooks(given: Guarding, edges: Enforcement, scope: Callable[[], ToolScope]) -> Hooks:
    facts = HookFacts(
        session_id=given.session_id,
        transcript_path=given.transcript,
        cwd=lambda: scope().cwd,
        mode=lambda: given.tools.mode.mode.value,
        instructions=given.instructions,
        agent=given.agent,
    )
    return Hooks(
        edges.hooks,
        edges.runner,
        facts,
        given.watch,
        interactive=given.force.policy.interactive,
        applies=lambda rule, call: condition_applies(rule, call, given.force.policy),
    )


def _limiting(files: FileTable, folder: str, tokens: int) -> Callable[[Sequence[ToolOutcome]], tuple[ToolOutcome, ...]]:
    """The limit of a batch; what of it was moved to a file no longer stands before the model."""

    def limit(outcomes: Sequence[ToolOutcome]) -> tuple[ToolOutcome, ...]:
        limited = limit_batch(outcomes, folder, tokens)
        if limited != tuple(outcomes):
            files.fade()
        return limited

    return limit


def _renewal(given: Guarding, edges: Enforcement, hooks: Hooks) -> Renewal:
    """Rules, hooks and the borders of the sandbox follow the settings files; whether there is a sandbox stays as it was opened (project-conventions 2.4)."""
    first = given.force.policy

    def plan(settings: Settings) -> tuple[Policy, HookPlan]:
        found = given.plan(settings)
        heard = with_hooks(plan_hooks(settings, runs_shared=found.trusted or not found.interactive), given.more_hooks)
        own = first.roots if given.branches is not None else (edges.scratchpad,)
        planned = msgspec.structs.replace(
            found,
            sandbox=first.sandbox,
            search_hides_denied=True,
            readable=first.readable,
            limits=first.limits,
            roots=tuple(dict.fromkeys((*found.roots, *own))),
            **gate_hooks(heard),
        )
        return planned, heard

    watched = SettingsWatch(given.places, given.load, also=given.approvals)
    draw = edges.renew if given.branches is None else _keeps
    parts = Renewing(changed=watched.changed, plan=plan, apply=draw, log=edges.log.change, watch=given.watch)
    return Renewal(given.force, hooks, parts)
