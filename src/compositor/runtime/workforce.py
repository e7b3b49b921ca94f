"""Agents at work for a session: started inside the turn or beside it, and what they report (project-conventions 6).

Decides when an agent may start, and how its report comes back: as the result of the call, or once, at the tail of the next request. What an agent
gets is decided in `loop/branch.py`, what it may do by its own gate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from compositor.context.extensions.agents import AgentDefinition
from compositor.context.extensions.catalog import Catalog
from compositor.context.extensions.reports import cut_report, scan_report
from compositor.errors import CompositorError
from compositor.loop.branch import FORK, Standing, stricter
from compositor.loop.effects import EndReason
from compositor.ports import Assignment, Ids, Modes, Reply
from compositor.runtime.events import AgentEnded, AgentEvent, AgentWorked, TurnResult, Watcher
from compositor.types.origin import Origin
from compositor.types.verdicts import PermissionMode

if TYPE_CHECKING:
    from compositor.runtime.agent import Agent

STATUS = "task_status"


class Job(Struct, frozen=True, kw_only=True):
    """One agent to be built. `definition` is `None` for a fork, which goes on from the conversation of `parent`."""

    worker_id: str
    definition: AgentDefinition | None
    parent: Agent
    assignment: Assignment
    standing: Standing
    mode: PermissionMode
    watch: Watcher


class Worker(Struct, frozen=True):
    """A built agent. `closing` gives what has to be said of the place where it worked, once it has ended."""

    agent: Agent
    closing: Callable[[], Awaitable[str]]


class Employing(Struct, frozen=True, kw_only=True):
    """What a workforce works with.

    `spawn` starts something beside the session, `None` where nothing can. `level` counts the agents above this session, `deepest` is the last level that may
    start any; `most` work at once. `keep` stores a whole report (worker, text) and gives its path. `awaited`: nobody will type a next prompt, so that the turn
    waits for what runs beside it, `patience` seconds at most.
    """

    catalog: Callable[[], Catalog[AgentDefinition]]
    build: Callable[[Job], AbstractAsyncContextManager[Worker]]
    spawn: Callable[[Callable[[], Awaitable[None]]], None] | None
    watch: Watcher
    ids: Ids
    modes: Modes
    keep: Callable[[str, str], str]
    level: int = 0
    deepest: int = 3
    most: int = 20
    longest: int = 32_000
    awaited: bool = False
    patience: float = 600.0


class Workforce:
    """One session's agents. Implements `ports.Employer`; `serve` names the agent they report to."""

    def __init__(self, given: Employing) -> None:
        self._given = given
        self._parent: Agent | None = None
        self._running: dict[str, str] = {}
        self._ended = anyio.Event()

    def serve(self, parent: Agent) -> None:
        self._parent = parent

    @property
    def running(self) -> tuple[str, ...]:
        """The agents at work, a line each."""
        return tuple(f"{worker}: {what}" for worker, what in self._running.items())

    async def start(self, assignment: Assignment) -> Reply:
        """Do a task: the report, or where it is done beside the conversation the sentence that says so."""
        is_fork = assignment.kind == FORK
        definition = None if is_fork else self._given.catalog().find(assignment.kind)
        problem = self._refusal(assignment, definition)
        if problem or self._parent is None:
            return Reply(problem=problem or "No agent can be started here.")
        beside = self._beside(assignment, definition)
        worker_id = f"agent-{self._given.ids.new().replace('-', '')[:12]}"
        job = Job(
            worker_id=worker_id,
            definition=definition,
            parent=self._parent,
            assignment=assignment,
            standing=Standing(background=beside, delegates=not is_fork and self._given.level + 1 < self._given.deepest),
            mode=stricter(self._given.modes.mode, None if definition is None else definition.mode),
            watch=self._watcher(worker_id, assignment),
        )
        self._running[worker_id] = f"{assignment.kind}, {assignment.description}"
        if not beside or self._given.spawn is None:
            try:
                return Reply(text=await self._work(job))
            finally:
                self._leaves(job)

        async def work() -> None:
            try:
                self._report(job, await self._work(job))
            finally:
                self._leaves(job)

        self._given.spawn(work)
        text = f"The agent {worker_id} works beside the conversation. Its report comes by itself: go on with something else, and do not wait for it."
        return Reply(text=text)

    @property
    def is_awaited(self) -> bool:
        """Whether a turn waits for what runs beside it."""
        return self._given.awaited

    async def wait(self) -> None:
        """Until an agent that works beside the conversation has ended; at once where none does."""
        if self._running:
            with anyio.move_on_after(self._given.patience):
                await self._ended.wait()

    def _refusal(self, assignment: Assignment, definition: AgentDefinition | None) -> str:
        given = self._given
        if given.level >= given.deepest:
            return (
                f"Agents may start others down to level {given.deepest}; this is level {given.level}. Do it yourself."
            )
        if len(self._running) >= given.most:
            return f"{given.most} agents are at work already. Wait for a report."
        if definition is None and assignment.kind != FORK:
            names = ", ".join((*(one.name for one in given.catalog().active), FORK))
            return f"There is no agent {assignment.kind!r}. There are: {names}."
        return ""

    def _beside(self, assignment: Assignment, definition: AgentDefinition | None) -> bool:
        wanted = assignment.background
        if wanted is None:
            wanted = definition is not None and definition.background
        return wanted and self._given.spawn is not None

    def _watcher(self, worker_id: str, assignment: Assignment) -> Watcher:
        def watch(event: AgentEvent) -> None:
            self._given.watch(AgentWorked(worker_id, assignment.kind, assignment.call_id, event))

        return watch

    async def _work(self, job: Job) -> str:
        """The report of an agent, whatever became of it."""
        try:
            async with self._given.build(job) as worker:
                result = await worker.agent.assign(job.assignment.prompt)
                report, closing = self._worded(job, result), await worker.closing()
        except CompositorError as problem:
            return f"The agent could not do its task: {problem}"
        return f"{report}\n{closing}" if closing else report

    def _leaves(self, job: Job) -> None:
        self._running.pop(job.worker_id, None)
        self._ended.set()
        self._ended = anyio.Event()

    def _worded(self, job: Job, result: TurnResult) -> str:
        text = scan_report(result.text)
        if len(text) > self._given.longest:
            text = cut_report(text, self._given.longest, self._given.keep(job.worker_id, text))
        if result.reason is EndReason.COMPLETED:
            return text or "(The agent ended without a word.)"
        why = result.detail or result.reason.value
        return f"[The agent did not finish: {why}.]\n{text}".rstrip()

    def _report(self, job: Job, report: str) -> None:
        what = f"{job.worker_id} ({self._what(job)}) has ended. Its report:"
        job.parent.receive(f"{what}\n\n{report}", kind=STATUS, origin=Origin.TASK_NOTIFICATION)
        self._given.watch(AgentEnded(job.worker_id, job.assignment.kind, report))

    def _what(self, job: Job) -> str:
        return (
            f"{job.assignment.kind}, {job.assignment.description}"
            if job.assignment.description
            else job.assignment.kind
        )
