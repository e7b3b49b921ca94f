"""One session at the prompt: lines are read all the time, and worked on one after the other.

Decides what waits and what does not. While a turn is under way plain text joins it, whatever needs the session at rest waits in line, and a
command that only looks runs at once.
"""

from __future__ import annotations

import signal
from collections.abc import Callable

import anyio
from msgspec import Struct

from compositor.cli.report import diagnostic_lines
from compositor.cli.running import Running
from compositor.cli.watching import end_line
from compositor.context.messages.human import is_human_prompt
from compositor.errors import CompositorError
from compositor.loop.effects import EndReason
from compositor.opened import Opening
from compositor.runtime.events import TurnResult
from compositor.runtime.typed_ahead import TypedAhead
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry

from .here import Here
from .pastes import Pastes, Submission
from .prompt import Prompt
from .recall import Recall
from .rows import TABLE
from .shell_line import run_shell_line
from .submitting import Command, ShellLine, Typed, Unknown, read_typed
from .view import PromptView

LEAVE_SECONDS = 2.0
"""So soon after the first the second Ctrl-C ends the session."""


class Going(Struct, kw_only=True):
    """Where it goes on when this session ends: `opening`, after `between` was done to what is stored."""

    opening: Opening | None = None
    between: Callable[[], object] | None = None


class SessionAtPrompt:
    """One opened session. `run` is what is done with its agent."""

    def __init__(
        self,
        *,
        here: Callable[[Running, SessionAtPrompt], Here],
        view: PromptView,
        pastes: Pastes,
        recall: Recall,
        extensions: Callable[[], frozenset[str]],
        typed: TypedAhead[Typed],
    ) -> None:
        self._make_here = here
        self._prompt: Prompt | None = None
        self._view = view
        self._pastes = pastes
        self._recall = recall
        self._extensions = extensions
        self._typed = typed
        self._here: Here | None = None
        self._working: anyio.CancelScope | None = None
        self._current: Typed | None = None
        self._asked_to_leave = float("-inf")
        self._woken = anyio.Event()
        self._leaves = False
        self.going = Going()

    @property
    def is_busy(self) -> bool:
        return self._working is not None

    @property
    def here(self) -> Here:
        """The session as commands see it; there once it runs."""
        assert self._here is not None  # noqa: S101 - keys are read only while it runs
        return self._here

    async def run(self, prompt: Prompt, running: Running) -> Going:
        """Read from `prompt` and work until the person goes elsewhere."""
        self._prompt = prompt
        self._here = here = self._make_here(running, self)
        running.stops.heard.append(lambda: self._heard_signal(running))
        show_opening(here)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._work)
            await self._read(prompt)
            # What runs ends as at an interrupt, so that the history stays legal.
            self._leaves = True
            prompt.board.close()
            self.interrupt()
            self._woken.set()
        return self.going

    def interrupt(self) -> bool:
        """Stop what is worked on; whether there was anything."""
        if self._working is None:
            return False
        self.here.agent.stop()
        if isinstance(self._current, ShellLine):
            self._working.cancel()
        return True

    def leave(self) -> None:
        """The first time a hint, soon after it the end."""
        now = anyio.current_time()
        if now - self._asked_to_leave < LEAVE_SECONDS:
            self.go(None, None)
        self._asked_to_leave = now
        self.here.screen.note("Once more ends the session; it can be resumed.")

    def take_back(self) -> str | None:
        """The line that was typed last and still waits."""
        item = self._typed.take_back()
        return item.typed if isinstance(item, Submission) else _spelled(item)

    def go(self, opening: Opening | None, between: Callable[[], object] | None) -> None:
        """Leave this session for `opening`, or altogether."""
        self.going = Going(opening=opening, between=between)
        self._leaves = True
        if self._prompt is not None:
            self._prompt.leave()

    def _heard_signal(self, running: Running) -> None:
        # SIGTERM ends the program with everything stored; an interrupt ends what runs, as often as it comes.
        if running.stops.signals[-1] == signal.SIGINT:
            running.stops.signals.clear()
        else:
            self.go(None, None)

    async def _read(self, prompt: Prompt) -> None:
        while not self._leaves:
            try:
                line = await prompt.read()
            except EOFError:
                return
            board = prompt.board
            if board.asks_text:
                board.answer(line)
            elif line.strip():
                await self._take(line)

    async def _take(self, line: str) -> None:
        submission = self._pastes.submission(line)
        self._recall.keep(submission)
        found = read_typed(submission, TABLE, self._extensions())
        if isinstance(found, Command) and not TABLE[found.name].waits:
            self.here.screen.said(line)
            await self._perform(found)
            return
        joins = isinstance(found, Submission) and not found.pictures and not line.startswith("/") and "@" not in line
        self._typed.add(found, text=submission.text if joins else None)
        if self.is_busy:
            self.here.screen.note(f"waiting: {line.splitlines()[0]}")
        self._woken.set()

    async def _work(self) -> None:
        """Take what was typed, one thing after the other."""
        while not self._leaves:
            item = self._typed.next()
            if item is None:
                self._woken = anyio.Event()
                await self._woken.wait()
                continue
            self._current = item
            with anyio.CancelScope() as self._working:
                await self._perform(item)
            self._working = self._current = None

    async def _perform(self, item: Typed) -> None:
        here = self.here
        try:
            match item:
                case Submission():
                    here.screen.said(item.typed)
                    await self._submit(item)
                case Command(name=name, argument=argument):
                    if TABLE[name].waits:
                        here.screen.said(_spelled(item) or "")
                    await TABLE[name].act(here, argument)
                case ShellLine(text=text):
                    here.screen.said(f"!{text}")
                    await run_shell_line(here, text)
                case Unknown(name=name, near=near):
                    hint = f" Did you mean /{near}?" if near else " /help lists the commands."
                    here.screen.error(f"There is no command /{name}.{hint}")
        except (CompositorError, OSError) as problem:
            self._view.finish()
            here.screen.error(f"Error: {problem}")

    async def submit(self, text: str) -> None:
        """Begin a turn as if `text` had been typed."""
        await self._submit(Submission(typed=text, text=text))

    async def _submit(self, submission: Submission) -> None:
        here = self.here
        if not here.line.is_ready and here.line.emulator is None:
            here.screen.error(
                "Nothing was sent: there is no key. Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; /context looks."
            )
            return
        result = await here.agent.submit(submission.text, pictures=submission.pictures)
        self._view.finish()
        show_end(here, result)


def _spelled(item: Typed | None) -> str | None:
    """A waiting line as it was typed."""
    match item:
        case Command(name=name, argument=argument):
            return f"/{name} {argument}".rstrip()
        case ShellLine(text=text):
            return f"!{text}"
        case Submission(typed=typed):
            return typed
        case _:
            return None


def show_opening(here: Here) -> None:
    """What a session begins with: where it stands, and of one that goes on its last words."""
    opened, screen = here.opened, here.screen
    for note in diagnostic_lines((*opened.diagnostics, *here.line.endpoint.diagnostics)):
        screen.warn(note)
    entries = opened.conversation.prefix.entries
    last = [entries[place] for place in range(max(len(entries) - 40, 0), len(entries))]
    prompts = [entry for entry in last if is_human_prompt(entry)]
    answers = [entry for entry in last if isinstance(entry, AssistantEntry)]
    if prompts or answers:
        screen.note(f"The session {here.session_id[:8]} goes on ({len(entries)} entries). It ended with:")
    for entry in prompts[-1:]:
        screen.said(_words(entry))
    for entry in answers[-1:]:
        screen.markdown(_words(entry))
    screen.note(f"{opened.contract.model} in {here.project}")
    screen.note("/help lists commands and keys.")


def show_end(here: Here, result: TurnResult) -> None:
    """How a turn ended, in one line; nothing of figures where nothing was asked."""
    screen = here.screen
    if result.reason in {EndReason.ABORTED_STREAMING, EndReason.ABORTED_TOOLS}:
        screen.warn("Interrupted. Say what should be done instead, or go on.")
    elif result.detail:
        screen.error(result.detail)
    if result.usages:
        screen.note(end_line(result, here.opened.contract))


def _words(entry: object) -> str:
    blocks = getattr(entry, "content", ())
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
