"""The definition of an agent as a value (project-conventions 6.1, 6.2), and the built-in ones.

Decides what its head means and which file is none. What an agent may do is decided by the gate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from compositor.config.flags import parse_mode
from compositor.config.profile import Effort
from compositor.errors import UsageError
from compositor.types.verdicts import PermissionMode

from .catalog import Catalog, Kind, Place, Refused, SourceFile, settle
from .fields import Fields

_ORDER = (Place.MANAGED, Place.GIVEN, Place.PROJECT, Place.USER, Place.BUILT_IN)
_EFFORTS = tuple(effort.value for effort in Effort)
MEMORY_SCOPES = ("user", "project", "local")
GENERAL = "general-purpose"


class AgentDefinition(Struct, frozen=True, kw_only=True):
    """`prompt` is its system prompt. `tools`: `None` inherits those of its parent; `denied_tools` are taken away first (6.2).

    `reads_instructions`: whether it is given instruction files and the state of version control (6.3).
    """

    name: str
    place: Place
    path: str
    prompt: str
    description: str
    kind: Kind = Kind.AGENT
    tools: tuple[str, ...] | None = None
    denied_tools: tuple[str, ...] = ()
    model: str = "inherit"
    mode: PermissionMode | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    memory: str = ""
    background: bool = False
    effort: str = ""
    worktree: bool = False
    color: str = ""
    initial_prompt: str = ""
    reads_instructions: bool = True
    problems: tuple[str, ...] = ()


def parse_agent(source: SourceFile) -> AgentDefinition | Refused:
    """The agent in `source`, or why there is none: its identity is the field `name` alone (6.1)."""
    if source.problem:
        return Refused(source, source.problem)
    fields = Fields.of(source.text)
    if any("is not YAML" in problem for problem in fields.problems):
        return Refused(source, fields.problems[0])
    return _agent(source, fields, fields.body)


def parse_given(text: str) -> tuple[AgentDefinition | Refused, ...]:
    """The value of `--agents`: a JSON object of agents by name, `prompt` in the place of the body. Raises `UsageError` for anything else."""
    hint = 'Write {"reviewer": {"description": "...", "prompt": "..."}}'
    try:
        given = msgspec.json.decode(text, type=dict[str, dict[str, object]])
    except msgspec.MsgspecError as problem:
        raise UsageError(f"the value of '--agents' is no JSON object of agents: {problem}", hint=hint) from None
    return tuple(_given(name, values) for name, values in given.items())


def settle_agents(
    sources: Sequence[SourceFile], given: Sequence[AgentDefinition | Refused] = ()
) -> Catalog[AgentDefinition]:
    """All agents: managed, command line, project with the nearest first, user, built in (6.1)."""
    found = (*(parse_agent(source) for source in sources), *given, *BUILT_IN)
    return settle(found, lambda one: (_ORDER.index(one.place),))


def _given(name: str, values: Mapping[str, object]) -> AgentDefinition | Refused:
    source = SourceFile(kind=Kind.AGENT, place=Place.GIVEN, name=name, path="--agents")
    written = {key: _as_written(value) for key, value in values.items()}
    fields = Fields({**written, "name": name}, [])
    return _agent(source, fields, fields.text("prompt"))


def _as_written(value: object) -> object:
    """A value of JSON as the head of a file would hold it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return [_as_written(item) for item in value]
    return value if isinstance(value, (str, dict)) else "" if value is None else str(value)


def _agent(source: SourceFile, fields: Fields, prompt: str) -> AgentDefinition | Refused:
    name, description = fields.text("name"), fields.text("description")
    reason = _refusal(name, description, prompt)
    if reason:
        return Refused(source, reason)
    for field in ("hooks", "mcpServers"):
        if fields.has(field):
            fields.problems.append(f"{field!r} of an agent is not used; put it into the settings")
    return AgentDefinition(
        name=name,
        place=source.place,
        path=source.path,
        prompt=prompt,
        description=description,
        tools=_tools(fields),
        denied_tools=fields.words("disallowedTools") or (),
        model=fields.text("model") or "inherit",
        mode=_mode(fields),
        max_turns=fields.number("maxTurns"),
        skills=fields.words("skills") or (),
        memory=fields.choice("memory", MEMORY_SCOPES),
        background=fields.flag("background", default=False),
        effort=fields.choice("effort", _EFFORTS),
        worktree=fields.choice("isolation", ("worktree",)) == "worktree",
        color=fields.text("color"),
        initial_prompt=fields.text("initialPrompt"),
        problems=tuple(fields.problems),
    )


def _refusal(name: str, description: str, prompt: str) -> str:
    if not name:
        return "its head names no 'name'"
    if name.startswith("-") or ":" in name:
        return f"the name {name!r} starts with '-' or holds ':'"
    if not description:
        return "its head names no 'description'"
    return "" if prompt else "it has no prompt"


def _tools(fields: Fields) -> tuple[str, ...] | None:
    """A list that is given and empty inherits as well: `tools:` with nothing behind it says nothing; `*` is all."""
    words = fields.words("tools")
    return None if not words or "*" in words else words


def _mode(fields: Fields) -> PermissionMode | None:
    word = fields.text("permissionMode")
    try:
        return parse_mode(word) if word else None
    except UsageError as problem:
        fields.problems.append(f"'permissionMode' is ignored: {problem.message}")
        return None


_READING = ("Bash", "BashOutput", "Glob", "Grep", "Read", "WebFetch")

BUILT_IN: tuple[AgentDefinition, ...] = (
    AgentDefinition(
        name="Explore",
        place=Place.BUILT_IN,
        path="",
        description="Finds things in a code base and reports where they are; reads only. For a question that would take many searches.",
        prompt="""\
You look things up in a code base for another agent and change nothing. Search broadly first, then read what matters. Report what you \
found with paths and line numbers, say what you looked for and did not find, and keep it short: your report is all that the other agent sees.""",
        tools=_READING,
        mode=PermissionMode.PLAN,
        reads_instructions=False,
    ),
    AgentDefinition(
        name="Plan",
        place=Place.BUILT_IN,
        path="",
        description="Works out how a change should be made and which files it touches; reads only.",
        prompt="""\
You plan a change for another agent and make none. Read the code that the change concerns, weigh the ways to do it, and report one plan: what \
changes in which file, in which order, what can go wrong, and how the result is checked. Your report is all that the other agent sees.""",
        tools=_READING,
        mode=PermissionMode.PLAN,
        reads_instructions=False,
    ),
    AgentDefinition(
        name=GENERAL,
        place=Place.BUILT_IN,
        path="",
        description="Does a task of several steps on its own: looks around, changes what is needed, checks it, reports.",
        prompt="""\
You do one task for another agent, from beginning to end. Do what the task says and nothing beside it. When you are done, report what you did, \
what you found and what is still open, with paths. Your report is all that the other agent sees.""",
    ),
)
"""The agents that every session has (6.3)."""
