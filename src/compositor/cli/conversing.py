"""`compositor run --input-format stream-json`: prompts come in while the run goes on, and the program that started it is in control.

Decides what each control request does. Prompts are worked on one after the other, in the order in which they came; each ends with a result.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from compositor.adapters.session_grants import SessionGrants
from compositor.cli.answering import bring_files_back, server_report, window_report
from compositor.cli.running import Line, Ran, Running, act_with_agent, drive
from compositor.cli.streaming import named_surroundings, print_message, stdin_descriptor, surroundings_of
from compositor.config.flags import parse_mode
from compositor.config.policy_inputs import is_mode_off
from compositor.context.messages.human import last_prompt
from compositor.errors import CompositorError, UsageError
from compositor.opened import Opened
from compositor.policy.hook_handlers import Hook
from compositor.ports import Presence
from compositor.protocol.callbacks import calling, read_callbacks
from compositor.protocol.dialog import Dialog, DialogPerson, Standing
from compositor.protocol.incoming import MAX_LINE, ControlAnswer, ControlCancel, ControlRequest, Prompt, parse_line
from compositor.protocol.report import RunReport
from compositor.runtime.events import TurnResult

_PIECE = 1 << 16


class Conversing:
    """One such run. `asks`: permission is asked for through the program; `echoes`: prompts are printed as they are taken up."""

    def __init__(self, opened: Opened, report: RunReport, *, asks: bool, echoes: bool) -> None:
        self._opened = opened
        self._report = report
        self._asks = asks
        self._echoes = echoes
        self._dialog = Dialog(print_message)
        self._grants = SessionGrants(opened.home, opened.places.root, opened.policy.roots[0])
        self._hooks: tuple[Hook, ...] = ()
        # What the program calls a prompt -> what the transcript calls it.
        self._entries: dict[str, str] = {}
        self._running: Running | None = None
        self._is_busy = False
        self._first = anyio.Event()
        self._put: MemoryObjectSendStream[Prompt | CompositorError]
        self._take: MemoryObjectReceiveStream[Prompt | CompositorError]

    def run(self, line: Line) -> Ran[TurnResult | None]:
        """Talk until the input ends; gives the last turn's result, `None` where there was no prompt. Raises what a turn raises."""
        return drive(partial(self._run, line))

    async def _run(self, line: Line) -> Ran[TurnResult | None]:
        self._put, self._take = anyio.create_memory_object_stream[Prompt | CompositorError](float("inf"))
        person = DialogPerson(self._dialog, self._standing()) if self._asks else None
        async with self._put, self._take, anyio.create_task_group() as tasks:
            tasks.start_soon(self._read)
            # The program introduces itself before its first prompt; nothing is started for one that says nothing.
            await self._first.wait()
            if not self._take.statistics().current_buffer_used:
                return Ran(result=None, seconds=0.0)
            presence = Presence(
                session_rules=lambda: self._grants.rules,
                hooks=self._hooks,
                calls=calling(self._dialog),
                exchange=self._dialog.exchange,
            )
            ran = await act_with_agent(self._opened, line, self._report, self._talk, person, presence=presence)
            tasks.cancel_scope.cancel()
        return ran

    async def _talk(self, running: Running) -> TurnResult | None:
        self._running = running
        # A signal while nothing is under way ends the waiting.
        running.stops.heard.append(self._put.close)
        last: TurnResult | None = None
        async for prompt in self._take:
            if running.stops.signals:
                break
            if isinstance(prompt, CompositorError):
                raise prompt
            modes = running.agent.modes
            mode = "" if modes is None else modes.mode.value
            self._report.begin(await surroundings_of(self._opened, running), mode=mode, prompt_id=prompt.id)
            shown = prompt.id or str(uuid.uuid4())
            if self._echoes:
                said = {"type": "user", "message": prompt.message, "parent_tool_use_id": None, "isReplay": True}
                self._report.say({**said, "uuid": shown})
            self._is_busy = True
            last = await running.agent.submit(prompt.text, prompt.media)
            self._is_busy = False
            self._entries[shown] = last_prompt(running.agent.conversation.prefix.entries) or shown
            self._report.end(last)
        return last

    async def _read(self) -> None:
        """Take in lines until the input ends or one of them is no message."""
        try:
            async for number, line in _lines(stdin_descriptor()):
                await self._hear(line, number)
        except CompositorError as problem:
            self._put_in(problem)
        finally:
            self._dialog.close()
            self._first.set()
            self._put.close()

    async def _hear(self, line: bytes, number: int) -> None:
        match parse_line(line, number):
            case Prompt() as prompt:
                self._put_in(prompt)
            case ControlAnswer() as answer:
                self._dialog.take(answer)
            case ControlRequest() as request:
                await self._control(request)
            case ControlCancel() | None:
                # What we answer, we answer at once: there is nothing to cancel.
                pass

    def _put_in(self, item: Prompt | CompositorError) -> None:
        try:
            self._put.send_nowait(item)
        except anyio.ClosedResourceError:
            return
        self._first.set()

    async def _control(self, request: ControlRequest) -> None:
        answer = _ANSWERS.get(request.subtype)
        if answer is None:
            self._dialog.refuse(request.id, f"this program does not know the control request {request.subtype!r}")
            return
        try:
            self._dialog.respond(request.id, await answer(self, request.fields))
        except CompositorError as problem:
            self._dialog.refuse(request.id, str(problem))

    async def _initialize(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        hooks = read_callbacks(fields.get("hooks"), self._opened.contract.settings)
        if hooks and self._running is not None:
            raise UsageError("the session runs already, so these hooks would not be asked")
        self._hooks = hooks
        for name in ("agents", "skills", "excludeDynamicSections", "systemPromptSnapshot"):
            if fields.get(name) not in (None, False):
                self._tell(f"{name!r} of 'initialize' is not taken up")
        found = named_surroundings(self._opened)
        commands = [
            {"name": one.name, "description": one.description, "argumentHint": one.hint} for one in found.commands
        ]
        return {
            "commands": commands,
            "agents": [{"name": name} for name in found.agents],
            "output_style": self._opened.contract.settings.output_style or "default",
            "available_output_styles": ["default"],
            "models": [{"value": self._opened.contract.model, "displayName": self._opened.contract.profile.name}],
            "account": {},
            "hook_on_failure_supported": True,
            "pid": os.getpid(),
        }

    def _standing(self) -> Standing:
        return Standing(
            give=self._grants.give,
            save=self._grants.save,
            set_mode=self._change_mode,
            stop=self._stop,
            tell=self._tell,
        )

    def _tell(self, text: str) -> None:
        self._report.say({"type": "system", "subtype": "informational", "content": text, "level": "warning"})

    def _stop(self) -> None:
        if self._running is not None:
            self._running.agent.stop()

    async def _interrupt(self, _fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ends the turn under way; the run goes on with the next prompt."""
        self._stop()
        return {}

    async def _set_mode(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"mode": self._change_mode(str(fields.get("mode")))}

    async def _set_model(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Another model from the next prompt on; without a name the one that the run began with. Only between turns."""
        if self._is_busy:
            raise UsageError("a turn is under way", hint="Interrupt it first")
        name = fields.get("model") or self._opened.contract.model
        return {"model": await self._session().agent.switch_model(str(name))}

    async def _servers(self, _fields: Mapping[str, Any]) -> Mapping[str, Any]:
        return await server_report(self._opened, self._session())

    async def _window(self, _fields: Mapping[str, Any]) -> Mapping[str, Any]:
        return window_report(self._opened, self._session())

    async def _rewind(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Files go back; the conversation stays. Only between turns: a tool could be writing."""
        if self._is_busy:
            raise UsageError("a turn is under way", hint="Interrupt it first")
        named = str(fields.get("user_message_id"))
        return bring_files_back(self._opened, self._session(), self._entries.get(named, named))

    def _session(self) -> Running:
        if self._running is None:
            raise UsageError("no session runs yet", hint="It begins with the first prompt")
        return self._running

    def _change_mode(self, name: str) -> str:
        mode = parse_mode(name)
        if is_mode_off(mode, self._opened.contract.settings):
            raise UsageError(f"the permission mode {mode.value!r} is disabled by settings")
        modes = self._session().agent.modes
        if modes is not None:
            modes.change(mode)
        return mode.value


_ANSWERS: Mapping[str, Callable[[Conversing, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]] = {
    "initialize": Conversing._initialize,  # noqa: SLF001  (a table of its own methods)
    "interrupt": Conversing._interrupt,  # noqa: SLF001
    "mcp_status": Conversing._servers,  # noqa: SLF001
    "get_context_usage": Conversing._window,  # noqa: SLF001
    "rewind_files": Conversing._rewind,  # noqa: SLF001
    "set_model": Conversing._set_model,  # noqa: SLF001
    "set_permission_mode": Conversing._set_mode,  # noqa: SLF001
}


async def _lines(descriptor: int) -> AsyncIterator[tuple[int, bytes]]:
    """The lines of a descriptor as they come, with their numbers."""
    number, pending = 0, bytearray()
    while True:
        # A file cannot be waited for, and never lets anybody wait.
        with suppress(PermissionError):
            await anyio.wait_readable(descriptor)
        piece = os.read(descriptor, _PIECE)
        pending += piece
        while (end := pending.find(b"\n")) >= 0:
            number += 1
            yield number, bytes(pending[:end])
            del pending[: end + 1]
        if not piece:
            if pending.strip():
                yield number + 1, bytes(pending)
            return
        if len(pending) > MAX_LINE:
            raise UsageError(f"a line on standard input is longer than {MAX_LINE:,} bytes", where=f"line {number + 1}")
