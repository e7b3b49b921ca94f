"""EnterWorktree and ExitWorktree: a checkout of its own for the session's shell.

Decides where worktrees lie and when one may be removed. Runs git; touches no file by itself.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Literal

from msgspec import Struct

from compositor.context.tools.builtin import BUILTIN
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .bash import WorkingDirectory
from .environment import child_environment
from .process import Ending, run_process
from .results import Problem, done, failed, read_input

FOLDER = ".claude/worktrees"
GIT_SECONDS = 120.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class EnterInput(Struct, frozen=True, forbid_unknown_fields=True):
    name: str | None = None


class ExitInput(Struct, frozen=True, forbid_unknown_fields=True):
    action: Literal["keep", "remove"]
    discard_changes: bool = False


class Worktree(Struct, frozen=True):
    path: str
    branch: str
    start: str


class WorktreeState:
    """The worktree that this session is in, if any, and the shell's directory that follows it."""

    def __init__(self, directory: WorkingDirectory) -> None:
        self.directory = directory
        self.current: Worktree | None = None


class _WorktreeTool:
    def __init__(self, state: WorktreeState) -> None:
        self._state = state

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()


class EnterWorktreeTool(_WorktreeTool):
    definition: ToolDefinition = BUILTIN["EnterWorktree"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, EnterInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        name = wanted.name or f"work-{secrets.token_hex(4)}"
        if self._state.current is not None:
            return failed(call, f"The session is in the worktree {self._state.current.path} already. Leave it first.")
        if _NAME.fullmatch(name) is None or name.endswith(".lock") or ".." in name:
            return failed(call, f"{name!r} is no name for a worktree: letters, digits, '.', '_' and '-', up to 64.")
        tree = await make_worktree(scope, name)
        if isinstance(tree, Problem):
            return failed(call, tree.message)
        path, branch = tree.path, tree.branch
        note = self._state.directory.move(path, scope)
        self._state.current = tree
        text = (
            f"The worktree {path} is on the new branch {branch}. The shell is in it now; use absolute paths below it."
        )
        structured = {"worktreePath": path, "worktreeBranch": branch}
        return done(
            call, "\n".join(filter(None, (text, note))), display=f"EnterWorktree: {branch}", structured=structured
        )


class ExitWorktreeTool(_WorktreeTool):
    definition: ToolDefinition = BUILTIN["ExitWorktree"]

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, ExitInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        tree = self._state.current
        if tree is None:
            return failed(call, "This session is in no worktree that it made itself.")
        if wanted.action == "remove":
            refusal = None if wanted.discard_changes else await _unsaved(tree, scope)
            problem = refusal or await _remove(tree, scope)
            if problem:
                return failed(call, problem)
        self._state.directory.move(scope.cwd, scope)
        self._state.current = None
        what = "was removed with its branch" if wanted.action == "remove" else f"stays, on the branch {tree.branch}"
        text = f"The worktree {tree.path} {what}. The shell is in {scope.cwd} again."
        return done(call, text, display=f"ExitWorktree: {wanted.action}", structured={"worktreePath": tree.path})


async def make_worktree(scope: ToolScope, name: str) -> Worktree | Problem:
    """A checkout of its own on a branch of its own, or why there is none."""
    root, problem = await git(scope, scope.cwd, "rev-parse", "--show-toplevel")
    if problem:
        return Problem(f"{scope.cwd} is in no git repository: {problem}")
    path, branch = str(Path(root, FOLDER, name)), f"worktree-{name}"
    start, problem = await git(scope, root, "rev-parse", "HEAD")
    if not problem:
        _, problem = await git(scope, root, "worktree", "add", "-b", branch, path)
    return Problem(f"The worktree could not be made: {problem}") if problem else Worktree(path, branch, start)


async def leave_worktree(scope: ToolScope, tree: Worktree) -> str:
    """Remove a worktree that holds nothing of its own; the sentence that says where it stays otherwise."""
    if await _unsaved(tree, scope) is None and await _remove(tree, scope) is None:
        return ""
    return f"[Its work is in the worktree {tree.path}, on the branch {tree.branch}.]"


async def _unsaved(tree: Worktree, scope: ToolScope) -> str | None:
    changes, problem = await git(scope, tree.path, "status", "--porcelain")
    commits, other = await git(scope, tree.path, "rev-list", f"{tree.start}..HEAD")
    if problem or other:
        return f"The state of the worktree is not known: {problem or other}"
    if changes or commits:
        return (
            f"The worktree has {len(changes.splitlines())} changed files and {len(commits.splitlines())} commits of its own. "
            "Ask the person; then keep it, or set discard_changes."
        )
    return None


async def _remove(tree: Worktree, scope: ToolScope) -> str | None:
    _, problem = await git(scope, scope.cwd, "worktree", "remove", "--force", tree.path)
    if not problem:
        _, problem = await git(scope, scope.cwd, "branch", "-D", tree.branch)
    return f"The worktree could not be removed: {problem}" if problem else None


async def git(scope: ToolScope, cwd: str, *words: str) -> tuple[str, str | None]:
    """What git prints, and why it failed."""
    output, errors = bytearray(), bytearray()

    def take(data: bytes) -> bool:
        output.extend(data)
        return True

    def complain(data: bytes) -> bool:
        errors.extend(data)
        return True

    try:
        end = await run_process(
            ("git", *words),
            cwd=cwd,
            env=child_environment(scope.env),
            seconds=GIT_SECONDS,
            output=take,
            errors=complain,
        )
    except OSError as error:
        return "", error.strerror or str(error)
    if end.ending is not Ending.EXITED or end.code != 0:
        return "", errors.decode("utf-8", "replace").strip() or f"git ended with {end.code}"
    return output.decode("utf-8", "replace").strip(), None
