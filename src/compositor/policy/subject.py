"""What a call is about: its kind, the paths it touches and the commands it runs, taken from its input alone.

Decides how a tool's fields are read by the enforcement line. A tool that is not listed has an unknown effect and needs a
permission. Never decides a verdict.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from compositor.types.tools import ToolCall, ToolDefinition, ToolOrigin

from .commands import READERS, edited_paths, harmless_paths, path_words, writes_operands
from .paths import ResolvedPath, absolute_path
from .policy import Policy
from .reach import reachable_commands
from .shell import ShellLine, parse_shell
from .words import Word

MAX_PATHS = 256
MAX_FOLDERS = 8


class ToolKind(enum.Enum):
    READ = "read"
    SEARCH = "search"
    EDIT = "edit"
    SHELL = "shell"
    FETCH = "fetch"
    WEB_SEARCH = "web_search"
    INTERNAL = "internal"
    PERSON = "person"
    OTHER = "other"


class Access(enum.Enum):
    READ = "read"
    WRITE = "write"
    MENTION = "mention"
    """A word of an unknown command that may be a path."""


class PathUse(Struct, frozen=True):
    """A path as the call names it, made absolute; links and `..` are still in it."""

    path: str
    access: Access


class Subject(Struct, frozen=True):
    tool: str
    kind: ToolKind
    fields: Mapping[str, Any]
    uses: tuple[PathUse, ...] = ()
    line: ShellLine | None = None
    commands: tuple[tuple[Word, ...], ...] = ()
    folders: tuple[str, ...] = ()
    """Where a relative path of the line may start: the current directory, and where each `cd` in it may lead."""
    overfull: bool = False

    @property
    def asked_paths(self) -> tuple[str, ...]:
        """The paths whose real place has to be known before anything is decided."""
        return tuple(dict.fromkeys(use.path for use in self.uses))


KINDS: dict[str, ToolKind] = {
    "Read": ToolKind.READ,
    "LSP": ToolKind.READ,
    "Grep": ToolKind.SEARCH,
    "Glob": ToolKind.SEARCH,
    "Edit": ToolKind.EDIT,
    "MultiEdit": ToolKind.EDIT,
    "NotebookEdit": ToolKind.EDIT,
    "Write": ToolKind.EDIT,
    "Bash": ToolKind.SHELL,
    "Monitor": ToolKind.SHELL,
    "WebFetch": ToolKind.FETCH,
    "WebSearch": ToolKind.WEB_SEARCH,
    "AskUserQuestion": ToolKind.PERSON,
    "ExitPlanMode": ToolKind.PERSON,
    # Their effect stays inside the session; what a subagent does passes this gate by itself.
    "Agent": ToolKind.INTERNAL,
    "BashOutput": ToolKind.INTERNAL,
    "EndConversation": ToolKind.INTERNAL,
    "EnterPlanMode": ToolKind.INTERNAL,
    "ListMcpResourcesTool": ToolKind.INTERNAL,
    "TaskCreate": ToolKind.INTERNAL,
    "TaskGet": ToolKind.INTERNAL,
    "TaskList": ToolKind.INTERNAL,
    "TaskOutput": ToolKind.INTERNAL,
    "TaskStop": ToolKind.INTERNAL,
    "TaskUpdate": ToolKind.INTERNAL,
    "TodoWrite": ToolKind.INTERNAL,
    "WaitForMcpServers": ToolKind.INTERNAL,
    "ToolSearch": ToolKind.INTERNAL,
}
_PATH_FIELDS = ("file_path", "path", "notebook_path", "filePath")
_ACCESS = {ToolKind.READ: Access.READ, ToolKind.SEARCH: Access.READ}
_GLOB_START = re.compile(r"[*?\[{]")


def decode_input(call: ToolCall) -> dict[str, Any]:
    """The call's input as values. Raises `ValueError` for what two readers could understand in two ways."""
    value = json.loads(bytes(call.input), object_pairs_hook=_unique, parse_constant=_no_constant)
    if not isinstance(value, dict):
        raise ValueError("the input is no JSON object")  # noqa: TRY004  # a fault of the text, not of a Python type
    return value


def subject_of(call: ToolCall, definition: ToolDefinition, policy: Policy) -> Subject:
    """Read the call. Raises `ValueError` for an input that cannot be read one way only."""
    fields = decode_input(call)
    builtin = definition.origin is ToolOrigin.BUILTIN
    kind = KINDS.get(call.name, ToolKind.OTHER) if builtin else ToolKind.OTHER
    if call.name == "Monitor" and "command" not in fields:
        # A second look at a monitor that was allowed when it began; it runs nothing.
        kind = ToolKind.INTERNAL if builtin else kind
    if kind is ToolKind.SHELL:
        return _shell_subject(call.name, fields, policy)
    return Subject(call.name, kind, fields, tuple(_field_uses(call.name, kind, fields, policy)))


def shell_command(call: ToolCall, definition: ToolDefinition) -> str | None:
    """The command line that a call would run; `None` when it runs none."""
    if definition.origin is not ToolOrigin.BUILTIN or KINDS.get(call.name) is not ToolKind.SHELL:
        return None
    command = decode_input(call).get("command")
    return command if isinstance(command, str) else None


def extra_use(subject: Subject, path: ResolvedPath) -> PathUse:
    """A path that the tool says it would touch and that stands in no field known here."""
    return PathUse(path.path, _ACCESS.get(subject.kind, Access.WRITE))


def _field_uses(tool: str, kind: ToolKind, fields: dict[str, Any], policy: Policy) -> Iterator[PathUse]:
    if kind not in {ToolKind.READ, ToolKind.SEARCH, ToolKind.EDIT}:
        return
    access = _ACCESS.get(kind, Access.WRITE)
    given = [fields[name] for name in _PATH_FIELDS if isinstance(fields.get(name), str)]
    if kind is ToolKind.SEARCH:
        start = given[0] if given else "."
        given = given or ["."]
        pattern = fields.get("pattern")
        if tool == "Glob" and isinstance(pattern, str):
            # A file pattern can leave the directory it starts in.
            given.append(_joined(start, _glob_root(pattern)))
    for path in given:
        yield PathUse(absolute_path(path, cwd=policy.cwd, home=policy.home), access)


def _glob_root(pattern: str) -> str:
    """The highest folder that a file pattern can reach, as far as its text shows."""
    if re.search(r"[{,]\s*[/~]", pattern) or pattern.startswith("~"):
        return "/"
    if ".." in pattern and not pattern.startswith("/"):
        return "/".join([".."] * pattern.count(".."))
    fixed = _GLOB_START.split(pattern, maxsplit=1)[0]
    return fixed.rpartition("/")[0] or ("/" if fixed.startswith("/") else ".")


def _joined(start: str, path: str) -> str:
    return path if path.startswith("/") else f"{start.rstrip('/') or '/'}/{path}"


def _shell_subject(tool: str, fields: dict[str, Any], policy: Policy) -> Subject:
    command = fields.get("command")
    if not isinstance(command, str):
        # To look again at what runs already does nothing new; a call without either is refused by its tool.
        kind = ToolKind.INTERNAL if isinstance(fields.get("task_id"), str) else ToolKind.SHELL
        return Subject(tool, kind, fields, line=None if kind is ToolKind.INTERNAL else parse_shell(""))
    line = parse_shell(command)
    commands = reachable_commands(line)
    folders = _folders(commands, policy)
    uses = tuple(dict.fromkeys(_shell_uses(line, commands, folders, policy)))
    overfull = len(uses) > MAX_PATHS or len(folders) > MAX_FOLDERS
    return Subject(tool, ToolKind.SHELL, fields, uses[:MAX_PATHS], line, commands, folders[:MAX_FOLDERS], overfull)


def _folders(commands: tuple[tuple[Word, ...], ...], policy: Policy) -> tuple[str, ...]:
    """Each `cd` may follow any other, or be skipped."""
    found = [policy.cwd]
    for target in dict.fromkeys(
        words[1].text if len(words) > 1 else "~" for words in commands if words[0].text == "cd"
    ):
        found += [absolute_path(target, cwd=folder, home=policy.home) for folder in found]
        if len(found) > MAX_FOLDERS:
            break
    return tuple(dict.fromkeys(found))


def _shell_uses(
    line: ShellLine, commands: tuple[tuple[Word, ...], ...], folders: tuple[str, ...], policy: Policy
) -> Iterator[PathUse]:
    for text, access in _shell_words(line, commands):
        for folder in folders:
            yield PathUse(absolute_path(text, cwd=folder, home=policy.home), access)


def _shell_words(line: ShellLine, commands: tuple[tuple[Word, ...], ...]) -> Iterator[tuple[str, Access]]:
    for redirect in line.redirects:
        yield redirect.target.text, Access.WRITE if redirect.writes else Access.READ
    for part in line.parts:
        yield from ((text, Access.READ) for text in harmless_paths(part.words) or ())
        yield from ((text, Access.WRITE) for text in edited_paths(part.words) or ())
    for words in commands:
        name = words[0].text.rsplit("/", 1)[-1]
        access = Access.WRITE if writes_operands(words) else Access.READ if name in READERS else Access.MENTION
        yield from ((text, access) for text in path_words(words))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in the input")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
