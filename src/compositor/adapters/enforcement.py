"""What the enforcement line of one session has of the outside: hook handlers, the sandbox, the log.

Performs opening and closing them. Decides nothing: the borders are planned in `policy`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Struct

from compositor.config.settings import Settings
from compositor.policy.hook_handlers import Hook, HookKind
from compositor.policy.hooks import HookPlan, gate_hooks, plan_hooks, with_hooks
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy, SandboxState
from compositor.policy.sandbox import SandboxPlan, is_confined, plan_sandbox, plan_state
from compositor.policy.visibility import may_be_shown
from compositor.ports import Clock, HandlerWay

from .audit_log import AuditLog
from .home import private_folder
from .hooks.runner import ChildHookRunner
from .sandboxes.bubblewrap import BubblewrapSandbox, probe_bubblewrap
from .sandboxes.landlock import LandlockSandbox, probe_landlock


def real_path(path: str) -> str:
    """Where a path really leads, every link followed; of what does not exist, the nearest folder that does is followed."""
    return os.path.realpath(path)


class Enforcement(Struct, frozen=True, kw_only=True):
    """The opened parts.

    `policy` knows whether a sandbox runs here; `outputs` is the private folder for large texts, `scratchpad` that for temporary files, which belongs to the directories in scope (R064).
    """

    policy: Policy
    hooks: HookPlan
    runner: ChildHookRunner
    log: AuditLog
    outputs: str
    scratchpad: str
    sandbox: BubblewrapSandbox | LandlockSandbox | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the borders that settings ask for are all there."""
        return not self.policy.sandbox.enabled or isinstance(self.sandbox, BubblewrapSandbox)

    def confine(self, command: str, words: tuple[str, ...], cwd: str) -> tuple[str, ...]:
        """The words that run a command line; inside the sandbox unless it is excluded."""
        if self.sandbox is None or not is_confined(command, self.policy.sandbox):
            return words
        return self.sandbox.confine(words, cwd)

    def renew(self, settings: Settings, policy: Policy) -> None:
        """Draw the borders of the sandbox anew for the commands to come."""
        if self.sandbox is not None:
            self.sandbox.follow(plan_sandbox(settings, policy), _hides(policy))

    def close(self) -> None:
        self.runner.close()
        with contextlib.suppress(OSError):
            # Only an empty one goes: what was left there may still be wanted.
            Path(self.scratchpad).rmdir()
        if self.sandbox is not None:
            self.sandbox.close()


def _hides(policy: Policy) -> Callable[[str], bool]:
    return lambda path: not may_be_shown(ResolvedPath(path, path), policy)


def probe_sandbox(settings: Settings, policy: Policy) -> tuple[SandboxState, str | None]:
    """What confines commands here, and the program that does; without a program it is Landlock.

    Landlock takes bubblewrap's place where that cannot run. Its borders are weaker: it frees no command from a question, and it is not what
    `failIfUnavailable` asks for.
    """
    asked = plan_state(settings, policy, available=False, reason="no sandbox is set up")
    if not asked.enabled:
        return asked, None
    probe = probe_bubblewrap()
    version = probe_landlock() if probe.program is None else 0
    reason = (
        f"Landlock {version} confines writing, hidden files and TCP, for {probe.reason}" if version else probe.reason
    )
    if version and asked.required:
        reason = f"{probe.reason}; Landlock is there, but it draws weaker borders than settings require"
    available = probe.program is not None or (version > 0 and not asked.required)
    state = plan_state(settings, policy, available=available, reason=reason)
    return msgspec.structs.replace(state, allows_itself=state.allows_itself and version == 0), probe.program


def _open_sandbox(
    program: str | None, plan: SandboxPlan, temporary: str, outputs: str, is_hidden: Callable[[str], bool]
) -> BubblewrapSandbox | LandlockSandbox:
    if program is None:
        return LandlockSandbox(plan, temporary=temporary, outputs=outputs, is_hidden=is_hidden)
    return BubblewrapSandbox(program, plan, temporary=temporary, outputs=outputs, is_hidden=is_hidden)


def open_enforcement(
    settings: Settings,
    policy: Policy,
    *,
    home: str,
    session_id: str,
    env: Mapping[str, str],
    clock: Clock,
    ways: Mapping[HookKind, HandlerWay] = MappingProxyType({}),
    more_hooks: tuple[Hook, ...] = (),
) -> Enforcement:
    """Probe the sandbox once, when settings ask for one, and open the log. `more_hooks` stand beside those of settings."""
    folder = Path(home)
    outputs = str(private_folder(folder, "outputs", session_id))
    scratchpad = real_path(str(private_folder(folder, "scratch", session_id)))
    policy = msgspec.structs.replace(policy, roots=(*policy.roots, scratchpad))
    state, program = probe_sandbox(settings, policy)
    hooks = with_hooks(plan_hooks(settings, runs_shared=policy.trusted or not policy.interactive), more_hooks)
    policy = msgspec.structs.replace(policy, sandbox=state, **gate_hooks(hooks))
    sandbox = None
    if state.available:
        temporary = str(private_folder(folder, "sandbox", session_id))
        sandbox = _open_sandbox(program, plan_sandbox(settings, policy), temporary, outputs, _hides(policy))
    return Enforcement(
        policy=policy,
        hooks=hooks,
        runner=ChildHookRunner(env=env, project=policy.roots[0], session_id=session_id, folder=outputs, ways=ways),
        log=AuditLog(folder, session_id, policy.cwd, clock),
        outputs=outputs,
        scratchpad=scratchpad,
        sandbox=sandbox,
    )
