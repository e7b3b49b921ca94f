"""The built-in tools of one session, by name.

Decides what the tools share: the table of files seen, and the working directory of the shell. Never decides which of them are
offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from compositor.context.freshness.file_table import FileTable
from compositor.ports import Tool, ToolScope

from .background import Background
from .background_tools import BashOutputTool, MonitorTool, TaskStopTool
from .bash import BashTool, WorkingDirectory
from .edit import EditTool
from .glob import GlobTool
from .grep import GrepTool
from .kept_before import KeptBefore
from .notebook_edit import NotebookEditTool
from .process import CommandRunner, run_child
from .read import ReadTool
from .search import find_ripgrep
from .task_list import TodoWriteTool
from .web_fetch import WebFetchTool
from .write import WriteTool


class ToolBox(Mapping[str, Tool]):
    """Name to tool. One box serves one session; after a resume, seed `files` so that what was read stays read.

    `is_visible` says whether Glob and Grep may show a file that they find below a folder (absolute path): a deny rule on reading
    protects a file whatever the way in (F23). Without it they show everything. `find_program` gives the path of ripgrep, or `None`
    for the slower search in Python. `private_hosts` may be fetched although they are not public. `run_command` runs the commands of Bash. `session` are built-in tools that need
    more than files; `more` are the tools of others, by the name that the model knows; a built-in of the same name wins
    (R238), and they may come and go. `keep` hears of the files that a file tool is about to change.
    """

    def __init__(
        self,
        *,
        is_visible: Callable[[str], bool] = lambda _path: True,
        find_program: Callable[[ToolScope], str | None] = find_ripgrep,
        directory: WorkingDirectory | None = None,
        background: Background | None = None,
        private_hosts: frozenset[str] = frozenset(),
        run_command: CommandRunner = run_child,
        session: Iterable[Tool] = (),
        more: Mapping[str, Tool] | None = None,
        keep: Callable[[Iterable[str]], None] = lambda _paths: None,
    ) -> None:
        self.files = FileTable()
        self.directory = directory or WorkingDirectory()
        self.background = background or Background()
        tools: tuple[Tool, ...] = (
            BashTool(self.directory, self.background, run_command),
            BashOutputTool(self.background),
            KeptBefore(EditTool(self.files), keep),
            GlobTool(is_visible, find_program),
            GrepTool(is_visible, find_program),
            MonitorTool(self.background),
            KeptBefore(NotebookEditTool(self.files), keep),
            ReadTool(self.files),
            TaskStopTool(self.background),
            TodoWriteTool(),
            WebFetchTool(private_hosts),
            KeptBefore(WriteTool(self.files), keep),
        )
        self._tools = {tool.definition.name: tool for tool in (*tools, *session)}
        self._more: Mapping[str, Tool] = {} if more is None else more

    def add(self, tool: Tool) -> None:
        """One more tool of the session: one that needs what is made of the others."""
        self._tools[tool.definition.name] = tool

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name] if name in self._tools else self._more[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._tools
        yield from (name for name in self._more if name not in self._tools)

    def __len__(self) -> int:
        return sum(1 for _ in self)
