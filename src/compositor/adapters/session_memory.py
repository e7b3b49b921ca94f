"""The memory file of a session: private, made from a template, changed by the Edit tool alone.

Performs reading and writing. Which calls may come here is decided in `policy/restriction.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

from anyio import to_thread

from compositor.adapters.files import FileProblem, read_file
from compositor.adapters.home import private_folder, write_private
from compositor.adapters.tools.edit import EditTool, whole_view
from compositor.context.compaction.session_memory import empty_memory
from compositor.context.freshness.file_table import FileTable
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolOutcome


class SessionMemoryFile:
    """One session's file below `home`; it is made when it is first needed."""

    def __init__(self, home: Path, session_id: str) -> None:
        folder = private_folder(home, "session-memory")
        self.path = os.path.realpath(folder / f"{session_id}.md")
        self._table = FileTable()
        self._tool = EditTool(self._table)
        self._scope = ToolScope(cwd=str(folder), roots=(str(folder),), output_dir=str(folder), env={})

    async def prepare(self) -> str:
        return await to_thread.run_sync(self._prepare)

    def touched(self, call: ToolCall) -> tuple[str, ...]:
        """The real paths that an Edit call means; none for another tool or an input that is none."""
        if call.name != self._tool.definition.name:
            return ()
        return tuple(dict.fromkeys(map(os.path.realpath, self._tool.paths(call, self._scope))))

    async def edit(self, call: ToolCall) -> ToolOutcome:
        return await self._tool.run(call, self._scope)

    def _prepare(self) -> str:
        path = Path(self.path)
        if not path.exists():
            write_private(path, empty_memory().encode())
        found = read_file(self.path)
        if isinstance(found, FileProblem):
            raise OSError(found.message)
        text = found.data.decode("utf-8", "replace")
        # The helper is shown the whole file with its question: it need not read it first.
        self._table.saw(whole_view(self.path, found.digest, found.stamp, text))
        return text
