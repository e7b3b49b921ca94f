"""What the enforcement line of one session has of the outside: hook handlers, the sandbox, the log.

Performs opening and closing them. Decides nothing: the borders are planned in `policy`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.config.settings import Settings
from compositor.policy.hooks import HookPlan, plan_hooks
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy
from compositor.policy.sandbox import is_confined, plan_sandbox, plan_state
from compositor.policy.visibility import may_be_shown
from compositor.ports import Clock

from .audit_log import AuditLog
from .home import private_folder
from .hooks.runner import ChildHookRunner
from .sandboxes.bubblewrap import BubblewrapSandbox, Probe, probe_bubblewrap


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
    sandbox: BubblewrapSandbox | None = None

    def confine(self, command: str, words: tuple[str, ...], cwd: str) -> tuple[str, ...]:
        """The words that run a command line; inside the sandbox unless it is excluded."""
        if self.sandbox is None or not is_confined(command, self.policy.sandbox):
            return words
        return self.sandbox.confine(words, cwd)

    def close(self) -> None:
        self.runner.close()
        with contextlib.suppress(OSError):
            # Only an empty one goes: what was left there may still be wanted.
            Path(self.scratchpad).rmdir()
        if self.sandbox is not None:
            self.sandbox.close()


def open_enforcement(
    settings: Settings,
    policy: Policy,
    *,
    home: str,
    session_id: str,
    env: Mapping[str, str],
    clock: Clock,
) -> Enforcement:
    """Probe the sandbox once, when settings ask for one, and open the log."""
    folder = Path(home)
    outputs = str(private_folder(folder, "outputs", session_id))
    scratchpad = real_path(str(private_folder(folder, "scratch", session_id)))
    policy = msgspec.structs.replace(policy, roots=(*policy.roots, scratchpad))
    asked = plan_state(settings, policy, available=False, reason="")
    probe = probe_bubblewrap() if asked.enabled else Probe(None, "no sandbox is set up")
    state = plan_state(settings, policy, available=probe.program is not None, reason=probe.reason)
    hooks = plan_hooks(settings, runs_shared=policy.trusted or not policy.interactive)
    policy = msgspec.structs.replace(policy, sandbox=state, pre_hooks=("PreToolUse",) if hooks.hooks else ())
    sandbox = None
    if probe.program is not None:
        temporary = private_folder(folder, "sandbox", session_id)
        sandbox = BubblewrapSandbox(
            probe.program,
            plan_sandbox(settings, policy),
            temporary=str(temporary),
            outputs=outputs,
            is_hidden=lambda path: not may_be_shown(ResolvedPath(path, path), policy),
        )
    return Enforcement(
        policy=policy,
        hooks=hooks,
        runner=ChildHookRunner(env=env, project=policy.roots[0], session_id=session_id, folder=outputs),
        log=AuditLog(folder, session_id, policy.cwd, clock),
        outputs=outputs,
        scratchpad=scratchpad,
        sandbox=sandbox,
    )
