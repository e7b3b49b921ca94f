"""BashOutput, Monitor, TaskStop: the tools for commands in the background.

Decides how a look at a task is worded. How tasks run and end is `background.py`.
"""

from __future__ import annotations

import re

import anyio
from anyio import to_thread
from msgspec import Struct

from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .background import Background, BackgroundTask, Look, State
from .bash import start_background
from .output import INLINE_CHARACTERS
from .results import Problem, done, failed, read_input

MONITOR_MS = 300_000
_POLL_SECONDS = 0.1
# Lines of one burst belong together; so long is waited for the rest of it.
_BURST_SECONDS = 0.2


class OutputInput(Struct, frozen=True, forbid_unknown_fields=True):
    bash_id: str
    filter: str | None = None


class StopInput(Struct, frozen=True, forbid_unknown_fields=True):
    task_id: str = ""
    shell_id: str = ""


class MonitorInput(Struct, frozen=True, forbid_unknown_fields=True):
    command: str | None = None
    task_id: str | None = None
    description: str = ""
    timeout_ms: int = MONITOR_MS


class _BackgroundTool:
    def __init__(self, background: Background) -> None:
        self._background = background

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    def _find(self, task_id: str) -> BackgroundTask | Problem:
        task = self._background.find(task_id)
        known = self._background.described()
        return task or Problem(f"There is no background command {task_id!r}. Commands of this session: {known}.")


class BashOutputTool(_BackgroundTool):
    definition: ToolDefinition = BUILTIN["BashOutput"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, OutputInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        task = self._find(wanted.bash_id)
        if isinstance(task, Problem):
            return failed(call, task.message)
        try:
            pattern = re.compile(wanted.filter) if wanted.filter is not None else None
        except re.error as error:
            return failed(call, f"The filter is no regular expression: {error}.")
        look = await to_thread.run_sync(task.look)
        return _answer(call, task, look, pattern)


class TaskStopTool(_BackgroundTool):
    definition: ToolDefinition = BUILTIN["TaskStop"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, StopInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        task = self._find(wanted.task_id or wanted.shell_id)
        if isinstance(task, Problem):
            return failed(call, task.message)
        before = task.state
        await to_thread.run_sync(task.stop)
        text = f"{task.id} was ended." if before is State.RUNNING else f"{task.id} had ended already ({before.value})."
        return done(call, text, display=f"{display_call(call)}: {task.state.value}", structured={"task_id": task.id})


class MonitorTool(_BackgroundTool):
    definition: ToolDefinition = BUILTIN["Monitor"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, MonitorInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        task = self._task(wanted, scope)
        if isinstance(task, Problem):
            return failed(call, task.message)
        look = await self._wait(task, wanted.timeout_ms / 1000)
        return _answer(call, task, look, None)

    def _task(self, wanted: MonitorInput, scope: ToolScope) -> BackgroundTask | Problem:
        if (wanted.command is None) == (wanted.task_id is None):
            return Problem("Give either a command or the task_id of a monitor that runs already.")
        if wanted.task_id is not None:
            return self._find(wanted.task_id)
        return start_background(self._background, wanted.command or "", scope.cwd, scope)

    async def _wait(self, task: BackgroundTask, seconds: float) -> Look:
        """The first look that shows something, or the last one before the time is up."""
        deadline = anyio.current_time() + seconds
        look = await to_thread.run_sync(task.look)
        while not look.text and look.state is State.RUNNING and anyio.current_time() < deadline:
            await anyio.sleep(_POLL_SECONDS)
            look = await to_thread.run_sync(task.look)
        if look.text and look.state is State.RUNNING:
            await anyio.sleep(_BURST_SECONDS)
            rest = await to_thread.run_sync(task.look)
            look = Look(text=look.text + rest.text, state=rest.state, code=rest.code, more=rest.more)
        return look


def _answer(call: ToolCall, task: BackgroundTask, look: Look, pattern: re.Pattern[str] | None) -> ToolOutcome:
    lines = look.text.splitlines()
    if pattern is not None:
        lines = [line for line in lines if pattern.search(line[:2_000])]
    text = "\n".join(lines)
    notes = []
    if len(text) > INLINE_CHARACTERS:
        notes.append(
            f"[{len(text) - INLINE_CHARACTERS:,} characters before these are left out. All of it is in {task.path}.]"
        )
        text = text[-INLINE_CHARACTERS:]
    if look.more:
        notes.append("[There is more output already; look again.]")
    exit_code = "" if look.code is None or look.state is not State.ENDED else f", exit code {look.code}"
    notes.append(f"[{task.id}: {look.state.value}{exit_code}.]")
    content = "\n".join((*([text] if text else ["(no new output)"]), *notes))
    shown = f"{display_call(call)}: {counted(len(lines), 'line')}, {look.state.value}"
    structured = {"task_id": task.id, "status": look.state.value, "exitCode": look.code, "stdout": text}
    return done(call, content, display=shown, structured=structured)
