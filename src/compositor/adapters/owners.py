"""The owners of one session, as a compaction meets them: files, instruction files, plan, tasks, session memory.

Performs the reading. What is restored, and how much of it, is decided in `context/compaction`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from anyio import to_thread

from compositor.adapters.files import FileProblem, read_file
from compositor.adapters.tools.task_list import TaskList
from compositor.adapters.tools.text_files import decode_text
from compositor.context.freshness.file_table import FileTable, FileView
from compositor.context.memory.chain import MemoryChain


class SessionOwners:
    """`memory` gives the instruction files as they were last read; `home` holds the plans and the notes, by session."""

    def __init__(
        self,
        *,
        cwd: str,
        transcript: str,
        files: FileTable,
        tasks: TaskList,
        home: str,
        session_id: str,
        memory: Callable[[], MemoryChain],
        may_read: Callable[[str], bool],
        settle: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.cwd = cwd
        self.transcript = transcript
        self._files = files
        self._tasks = tasks
        self._plan_file = Path(home, "plans", f"{session_id}.md")
        self._memory_file = Path(home, "session-memory", f"{session_id}.md")
        self._memory = memory
        self._may_read = may_read
        self._settle = settle
        self._views: dict[str, FileView] = {}

    def forget_files(self) -> None:
        self._files.forget()

    def may_read(self, path: str) -> bool:
        return self._may_read(path)

    def saw(self, path: str) -> None:
        """The whole of the file was shown, as `reread` found it."""
        self._files.seed([self._views[path]])

    async def reread(self, path: str) -> str | None:
        return await to_thread.run_sync(self._reread, path)

    def instructions(self) -> tuple[tuple[str, str], ...]:
        return tuple((loaded.file.path, loaded.file.text) for loaded in self._memory().files)

    async def plan(self) -> tuple[str, str]:
        text = await to_thread.run_sync(_text_of, self._plan_file)
        return (str(self._plan_file), text) if text else ("", "")

    async def tasks(self) -> tuple[str, ...]:
        return self._tasks.open_lines()

    async def settle_memory(self) -> None:
        if self._settle is not None:
            await self._settle()

    def session_memory(self) -> str:
        return _text_of(self._memory_file)

    def _reread(self, path: str) -> str | None:
        found = read_file(path)
        if isinstance(found, FileProblem):
            return None
        text = decode_text(found.data)
        if text is None:
            return None
        lines = len(text.lines)
        self._views[path] = FileView(
            path=found.path,
            digest=found.digest,
            mtime_ns=found.stamp.mtime_ns,
            size=found.stamp.size,
            inode=found.stamp.inode,
            lines=lines,
            seen=((1, lines),) if lines else (),
            text=text.text,
        )
        return "\n".join(text.lines)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
