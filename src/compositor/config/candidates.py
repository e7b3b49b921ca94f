"""The built-in tools as candidates: names and needs (R002).

Decides which names can be eligible without plugins, servers or agents. Never defines a tool: that is `adapters/tools/`.
"""

from __future__ import annotations

from collections.abc import Mapping

from .eligibility import Candidate, CandidateSource
from .flags import Flags

SERVERS = "MCP servers"
SKILLS = "skills"
PERSON = "person to ask"
TASK_LIST = "task list"
TODO_LIST = "todo list"
REPOSITORY = "git repository"
LANGUAGES = "language servers"
"""Facts of a session that a tool can need."""

_WHY = "a built-in tool"


def _tool(name: str, *needs: str) -> Candidate:
    return Candidate(name=name, why=_WHY, session=frozenset(needs))


BUILTIN_TOOLS: tuple[Candidate, ...] = (
    _tool("Agent"),
    _tool("AskUserQuestion", PERSON),
    *(Candidate(name=name, why=_WHY, host=frozenset({"bash"})) for name in ("Bash", "BashOutput")),
    _tool("Edit"),
    _tool("EnterPlanMode", PERSON),
    _tool("EnterWorktree", REPOSITORY, PERSON),
    _tool("ExitPlanMode", PERSON),
    _tool("ExitWorktree", REPOSITORY, PERSON),
    _tool("Glob"),
    _tool("Grep"),
    _tool("LSP", LANGUAGES),
    _tool("ListMcpResourcesTool", SERVERS),
    Candidate(name="Monitor", why=_WHY, host=frozenset({"bash"})),
    _tool("NotebookEdit"),
    _tool("Read"),
    *(_tool(name, SERVERS) for name in ("ReadMcpResourceDirTool", "ReadMcpResourceTool")),
    _tool("Skill", SKILLS),
    *(_tool(name, TASK_LIST) for name in ("TaskCreate", "TaskGet", "TaskList")),
    Candidate(name="TaskStop", why=_WHY, host=frozenset({"bash"})),
    _tool("TaskUpdate", TASK_LIST),
    _tool("TodoWrite", TODO_LIST),
    _tool("ToolSearch", SERVERS),
    _tool("WaitForMcpServers", SERVERS),
    _tool("WebFetch"),
    Candidate(name="WebSearch", why=_WHY, provider=frozenset({"server_tools"})),
    _tool("Write"),
)


def named(names: tuple[str, ...], source: CandidateSource, why: str) -> tuple[Candidate, ...]:
    """Candidates of another source by their names alone; all of them can wait for a tool search."""
    return tuple(Candidate(name=name, source=source, why=why, deferrable=True) for name in names)


def session_facts(
    flags: Flags,
    variables: Mapping[str, str],
    *,
    has_servers: bool,
    has_person: bool,
    is_repository: bool,
    has_skills: bool = False,
    has_languages: bool = False,
) -> frozenset[str]:
    """What tools can need of a session. Lists of tasks are offered where somebody asks for them (project-conventions 8)."""
    named = frozenset(flags.tools or ()) | frozenset(flags.allowed_tools)
    todos = variables.get("CLAUDE_CODE_ENABLE_TASKS") == "0" or "TodoWrite" in named
    tasks = bool(named & _TASK_TOOLS) or variables.get("CLAUDE_CODE_ENABLE_TODO_TOOLS") == "1" or todos
    facts = {
        SERVERS: has_servers,
        SKILLS: has_skills,
        PERSON: has_person,
        REPOSITORY: is_repository,
        LANGUAGES: has_languages,
        TASK_LIST: tasks and not todos,
        TODO_LIST: todos,
    }
    return frozenset(fact for fact, holds in facts.items() if holds)


_TASK_TOOLS = frozenset({"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"})
