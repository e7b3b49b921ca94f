"""Reminds the model of the permission mode and of the list of tasks.

Performs no look of its own: mode and list belong to the session. When a reminder is due is decided in `context/attachments/reminders.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from compositor.context.attachments.reminders import list_notes, mode_notes, style_notes
from compositor.context.compaction.restore import open_todos
from compositor.ports import Modes
from compositor.types.collected import Collected, Moment


class ReminderCollector:
    """`style` is the name of the output style, empty for the default one. `open_tasks` are the lines of the list of tasks that are not done, `tools` the names of those that are offered."""

    def __init__(
        self, modes: Modes, open_tasks: Callable[[], Sequence[str]], tools: Collection[str], style: str = ""
    ) -> None:
        self._modes = modes
        self._open_tasks = open_tasks
        self._tools = tools
        self._style = style

    async def collect(self, moment: Moment) -> Collected:
        mode = mode_notes(self._modes.mode, moment.told, moment.entries)

        def open_lines() -> Sequence[str]:
            # The list of TodoWrite lives in the conversation alone.
            return (*self._open_tasks(), *open_todos(tuple(moment.entries)))

        tasks = list_notes(open_lines, self._tools, moment.entries)
        return Collected(attachments=(*mode, *style_notes(self._style, moment.entries), *tasks))
