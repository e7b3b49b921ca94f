"""The tool box of one session: every built-in tool with the part of the session that it works on.

Decides which part each tool gets. Which of the tools are offered, and to which calls they come, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from compositor.adapters.home import private_folder
from compositor.adapters.services import Services
from compositor.config.flags import split_words
from compositor.ports import Interviewer, Tool, WebSearcher
from compositor.types.tools import ToolDefinition
from compositor.types.verdicts import PermissionMode

from .ask_user import AskUserQuestionTool, NobodyAnswers
from .bash import WorkingDirectory
from .lsp import LspTool
from .mcp_resources import ListMcpResourcesTool, ReadMcpResourceDirTool, ReadMcpResourceTool
from .mcp_wait import WaitForMcpServersTool
from .plan_mode import EnterPlanModeTool, ExitPlanModeTool, ModeSwitch
from .process import CommandRunner, run_child
from .task_list import TaskList, task_tools
from .tool_search import ToolSearchTool
from .toolbox import ToolBox
from .web_search import WebSearchTool
from .worktree import EnterWorktreeTool, ExitWorktreeTool, WorktreeState

PRIVATE_HOSTS: Final = "COMPOSITOR_PRIVATE_HOSTS"
"""The variable that names hosts of private networks which WebFetch may reach."""


class SessionTools(Struct, frozen=True):
    """The tools, the permission mode that two of them can change, the list of tasks that others share, and the worktree of the session."""

    box: ToolBox
    mode: ModeSwitch
    tasks: TaskList
    worktree: WorktreeState


def session_tools(
    *,
    home: Path,
    session_id: str,
    mode: PermissionMode,
    variables: Mapping[str, str],
    is_visible: Callable[[str], bool],
    deferred: Callable[[], tuple[ToolDefinition, ...]],
    services: Services | None,
    interviewer: Interviewer | None,
    run_command: CommandRunner = run_child,
    searcher: WebSearcher | None = None,
    keep: Callable[[Iterable[str]], None] = lambda _paths: None,
) -> SessionTools:
    """Every tool of a session. `deferred` gives what a tool search can find; without `services` there are no servers, without `searcher` no search of the web.

    `keep` hears of the files that a file tool is about to change.
    """
    directory, switch = WorkingDirectory(), ModeSwitch(mode)
    worktree = WorktreeState(directory)
    servers = None if services is None else services.servers
    tasks = TaskList(private_folder(home, "tasks") / f"{session_id}.json")
    tools: list[Tool] = [
        AskUserQuestionTool(interviewer or NobodyAnswers()),
        EnterPlanModeTool(switch),
        EnterWorktreeTool(worktree),
        ExitPlanModeTool(switch, home, session_id),
        ExitWorktreeTool(worktree),
        ToolSearchTool(deferred),
        *task_tools(tasks),
    ]
    if servers is not None:
        tools += [
            ListMcpResourcesTool(servers),
            ReadMcpResourceDirTool(servers),
            ReadMcpResourceTool(servers),
            WaitForMcpServersTool(servers),
        ]
    if services is not None and services.languages is not None:
        tools.append(LspTool(services.languages, is_visible))
    if searcher is not None:
        tools.append(WebSearchTool(searcher))
    box = ToolBox(
        is_visible=is_visible,
        directory=directory,
        background=None if services is None else services.background,
        private_hosts=frozenset(split_words(variables.get(PRIVATE_HOSTS, ""))),
        run_command=run_command,
        session=tools,
        more=servers,
        keep=keep,
    )
    return SessionTools(box, switch, tasks, worktree)
