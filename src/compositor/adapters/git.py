"""Asks git about the working directory: the state at the start of a session, and which checkout this is.

Performs child processes and reports what they said. A repository is a stranger's: nothing that its configuration names is executed, no
lock is taken, nothing is fetched, and no call outlives its time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from compositor.context.memory.one_line import one_line
from compositor.context.prompt.system_context import GitStatus
from compositor.types.diagnostics import Diagnostic, Severity

TIMEOUT = 5.0
"""Seconds for all calls of git together."""
COMMITS = 5


class GitFacts(Struct, frozen=True, kw_only=True):
    """What git said: where it said nothing there is `None`, with the reason in `diagnostics`.

    `root` is the top of this checkout; `main_checkout` the first checkout, for a linked worktree only.
    """

    root: str | None = None
    main_checkout: str | None = None
    status: GitStatus | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class _GitError(Exception):
    """One call gave no answer; the text says why."""


# Each of these lets a repository's own configuration start a program, or git ask somebody something.
_SAFE_CONFIG = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.askPass", ""),
    ("core.quotePath", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("status.submoduleSummary", "false"),
    ("status.relativePaths", "false"),
    ("color.ui", "false"),
    ("column.ui", "never"),
)
_SAFE_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
# Variables of git that a person sets for all repositories; every other GIT_ variable points at one of its own.
_KEPT = ("GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES")


def read_git(
    cwd: str,
    environ: Mapping[str, str],
    timeout: float = TIMEOUT,
    *,
    placed: Callable[[GitFacts], None] = lambda _facts: None,
) -> GitFacts:
    """Everything about `cwd` that a session asks once. Never raises: what is missing has a diagnostic (law 6).

    `placed` hears which checkout this is as soon as that is known; the state takes longer.
    """
    git = _Git(cwd, environ, timeout)
    root = main = None
    try:
        root = git.line("rev-parse", "--show-toplevel")
        git_dir, common_dir = git.line("rev-parse", "--absolute-git-dir"), git.line("rev-parse", "--git-common-dir")
        if Path(cwd, common_dir).resolve() != Path(git_dir).resolve():
            main = _main_checkout(git, root)
        placed(GitFacts(root=root, main_checkout=main))
        git.disarm_filters()
        return GitFacts(root=root, main_checkout=main, status=_read_status(git))
    except _GitError as problem:
        severity = Severity.INFO if "not a git repository" in str(problem) else Severity.WARNING
        message = f"There is no state of version control: {problem}."
        diagnostic = Diagnostic("git.absent", message, one_line(cwd), severity, "git")
        return GitFacts(root=root, main_checkout=main, diagnostics=(diagnostic,))


def list_files(cwd: str, environ: Mapping[str, str], timeout: float = 6 * TIMEOUT) -> tuple[str, ...] | None:
    """What git does not ignore below `cwd`, relative and sorted; `None` where git gives no answer.

    A submodule and a repository inside this one are one name each, with or without a slash at its end.
    """
    try:
        text = _Git(cwd, environ, timeout).text("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except _GitError:
        return None
    return tuple(sorted({name for name in text.split("\0") if name}))


class _Git:
    """One repository, asked under safe settings."""

    def __init__(self, cwd: str, environ: Mapping[str, str], timeout: float) -> None:
        self._cwd = cwd
        self._deadline = time.monotonic() + timeout
        self._config = list(_SAFE_CONFIG)
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
        self._environ = {**kept, **_SAFE_ENVIRONMENT}

    def disarm_filters(self) -> None:
        """Switch off the content filters that this repository defines: `status` would run them on changed files."""
        entries = self.text(
            "config", "--show-scope", "--null", "--name-only", "--get-regexp", r"^filter\.", codes=(0, 1)
        ).split("\0")
        for scope, name in zip(entries[::2], entries[1::2], strict=False):
            if scope in {"local", "worktree"}:
                self._config.append((name, "false" if name.endswith(".required") else ""))

    def lines(self, *arguments: str) -> list[str]:
        return [line for line in self.text(*arguments).split("\n") if line]

    def line(self, *arguments: str) -> str:
        return self.text(*arguments).removesuffix("\n")

    def text(self, *arguments: str, codes: Sequence[int] = (0,)) -> str:
        """Standard output of one call. Raises `_GitError` when there is no git, no answer in time, or an exit code not in `codes`."""
        config = [part for name, value in self._config for part in ("-c", f"{name}={value}")]
        command = ["git", "--no-pager", *config, *arguments]
        try:
            process = subprocess.Popen(  # noqa: S603 - every argument is ours, but for names of filters behind a `-c`
                command,
                cwd=self._cwd,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise _GitError("git is not installed, or the folder is gone") from None
        except OSError as problem:
            raise _GitError(f"git cannot be started: {problem.strerror}") from None
        with process:
            try:
                output, errors = process.communicate(timeout=max(self._deadline - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                # The whole group: a filter of the user's own may be what takes so long.
                os.killpg(process.pid, signal.SIGKILL)
                raise _GitError(f"'git {arguments[0]}' took too long") from None
        if process.returncode not in codes:
            reason = errors.decode("utf-8", "replace").strip().split("\n", 1)[0].removeprefix("fatal: ")
            raise _GitError(reason.rstrip(".") or f"'git {arguments[0]}' ended with code {process.returncode}")
        return output.decode("utf-8", "surrogateescape")


def _read_status(git: _Git) -> GitStatus:
    branch = git.text("symbolic-ref", "--quiet", "--short", "HEAD", codes=(0, 1)).strip()
    head = git.text("rev-parse", "--quiet", "--verify", "--short", "HEAD", codes=(0, 1)).strip()
    status = git.text(
        "status", "--porcelain=v1", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames"
    )
    commits = (
        git.lines("log", f"--max-count={COMMITS}", "--no-show-signature", "--no-color", "--format=%h %s")
        if head
        else []
    )
    return GitStatus(
        branch=branch,
        main_branch=_main_branch(git),
        head=head,
        status=tuple(line for line in status.split("\n") if line),
        commits=tuple(commits),
    )


def _main_branch(git: _Git) -> str:
    """The branch that the remote calls its own, else `main` or `master` where there is one."""
    names = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
    found = dict(
        line.partition(" ")[::2] for line in git.lines("for-each-ref", "--format=%(refname) %(symref)", *names)
    )
    remote = found.get(names[0], "")
    if remote:
        return remote.removeprefix("refs/remotes/origin/")
    return next((name.removeprefix("refs/heads/") for name in names[1:] if name in found), "")


def _main_checkout(git: _Git, top: str) -> str | None:
    """The first checkout of the repository; `None` when it is bare or is this one."""
    first = git.text("worktree", "list", "--porcelain").split("\n\n", 1)[0].split("\n")
    path = first[0].removeprefix("worktree ")
    return None if "bare" in first or path == top else path
