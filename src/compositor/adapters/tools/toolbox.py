"""The built-in tools of one session, by name.

Decides what the tools share: the table of files seen, and the working directory of the shell. Never decides which of them are
offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from compositor.ports import Tool, ToolScope

from .bash import BashTool, WorkingDirectory
from .edit import EditTool
from .file_table import FileTable
from .glob import GlobTool
from .grep import GrepTool
from .read import ReadTool
from .search import find_ripgrep
from .write import WriteTool


class ToolBox(Mapping[str, Tool]):
    """Name to tool. One box serves one session; after a resume, seed `files` so that what was read stays read.

    `is_visible` says whether Glob and Grep may show a file that they find below a folder (absolute path): a deny rule on reading
    protects a file whatever the way in (F23). Without it they show everything. `find_program` gives the path of ripgrep, or `None`
    for the slower search in Python.
    """

    def __init__(
        self,
        *,
        is_visible: Callable[[str], bool] = lambda _path: True,
        find_program: Callable[[ToolScope], str | None] = find_ripgrep,
    ) -> None:
        self.files = FileTable()
        self.directory = WorkingDirectory()
        tools: tuple[Tool, ...] = (
            BashTool(self.directory),
            EditTool(self.files),
            GlobTool(is_visible, find_program),
            GrepTool(is_visible, find_program),
            ReadTool(self.files),
            WriteTool(self.files),
        )
        self._tools = {tool.definition.name: tool for tool in tools}

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)
