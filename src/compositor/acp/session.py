"""One session of an editor: an agent with a task of its own, from its opening to its end.

Decides the order in which things reach the editor: updates go out one after the other, and before anything that the person has to answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

import anyio
import msgspec
from acp import schema
from acp.exceptions import RequestError
from acp.helpers import update_agent_thought_text, update_available_commands
from msgspec import Struct

from compositor.adapters.enforcement import real_path
from compositor.adapters.session_grants import SessionGrants
from compositor.adapters.tools.environment import withheld
from compositor.adapters.tools.process import run_child
from compositor.adapters.tools.task_list import Task, TaskList
from compositor.config.policy_inputs import is_mode_off
from compositor.context.extensions.skills import Skill
from compositor.opened import Opened
from compositor.policy.paths import ResolvedPath
from compositor.policy.visibility import may_be_shown
from compositor.ports import ModelTransport, Presence
from compositor.runtime.agent import Agent
from compositor.runtime.events import AgentEvent, TurnResult
from compositor.types.editor import EditorFacts
from compositor.types.origin import Origin
from compositor.types.verdicts import PermissionMode
from compositor.wiring import build_agent, session_services

from .person import EditorPerson
from .prompts import EditorPrompt, Shown, selections
from .terminals import EditorTerminals
from .updates import Updates, replay

Connect = Callable[[Opened], AbstractAsyncContextManager[ModelTransport]]
"""How the model of an opened session is reached."""

RESOURCE_KIND = "embedded_resource"

_MODES: tuple[tuple[PermissionMode, str, str], ...] = (
    (PermissionMode.DEFAULT, "Ask", "Reads run; changes and commands are asked about."),
    (PermissionMode.ACCEPT_EDITS, "Accept edits", "Changes of files in the project run without asking."),
    (PermissionMode.PLAN, "Plan", "Looks and plans; changes nothing until a plan is approved."),
    (PermissionMode.DONT_ASK, "Never ask", "What would be asked about is refused."),
    (PermissionMode.BYPASS, "Bypass", "Runs without asking; deny rules still count."),
)


class EditorSide(Struct, frozen=True, kw_only=True):
    """The editor's side: its connection, and whether it runs commands in a terminal of its own."""

    client: Any
    terminals: bool = False


class EditorSession:
    """Serve it with `run`; it is ready once that has said so."""

    def __init__(self, opened: Opened, editor: EditorSide) -> None:
        self.opened = opened
        self.id = opened.header.session_id
        self._editor = editor
        self._put, self._take = anyio.create_memory_object_stream[Any](float("inf"))
        self._sent = anyio.Condition()
        self._waiting = 0
        self._end = anyio.Event()
        self._turn = anyio.Lock()
        self._agent: Agent | None = None
        self._told_mode = opened.policy.mode
        self._looking = EditorFacts()
        self._looking_since = time.monotonic()
        self._updates = Updates(opened, opened.around.cwd, self._tasks)

    @property
    def agent(self) -> Agent:
        if self._agent is None:
            raise RequestError.invalid_request({"details": "the session has ended"})
        return self._agent

    async def run(self, connect: Connect, ready: Callable[[], None]) -> None:
        """Open the agent, say so, and keep it until `end`."""
        opened = self.opened
        grants = SessionGrants(opened.home, opened.places.root, opened.policy.roots[0])
        person = EditorPerson(self._editor.client, self.id, opened.around.cwd, self.flush, grants)
        hidden = withheld(self.opened.environment.variables)
        terminals = EditorTerminals(self._editor.client, self.id, self.send, hidden) if self._editor.terminals else None
        async with (
            connect(self.opened) as transport,
            session_services(self.opened, person) as services,
            anyio.create_task_group() as tasks,
            self._put,
            self._take,
        ):
            tasks.start_soon(self._send_all)
            agent, store = build_agent(
                self.opened,
                transport=transport,
                watch=self._watch,
                asker=person,
                services=services,
                interviewer=person,
                editor=self,
                presence=Presence(session_rules=lambda: grants.rules),
                run_command=run_child if terminals is None else terminals.run,
            )
            with store:
                self._agent, person.modes = agent, agent.modes
                ready()
                await self._end.wait()
                # The turn under way has been stopped; it is stored before anything is closed.
                async with self._turn:
                    self._agent = None
                    await agent.end()
            tasks.cancel_scope.cancel()

    def end(self) -> None:
        if self._agent is not None:
            self._agent.stop()
        self._end.set()

    def stop(self) -> None:
        """The person cancels the turn under way."""
        if self._agent is not None:
            self._agent.stop()

    async def prompt(self, prompt: EditorPrompt) -> TurnResult:
        """One turn; prompts of a session wait for each other."""
        async with self._turn:
            self._take_along(prompt.shown)
            result = await self.agent.submit(prompt.text, prompt.media)
            await self.flush()
            return result

    def look(self, facts: EditorFacts) -> None:
        """What the editor shows from now on."""
        self._looking, self._looking_since = facts, time.monotonic()

    def facts(self) -> EditorFacts | None:
        """What the editor shows, for those who collect it."""
        if self._looking == EditorFacts():
            return None
        return msgspec.structs.replace(self._looking, age=time.monotonic() - self._looking_since)

    async def announce(self) -> None:
        """Tell the commands that can be typed as `/name`."""
        shelf = self.opened.shelf
        known = () if shelf is None else tuple(skill for skill in shelf.catalog.active if skill.typed)
        if known:
            self.send(update_available_commands([_command(skill) for skill in known]))
            await self.flush()

    async def replay(self) -> None:
        """Tell the stored conversation once more."""
        for update in replay(self.opened.conversation.prefix.entries, self.opened.around.cwd):
            self.send(update)
        await self.flush()

    def modes(self) -> schema.SessionModeState:
        settings = self.opened.contract.settings
        known = [
            schema.SessionMode(id=mode.value, name=name, description=about)
            for mode, name, about in _MODES
            if not is_mode_off(mode, settings)
        ]
        return schema.SessionModeState(current_mode_id=self._mode().value, available_modes=known)

    async def set_mode(self, mode: PermissionMode) -> None:
        modes = self.agent.modes
        if modes is None or is_mode_off(mode, self.opened.contract.settings):
            raise RequestError.invalid_params(
                {"details": f"the permission mode {mode.value!r} is disabled by settings"}
            )
        modes.change(mode)
        self._tell_mode()
        await self.flush()

    def send(self, update: Any) -> None:
        """Put an update in line."""
        self._waiting += 1
        self._put.send_nowait(update)

    async def flush(self) -> None:
        """Wait until the editor has been sent all that stands in line."""
        async with self._sent:
            while self._waiting:
                await self._sent.wait()

    async def _send_all(self) -> None:
        async for update in self._take:
            # An editor that is gone hears nothing; the end of its input ends the sessions.
            with suppress(ConnectionError):
                await self._editor.client.session_update(self.id, update)
            async with self._sent:
                self._waiting -= 1
                self._sent.notify_all()

    def _watch(self, event: AgentEvent) -> None:
        for update in self._updates.of(event):
            self.send(update)
        self._tell_mode()

    def _tell_mode(self) -> None:
        """The mode changes by the person's hand and by the tools of plan mode."""
        if self._mode() is not self._told_mode:
            self._told_mode = self._mode()
            self.send(
                schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=self._told_mode.value)
            )

    def _mode(self) -> PermissionMode:
        modes = None if self._agent is None else self._agent.modes
        return self.opened.policy.mode if modes is None else modes.mode

    def _take_along(self, shown: tuple[Shown, ...]) -> None:
        """Hand over what came beside the words, each file past the check that reading it has to pass (F23)."""
        open_ones = [one for one in shown if not one.is_file or self._may_read(one.path)]
        for held in (one for one in shown if one not in open_ones):
            said = f"[what came with the prompt of {held.path} was held back: a rule denies reading it]\n"
            self.send(update_agent_thought_text(said))
        if open_ones:
            self.agent.receive(selections(open_ones), kind=RESOURCE_KIND, origin=Origin.UNCLASSIFIED)

    def _may_read(self, path: str) -> bool:
        return may_be_shown(ResolvedPath(path, real_path(path)), self.opened.policy)

    def _tasks(self) -> tuple[Task, ...]:
        return TaskList(Path(self.opened.home, "tasks", f"{self.id}.json")).all()


def _command(skill: Skill) -> schema.AvailableCommand:
    takes = skill.argument_hint or ("arguments" if skill.arguments else "")
    given = schema.AvailableCommandInput(root=schema.UnstructuredCommandInput(hint=takes)) if takes else None
    return schema.AvailableCommand(name=skill.name, description=skill.description or skill.name, input=given)
