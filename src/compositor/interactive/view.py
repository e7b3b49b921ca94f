"""What a person sees of a turn at the prompt.

Decides which event is shown how. Everything that the text of a run shows too is worded there; this adds Markdown as it streams, differences, and
the state of the board.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from compositor.cli.watching import TextWatcher
from compositor.runtime.events import (
    AgentEvent,
    AnswerEnded,
    CallEnded,
    CallJudged,
    Compacted,
    CompactionStep,
    OutputWidened,
    RequestStarted,
    Retrying,
    Streamed,
    TypedJoined,
)
from compositor.types.stream import BlockDelta, BlockStart
from compositor.types.tools import OutcomeKind, ToolOutcome
from compositor.types.verdicts import Allow

from .board import Board
from .markdown_stream import MarkdownStream
from .screen import Screen
from .status import Status

SHOWN_LINES = 3
"""Lines of a result that are shown."""


class PromptView(TextWatcher):
    """Shows a turn above the prompt. `shown` are calls whose change the person has seen already."""

    def __init__(self, screen: Screen, board: Board, status: Status, shown: Collection[str]) -> None:
        super().__init__()
        self._screen = screen
        self._board = board
        self._status = status
        self._shown = shown
        self._stream = MarkdownStream()

    def __call__(self, event: AgentEvent) -> None:
        self._status.hear(event)
        match event:
            case RequestStarted():
                self._board.does("waiting for the model … Esc interrupts")
            case Streamed(event=BlockDelta(kind="text_delta", delta=delta)):
                self._text(str(msgspec.json.decode(delta)["text"]))
            case Streamed(event=BlockStart()):
                self._board.does("the model answers … Esc interrupts")
            case Retrying() | OutputWidened():
                self._void()
                super().__call__(event)
            case AnswerEnded():
                self.finish()
                super().__call__(event)
            case CallJudged(display=display, verdict=verdict):
                allowed = isinstance(verdict, Allow)
                self._screen.tool(display, allowed=allowed, reason=verdict.reason)
                self._board.does(f"{display.splitlines()[0]} … Esc interrupts" if allowed else "")
            case CallEnded(outcome=outcome) if outcome.kind is not OutcomeKind.DENIED:
                self._ended(outcome)
            case TypedJoined(text=text, refusal=refusal):
                self._screen.said(text, mark="joins the turn" if refusal is None else f"not sent: {refusal}")
            case CompactionStep():
                self._board.does("compacting … Esc interrupts")
                super().__call__(event)
            case Compacted():
                super().__call__(event)
                self._board.does("")
            case _:
                super().__call__(event)

    def note(self, line: str) -> None:
        self._screen.note(line.strip("\n"))

    def finish(self) -> None:
        """Show what of an answer was not shown yet; also where it was broken off."""
        rest = self._stream.flush()
        self._board.shows("")
        self._board.does("")
        if rest.strip():
            self._screen.markdown(rest)

    def _text(self, text: str) -> None:
        done = self._stream.feed(text)
        if done.strip():
            self._screen.markdown(done)
        if not self._screen.plain:
            self._board.shows(self._stream.rest)

    def _void(self) -> None:
        """What was shown of the answer does not count: it comes anew."""
        if self._stream.flush().strip():
            self._screen.note("(that answer was broken off; what was shown of it does not count)")
        self._board.shows("")

    def _ended(self, outcome: ToolOutcome) -> None:
        self._board.does("")
        failed = outcome.kind is not OutcomeKind.DONE
        self._screen.below(outcome.display, self._screen.theme.bad if failed else None)
        hunks = _hunks(outcome)
        if hunks and outcome.call_id not in self._shown:
            self._screen.diff(hunks)


def _hunks(outcome: ToolOutcome) -> list[dict[str, object]]:
    """The hunks of an edit; for a new file its text as one."""
    if outcome.structured is None:
        return []
    found = msgspec.json.decode(outcome.structured)
    if not isinstance(found, dict):
        return []
    if found.get("type") == "create" and isinstance(found.get("content"), str):
        lines = [f"+{line}" for line in found["content"].split("\n")]
        return [{"oldStart": 1, "newStart": 1, "lines": lines[:-1] if lines[-1] == "+" else lines}]
    hunks = found.get("structuredPatch")
    return hunks if isinstance(hunks, list) else []
