"""Tells that a command in the background has ended: once, with the next request (R199, R376).

Decides nothing but whether it was told. What it wrote is looked at with BashOutput.
"""

from __future__ import annotations

from compositor.adapters.tools.background import Background, BackgroundTask, State
from compositor.types.attachments import Attachment, QueuedInput
from compositor.types.collected import Collected, Moment
from compositor.types.origin import Origin

KIND = "task_status"


class BackgroundCollector:
    """The commands of one process: a session that goes on in another one has none of them left."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._told: set[str] = set()

    async def collect(self, moment: Moment) -> Collected:  # noqa: ARG002  # the port's signature
        ended = [task for task in self._background.tasks if self._is_news(task)]
        if not ended:
            return Collected()
        notes: tuple[Attachment, ...] = tuple(
            QueuedInput(kind=KIND, text=_said(task), origin=Origin.TASK_NOTIFICATION) for task in ended
        )
        return Collected(attachments=notes, taken=lambda: self._told.update(task.id for task in ended))

    def _is_news(self, task: BackgroundTask) -> bool:
        return task.state is not State.RUNNING and not task.is_seen and task.id not in self._told


def _said(task: BackgroundTask) -> str:
    code = "" if task.code is None or task.state is not State.ENDED else f" with exit code {task.code}"
    return f"The command {task.id} ({task.command[:200]}) has {task.state.value}{code}. BashOutput shows what it wrote; all of it is in {task.path}."
