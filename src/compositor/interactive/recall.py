"""The prompts of earlier days at the arrow keys.

Decides nothing: what is stored and how is `adapters/prompt_history.py`; this makes it the history of the typed line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace
from prompt_toolkit.history import History

from compositor.adapters.prompt_history import PromptHistory
from compositor.context.transcript.references import mark
from compositor.ports import Clock

from .pastes import Submission

LONGEST = 1_000
"""Prompts that the arrow keys reach back."""


class Recall(History):
    """Of one project. Nothing is kept where `is_kept` is false."""

    def __init__(self, home: Path, project: str, clock: Clock, *, is_kept: bool = True) -> None:
        super().__init__()
        self._stored = PromptHistory(home)
        self._project = project
        self._clock = clock
        self._is_kept = is_kept

    def load_history_strings(self) -> Iterable[str]:
        return [one.draft.text for one in self._stored.newest(LONGEST, project=self._project)]

    def store_string(self, string: str) -> None:
        """The line goes into the file with what its marks stand for: see `keep`."""

    def keep(self, submission: Submission) -> None:
        if self._is_kept:
            self._stored.add(submission.typed, submission.pastes, time=self._clock.now(), project=self._project)

    def earlier(self, number: int) -> str | None:
        """What the mark `number` of an earlier prompt stands for; of the newest one that has it."""
        for one in self._stored.newest(LONGEST, project=self._project):
            if number in one.draft.pastes:
                return self._stored.text(replace(one, draft=replace(one.draft, text=mark(number))))
        return None
