"""TodoWrite and the task tools: the list of what is to be done, as the person sees it.

Decides what a task is and which changes make sense. The list lives in the session; task tools also keep it in a private file, so that it
survives the process.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from compositor.adapters.home import write_private
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.ports import Tool, ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .results import Problem, done, failed, read_input

Status: TypeAlias = Literal["pending", "in_progress", "completed"]
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Todo(Struct, frozen=True, forbid_unknown_fields=True):
    content: str
    status: Status
    activeForm: str  # noqa: N815  # the public name of the field


class TodoInput(Struct, frozen=True, forbid_unknown_fields=True):
    todos: tuple[Todo, ...]


class Task(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    subject: str
    description: str
    active_form: str = ""
    status: Status = "pending"
    owner: str = ""
    blocked_by: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}


class CreateInput(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    subject: str
    description: str
    active_form: str = ""
    metadata: dict[str, Any] = {}


class GetInput(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    task_id: str


class NoInput(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class UpdateInput(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    task_id: str
    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = None
    add_blocks: tuple[str, ...] = ()
    add_blocked_by: tuple[str, ...] = ()
    owner: str | None = None
    metadata: dict[str, Any] = {}


class TaskList:
    """The tasks of one session, by id, in `file` when there is one. A damaged file is an empty list."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._tasks: dict[str, Task] = {}
        self._next = 1
        if file is not None and file.is_file():
            try:
                known = msgspec.json.decode(file.read_bytes(), type=tuple[Task, ...])
            except (OSError, msgspec.MsgspecError):
                known = ()
            self._tasks = {task.id: task for task in known}
            self._next = 1 + max((int(task.id) for task in known if task.id.isdecimal()), default=0)

    def all(self) -> tuple[Task, ...]:
        return tuple(self._tasks.values())

    def line(self, task: Task) -> str:
        """One line for the model and for a person: mark, id, subject, owner, what it waits for."""
        waiting = self.open_blockers(task)
        owner = f" ({task.owner})" if task.owner else ""
        return f"{_MARKS[task.status]} {task.id}: {task.subject}{owner}" + (
            f" [waits for {', '.join(waiting)}]" if waiting else ""
        )

    def open_lines(self) -> tuple[str, ...]:
        """The tasks that are not completed, a line each."""
        return tuple(self.line(task) for task in self.all() if task.status != "completed")

    def get(self, task_id: str) -> Task | Problem:
        known = ", ".join(self._tasks) or "none"
        return self._tasks.get(task_id) or Problem(f"There is no task {task_id!r}. Tasks: {known}.")

    def add(self, wanted: CreateInput) -> Task:
        task = Task(id=str(self._next), **msgspec.structs.asdict(wanted))
        self._next += 1
        self._put(task)
        return task

    def change(self, wanted: UpdateInput) -> Task | Problem | None:
        """The task as it is now; `None` when it was deleted."""
        task = self.get(wanted.task_id)
        if isinstance(task, Problem):
            return task
        for other in (*wanted.add_blocks, *wanted.add_blocked_by):
            missing = self.get(other)
            if isinstance(missing, Problem):
                return missing
        if self._is_cycle(task.id, wanted):
            return Problem("The tasks would wait for each other.")
        if wanted.status == "deleted":
            self._remove(task.id)
            return None
        given = {name: getattr(wanted, name) for name in ("subject", "description", "active_form", "status", "owner")}
        metadata = {key: value for key, value in {**task.metadata, **wanted.metadata}.items() if value is not None}
        task = replace(
            task,
            **{name: value for name, value in given.items() if value is not None},
            blocked_by=_joined(task.blocked_by, wanted.add_blocked_by),
            metadata=metadata,
        )
        self._put(task)
        for other in wanted.add_blocks:
            blocked = self._tasks[other]
            self._put(replace(blocked, blocked_by=_joined(blocked.blocked_by, (task.id,))))
        return task

    def open_blockers(self, task: Task) -> tuple[str, ...]:
        return tuple(other for other in task.blocked_by if self._tasks[other].status != "completed")

    def _is_cycle(self, task_id: str, wanted: UpdateInput) -> bool:
        waits = {task.id: set(task.blocked_by) for task in self._tasks.values()}
        waits[task_id] |= set(wanted.add_blocked_by)
        for other in wanted.add_blocks:
            waits[other] |= {task_id}
        reached: set[str] = set()
        ahead = set(waits[task_id])
        while ahead:
            reached |= ahead
            ahead = {other for known in ahead for other in waits[known]} - reached
        return task_id in reached

    def _put(self, task: Task) -> None:
        self._tasks[task.id] = task
        self._save()

    def _remove(self, task_id: str) -> None:
        del self._tasks[task_id]
        self._tasks = {
            key: replace(task, blocked_by=tuple(other for other in task.blocked_by if other != task_id))
            for key, task in self._tasks.items()
        }
        self._save()

    def _save(self) -> None:
        if self._file is not None:
            write_private(self._file, msgspec.json.encode(self.all()))


class _ListTool:
    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()


class TodoWriteTool(_ListTool):
    definition: ToolDefinition = BUILTIN["TodoWrite"]

    def __init__(self) -> None:
        self.todos: tuple[Todo, ...] = ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, TodoInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        old, self.todos = self.todos, wanted.todos
        active = [todo for todo in wanted.todos if todo.status == "in_progress"]
        finished = sum(todo.status == "completed" for todo in wanted.todos)
        text = f"The list has {counted(len(wanted.todos), 'task')}, {finished} of them completed."
        if len(active) > 1:
            text += f" {len(active)} are in progress; work on one at a time."
        shown = active[0].activeForm if active else f"{finished} of {counted(len(wanted.todos), 'task')} completed"
        structured = {"oldTodos": msgspec.to_builtins(old), "newTodos": msgspec.to_builtins(wanted.todos)}
        return done(call, text, display=f"TodoWrite: {shown}", structured=structured)


class _TaskTool(_ListTool):
    def __init__(self, tasks: TaskList) -> None:
        self._tasks = tasks

    def _done(self, call: ToolCall, text: str, tasks: Iterable[Task]) -> ToolOutcome:
        structured = {"tasks": msgspec.to_builtins(tuple(tasks))}
        return done(call, text, display=display_call(call), structured=structured)


class TaskCreateTool(_TaskTool):
    definition: ToolDefinition = BUILTIN["TaskCreate"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, CreateInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        task = self._tasks.add(wanted)
        return self._done(call, f"Task {task.id} was added: {task.subject}", [task])


class TaskGetTool(_TaskTool):
    definition: ToolDefinition = BUILTIN["TaskGet"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, GetInput)
        task = wanted if isinstance(wanted, Problem) else self._tasks.get(wanted.task_id)
        if isinstance(task, Problem):
            return failed(call, task.message)
        extra = f"\nmetadata: {msgspec.json.encode(task.metadata).decode()}" if task.metadata else ""
        return self._done(call, f"{self._tasks.line(task)}\n{task.description}{extra}", [task])


class TaskListTool(_TaskTool):
    definition: ToolDefinition = BUILTIN["TaskList"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, NoInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        tasks = self._tasks.all()
        return self._done(call, "\n".join(map(self._tasks.line, tasks)) or "There are no tasks.", tasks)


class TaskUpdateTool(_TaskTool):
    definition: ToolDefinition = BUILTIN["TaskUpdate"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, UpdateInput)
        task = wanted if isinstance(wanted, Problem) else self._tasks.change(wanted)
        if isinstance(task, Problem):
            return failed(call, task.message)
        if task is None:
            return self._done(call, "The task was deleted.", [])
        return self._done(call, self._tasks.line(task), [task])


def task_tools(tasks: TaskList) -> tuple[Tool, ...]:
    """The four tools that share one list."""
    return (TaskCreateTool(tasks), TaskGetTool(tasks), TaskListTool(tasks), TaskUpdateTool(tasks))


def _joined(known: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *more)))
