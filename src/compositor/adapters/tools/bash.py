"""Bash: one command in a shell of its own.

Decides time limits, the working directory of the next command, and what an exit code means. Never decides whether a command may
run: that is the gate.
"""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from anyio import to_thread
from msgspec import Struct

from compositor.adapters.files import is_directory
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .background import DEFAULT_SECONDS, MAX_SECONDS, Background, BackgroundTask
from .environment import child_environment
from .output import Captured, OutputCapture
from .process import CommandRunner, Ending, ProcessEnd, run_child
from .results import Problem, done, failed, read_input

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
# The kernel takes at most 128 KiB in one argument.
MAX_COMMAND_BYTES = 100_000

_SHELL = ("/bin/bash", "--noprofile", "--norc", "-c")

# Programs whose exit code 1 is an answer, with the answer (project-conventions 9.3).
_ANSWERS = {
    "grep": "no match",
    "egrep": "no match",
    "fgrep": "no match",
    "zgrep": "no match",
    "rg": "no match",
    "git grep": "no match",
    "find": "some folders could not be searched",
    "diff": "the files differ",
    "cmp": "the files differ",
    "git diff": "there are differences",
    "test": "the condition is false",
    "[": "the condition is false",
}


class BashInput(Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    timeout: int | None = None
    description: str = ""
    run_in_background: bool = False


class WorkingDirectory:
    """Where the next command of the session starts: it follows `cd`, but only inside the roots."""

    def __init__(self) -> None:
        self._current: str | None = None

    def at(self, scope: ToolScope) -> str:
        """The directory for a command in `scope`: the one carried over while it is there and in scope, else `scope.cwd`."""
        current = self._current
        return current if current is not None and is_directory(current) and _is_inside(current, scope) else scope.cwd

    def move(self, to: str, scope: ToolScope) -> str | None:
        """Carry `to` over. Returns a note for the model when it is outside the scope and the directory was reset instead."""
        if _is_inside(to, scope):
            self._current = os.path.realpath(to)
            return None
        self._current = None
        return f"[The working directory was reset to {scope.cwd}: {to} is outside the project.]"


class BashTool:
    definition: ToolDefinition = BUILTIN["Bash"]

    def __init__(
        self, directory: WorkingDirectory, background: Background | None = None, run: CommandRunner = run_child
    ) -> None:
        self._directory = directory
        self._run = run
        self._background = Background() if background is None else background

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, BashInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        refusal = _refusal(wanted)
        if refusal is not None:
            return failed(call, refusal)
        cwd = self._directory.at(scope)
        if wanted.run_in_background:
            return await to_thread.run_sync(self._start, call, wanted, cwd, scope)
        seconds = _milliseconds(wanted) / 1000
        capture = OutputCapture(scope.output_dir, f"bash-{call.id}")
        try:
            with _directory_note(scope.output_dir) as note:
                end = await self._run(
                    call.id,
                    scope.confine(
                        wanted.command,
                        (*_SHELL, f"trap 'builtin pwd -P >| {_double_quoted(str(note))}' EXIT; {wanted.command}"),
                        cwd,
                    ),
                    cwd=cwd,
                    env=child_environment(scope.env),
                    seconds=seconds,
                    output=capture.write,
                )
                moved = _read_note(note)
            captured = capture.finish()
        except OSError as error:
            return failed(call, f"The command could not be run in {cwd!r}: {error.strerror or error}.")
        finally:
            capture.close()
        reset = self._directory.move(moved, scope) if moved else None
        return _answer(call, wanted, end, captured, reset)

    def _start(self, call: ToolCall, wanted: BashInput, cwd: str, scope: ToolScope) -> ToolOutcome:
        seconds = DEFAULT_SECONDS if wanted.timeout is None else wanted.timeout / 1000
        task = start_background(self._background, wanted.command, cwd, scope, seconds)
        if isinstance(task, Problem):
            return failed(call, task.message)
        text = (
            f"The command runs in the background as {task.id} in {cwd}. BashOutput shows what it writes, TaskStop ends it; all "
            f"of its output goes to {task.path}."
        )
        structured = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": task.id}
        return done(call, text, display=f"{display_call(call)}: in the background", structured=structured)


def start_background(
    background: Background, command: str, cwd: str, scope: ToolScope, seconds: float = DEFAULT_SECONDS
) -> BackgroundTask | Problem:
    """Start a command that goes on by itself."""
    try:
        task = background.start(
            scope.confine(command, (*_SHELL, command), cwd),
            command,
            cwd=cwd,
            env=child_environment(scope.env),
            folder=scope.output_dir,
            seconds=min(seconds, MAX_SECONDS),
        )
    except (OSError, ValueError) as error:
        return Problem(f"The command could not be run in {cwd!r}: {error}.")
    return Problem(task) if isinstance(task, str) else task


def exit_meaning(command: str, code: int) -> str | None:
    """What exit code 1 says when it is an answer and no failure; `None` otherwise. Only words a result, decides no permission.

    Of several lines the last one counts.
    """
    if code != 1:
        return None
    try:
        lexer = shlex.shlex(command.rstrip().rpartition("\n")[2], posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return None
    ends = [index for index, word in enumerate(words) if word and set(word) <= set("|&;()")]
    last = words[ends[-1] + 1 :] if ends else words
    program = PurePosixPath(last[0]).name if last else ""
    return _ANSWERS.get(" ".join((program, *last[1:2])) if program == "git" else program)


def _refusal(wanted: BashInput) -> str | None:
    if "\0" in wanted.command:
        return "The command holds a NUL character, which no shell takes."
    size = len(wanted.command.encode())
    if size > MAX_COMMAND_BYTES:
        return (
            f"The command is {size:,} bytes long, the limit is {MAX_COMMAND_BYTES:,}. Write it to a file and run that."
        )
    longest = round(MAX_SECONDS * 1000) if wanted.run_in_background else MAX_TIMEOUT_MS
    if not 0 < _milliseconds(wanted) <= longest:
        return f"The timeout must be between 1 and {longest} ms, not {wanted.timeout}."
    return None


def _milliseconds(wanted: BashInput) -> int:
    return DEFAULT_TIMEOUT_MS if wanted.timeout is None else wanted.timeout


def _answer(call: ToolCall, wanted: BashInput, end: ProcessEnd, captured: Captured, reset: str | None) -> ToolOutcome:
    meaning = exit_meaning(wanted.command, end.code) if end.code is not None else None
    verdict = _verdict(wanted, end, meaning)
    notes = [verdict] if verdict else []
    if end.left_running and end.ending is Ending.EXITED:
        notes.append("[Processes that the command left running were ended.]")
    if reset:
        notes.append(reset)
    output = captured.text.rstrip("\n")
    content = "\n".join((*([output] if output else []), *notes)) or "(no output)"
    structured: dict[str, Any] = {
        "stdout": captured.text,
        "stderr": "",
        "interrupted": end.ending is not Ending.EXITED,
        "exitCode": end.code,
    }
    if end.ending is Ending.TIMED_OUT:
        structured["timedOutAfterMs"] = _milliseconds(wanted)
    if meaning:
        structured["returnCodeInterpretation"] = meaning
    if captured.path:
        structured["persistedOutputPath"] = captured.path
        structured["persistedOutputSize"] = captured.size
    display = (
        f"{display_call(call)}: {verdict.strip('[].') if verdict else counted(captured.size, 'byte') + ' of output'}"
    )
    if end.ending is Ending.EXITED and (end.code == 0 or meaning):
        return done(call, content, display=display, structured=structured)
    return failed(call, content, display=display, structured=structured)


def _verdict(wanted: BashInput, end: ProcessEnd, meaning: str | None) -> str | None:
    if end.ending is Ending.TIMED_OUT:
        return f"[The command was killed: it ran longer than {_milliseconds(wanted) / 1000:g} s.]"
    if end.ending is Ending.STOPPED:
        return "[The command was killed: it wrote too much output.]"
    if meaning:
        return f"[Exit code 1: {meaning}.]"
    if end.code is not None and end.code < 0:
        return f"[The shell was killed by signal {-end.code}.]"
    return f"[Exit code {end.code}.]" if end.code else None


def _is_inside(path: str, scope: ToolScope) -> bool:
    # Resolved, because a command could have named a way out of a root.
    return any(PurePosixPath(os.path.realpath(path)).is_relative_to(root) for root in scope.roots)


@contextmanager
def _directory_note(folder: str) -> Iterator[Path]:
    """A file into which the shell writes its last directory."""
    Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    path = Path(folder, f".directory-{secrets.token_hex(8)}")
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()


def _read_note(path: Path) -> str | None:
    try:
        return os.fsdecode(path.read_bytes().removesuffix(b"\n")) or None
    except OSError:
        return None


def _double_quoted(path: str) -> str:
    """`path` for use between double quotes inside a single-quoted word."""
    escaped = "".join(f"\\{char}" if char in '\\"$`' else char for char in path)
    return '"' + escaped.replace("'", "'\\''") + '"'
