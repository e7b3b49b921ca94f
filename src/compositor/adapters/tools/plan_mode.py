"""EnterPlanMode and ExitPlanMode: the tools that change the permission mode, and the file that keeps the plan.

Decides when a change makes sense. What a mode permits is `policy`; that a person approves a plan is the gate's question before the tool runs.
"""

from __future__ import annotations

from pathlib import Path

from anyio import to_thread
from msgspec import Struct

from compositor.adapters.home import private_folder, write_private
from compositor.context.tools.builtin import BUILTIN
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome
from compositor.types.verdicts import PermissionMode

from .results import Problem, done, failed, read_input

_ENTERED = """\
Plan mode is on. Until the person approves a plan, edits and commands that change anything are refused. Look around with the tools that \
read, think the work through, then call ExitPlanMode with the whole plan: what changes, where, in which order, and how it is checked."""


class ModeSwitch:
    """The permission mode of one session, as it is now. `default` is what plan mode returns to."""

    def __init__(self, mode: PermissionMode) -> None:
        self.mode = mode
        self._before: PermissionMode = PermissionMode.DEFAULT if mode is PermissionMode.PLAN else mode

    def change(self, mode: PermissionMode) -> None:
        """Take another mode because a person wants it."""
        if mode is not PermissionMode.PLAN:
            self.mode = self._before = mode
        elif self.mode is not PermissionMode.PLAN:
            self.enter_plan()

    def enter_plan(self) -> None:
        self._before, self.mode = self.mode, PermissionMode.PLAN

    def leave_plan(self) -> None:
        self.mode = self._before


class NoInput(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class PlanInput(Struct, frozen=True, forbid_unknown_fields=True):
    plan: str


class _PlanTool:
    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()


class EnterPlanModeTool(_PlanTool):
    definition: ToolDefinition = BUILTIN["EnterPlanMode"]

    def __init__(self, switch: ModeSwitch) -> None:
        self._switch = switch

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, NoInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        if self._switch.mode is PermissionMode.PLAN:
            return failed(call, "Plan mode is on already.")
        self._switch.enter_plan()
        return done(
            call, _ENTERED, display="EnterPlanMode: plan mode is on", structured={"mode": self._switch.mode.value}
        )


class ExitPlanModeTool(_PlanTool):
    """`home` and `name` say where the plan is kept."""

    definition: ToolDefinition = BUILTIN["ExitPlanMode"]

    def __init__(self, switch: ModeSwitch, home: Path, name: str) -> None:
        self._switch = switch
        self._home = home
        self._name = name

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, PlanInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        if self._switch.mode is not PermissionMode.PLAN:
            return failed(call, "Plan mode is not on; there is nothing to approve. Go on with the work.")
        try:
            path = await to_thread.run_sync(self._keep, wanted.plan)
        except OSError as error:
            return failed(call, f"The plan could not be kept: {error.strerror or error}.")
        self._switch.leave_plan()
        text = f"The person approved the plan; plan mode is off. The plan is in {path}. Begin."
        structured = {"plan": wanted.plan, "filePath": str(path), "mode": self._switch.mode.value}
        return done(call, text, display="ExitPlanMode: the plan was approved", structured=structured)

    def _keep(self, plan: str) -> Path:
        path = private_folder(self._home, "plans") / f"{self._name}.md"
        write_private(path, plan.encode("utf-8", "replace"))
        return path
