"""The interactive prompt from its first session to its last.

Decides how the parts are put together, and that one session follows the other until the person ends.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from compositor.adapters.extension_desk import ExtensionDesk
from compositor.adapters.tools.results import Problem
from compositor.cli.inputs import opening_from
from compositor.cli.running import (
    Line,
    Ran,
    Running,
    act_with_agent,
    drive,
    keep_requests,
    read_script,
    real_line,
    scripted_line,
)
from compositor.context.extensions.catalog import State
from compositor.errors import CompositorError, ExitCode
from compositor.opened import Opened, Opening, open_session
from compositor.ports import Presence
from compositor.runtime.typed_ahead import TypedAhead

from .board import Board
from .completion import FileNames, PromptCompleter
from .here import Here, transcript_of
from .keys import Does, make_keys
from .pastes import Pastes, read_clipboard
from .person import AtThePrompt
from .prompt import Prompt
from .recall import Recall
from .rows import offered
from .screen import Screen
from .session import Going, SessionAtPrompt
from .status import Status
from .submitting import Typed
from .switching import next_mode
from .themes import choose_theme
from .view import PromptView


def start(values: Mapping[str, Any]) -> int:
    """Run sessions until the person ends; the exit code. Raises what opening a session raises."""
    opening: Opening | None = opening_from(values, interactive=True)
    script = read_script(values["offline"]) if values.get("offline") else None
    line: Line | None = None
    while opening is not None:
        opened = _opened(opening, copies=script is not None and line is None)
        if script is None:
            line = real_line(opened)
        elif line is None:
            line = scripted_line(script, opened)
        ran = drive(partial(_at_prompt, opening, opened, line, plain=bool(values.get("screen_reader"))))
        keep_requests(line, opened.home, opened.header.session_id)
        if ran.stopped_by == signal.SIGTERM:
            return ExitCode.TERMINATED
        if ran.result.between is not None:
            ran.result.between()
        opening = ran.result.opening
    return ExitCode.OK


def _opened(opening: Opening, *, copies: bool) -> Opened:
    from compositor.cli.run import opened_on_copy

    return opened_on_copy(opening, "A script plays the model", fork=False) if copies else open_session(opening)


async def _at_prompt(opening: Opening, opened: Opened, line: Line, *, plain: bool) -> Ran[Going]:
    """One session, from the parts that see it to the loop that drives it."""
    own, environ = opened.contract.settings.compositor, os.environ
    screen, board = Screen(choose_theme(own.theme, environ), plain=plain or own.screen_reader), Board()
    person, typed = AtThePrompt(opened, screen, board), TypedAhead[Typed]()
    status = Status(opened, str(transcript_of(opened)), person.mode, typed.__len__)
    view, extensions = PromptView(screen, board, status, person.shown), Extensions(opened)
    is_kept = not environ.get("CLAUDE_CODE_SKIP_PROMPT_HISTORY")
    recall = Recall(Path(opened.home), opened.around.cwd, opened.clock, is_kept=is_kept)
    pastes = Pastes(recall.earlier)

    def here(running: Running, one: SessionAtPrompt) -> Here:
        person.modes = running.agent.modes
        return Here(
            opening=opening,
            opened=opened,
            line=line,
            agent=running.agent,
            services=running.services,
            screen=screen,
            person=person,
            status=status,
            go=one.go,
            submit=one.submit,
        )

    session = SessionAtPrompt(
        here=here, view=view, pastes=pastes, recall=recall, extensions=extensions.names, typed=typed
    )
    prompt = Prompt(
        screen,
        board,
        status=status.line,
        keys=make_keys(board, _does(session, pastes, screen)),
        history=recall,
        completer=PromptCompleter(lambda: offered(extensions.listed), FileNames(opened.around.cwd, environ)),
    )
    presence = Presence(typed=typed.joining, session_rules=lambda: person.rules)
    with prompt.above():
        return await act_with_agent(opened, line, view, partial(session.run, prompt), person, presence=presence)


def _does(session: SessionAtPrompt, pastes: Pastes, screen: Screen) -> Does:
    """What the keys lead to."""

    def picture() -> str | None:
        found = read_clipboard(os.environ)
        marked = found if isinstance(found, Problem) else pastes.picture(found)
        if isinstance(marked, Problem):
            screen.error(marked.message)
            return None
        return marked

    return Does(
        is_busy=lambda: session.is_busy,
        interrupt=session.interrupt,
        leave=session.leave,
        take_back=session.take_back,
        next_mode=lambda: next_mode(session.here),
        paste=pastes.take,
        picture=picture,
    )


class Extensions:
    """The skills and command files that a person can call here; looked for when they are first asked for."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._found: list[tuple[str, str]] | None = None

    def listed(self) -> list[tuple[str, str]]:
        if self._found is None:
            try:
                desk = ExtensionDesk.open(self._opened.around.cwd, self._opened.flags, os.environ)
                rows = desk.skills().rows
            except CompositorError:
                rows = ()
            self._found = [(row.name, row.description) for row in rows if row.state is State.ACTIVE]
        return self._found

    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.listed())
