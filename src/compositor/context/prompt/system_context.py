"""System context: where the session stands, as `key: value` lines at the tail of the system prompt (R099, R100, R110).

Decides which entries there are and how they read. The state of version control is a point in time and says so. Never asks git.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from compositor.context.memory.one_line import one_line
from compositor.types.provenance import Fragment, Lane

from .entries import ContextEntry, context_fragment, in_lane

STATUS_LIMIT = 2_000
"""Characters of the file list."""
SUBJECT_LIMIT = 200
"""Characters of one commit line."""


class GitStatus(Struct, frozen=True, kw_only=True):
    """A repository at one moment. `branch` is empty on a detached head, `main_branch` where none can be told.

    `status` are the lines of `git status --porcelain`, `commits` lines of abbreviated hash and subject, newest first.
    """

    branch: str
    main_branch: str = ""
    head: str = ""
    status: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


def plan_system_context(git: GitStatus | None, captured: str) -> tuple[ContextEntry, ...]:
    """The entries of a session; none outside a repository. `captured` is the date, since anything finer costs shared prefixes (F15)."""
    if git is None:
        return ()
    gate = "the working directory is in a git repository"
    return (
        ContextEntry(
            key="git_status",
            fragments=(context_fragment(_git_text(git, captured), "git_status", Lane.SYSTEM, gate),),
        ),
    )


def render_system_context(entries: Sequence[ContextEntry]) -> tuple[Fragment, ...]:
    """The fragments of the lines, without separators before the first or after the last."""
    fragments: list[Fragment] = []
    for number, entry in enumerate(entries):
        label = f"{entry.key}: " if number == 0 else f"\n{entry.key}: "
        origin = entry.fragments[0].origin
        fragments.append(Fragment(label, origin))
        fragments.extend(entry.fragments)
    return in_lane(fragments, Lane.SYSTEM)


def _git_text(git: GitStatus, captured: str) -> str:
    parts = [
        f"The repository as it was at the start of this session ({captured}); it is not brought up to date.",
        f"Current branch: {one_line(git.branch)}" if git.branch else f"Detached at commit {one_line(git.head)}",
    ]
    if git.main_branch:
        parts.append(f"Main branch: {one_line(git.main_branch)} (usually the base of a pull request)")
    parts.append(f"Status:\n{_status_text(git.status)}")
    if git.commits:
        commits = "\n".join(_cut(one_line(commit)) for commit in git.commits)
        parts.append(f"Recent commits:\n{commits}")
    return "\n\n".join(parts)


def _status_text(lines: Sequence[str]) -> str:
    """The lines that fit, whole, and how many do not."""
    shown: list[str] = []
    room = STATUS_LIMIT
    for line in map(one_line, lines):
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    if left:
        shown.append(f"... and {left} more (cut at {STATUS_LIMIT:,} characters; run `git status` for the whole list)")
    return "\n".join(shown) or "(clean)"


def _cut(line: str) -> str:
    return line if len(line) <= SUBJECT_LIMIT else f"{line[:SUBJECT_LIMIT]}... (cut)"
