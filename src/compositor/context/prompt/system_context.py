"""System context: where the session stands, as `key: value` lines at the tail of the system prompt (R099, R100, R110).

Decides which entries there are and how they read. The state of version control is a point in time and says so. Never asks git.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


class PerforceStatus(Struct, frozen=True, kw_only=True):
    """A Perforce workspace at one moment. `opened` are lines of `p4 opened`, `client` and `stream` empty where unknown."""

    client: str = ""
    stream: str = ""
    opened: tuple[str, ...] = ()


class Outline(Struct, frozen=True, kw_only=True):
    """The top-level entries of the working directory, folders with a slash behind them. `more` counts those beyond the limit (R418)."""

    names: tuple[str, ...]
    more: int = 0


OUTLINE_LIMIT = 200
"""Names of an outline (R418)."""


def make_outline(names: Iterable[str]) -> Outline:
    """The outline of these names, whatever order they come in."""
    ordered = sorted(set(names))
    return Outline(names=tuple(ordered[:OUTLINE_LIMIT]), more=max(len(ordered) - OUTLINE_LIMIT, 0))


def plan_system_context(
    git: GitStatus | None, captured: str, perforce: PerforceStatus | None = None, outline: Outline | None = None
) -> tuple[ContextEntry, ...]:
    """The entries of a session. `captured` is the date, since anything finer costs shared prefixes (F15)."""
    entries: list[ContextEntry] = []
    if outline is not None and outline.names:
        entries.append(_entry("directory", _outline_text(outline, captured), "an outline is asked for"))
    if git is not None:
        entries.append(_entry("git_status", _git_text(git, captured), "the working directory is in a git repository"))
    if perforce is not None:
        entries.append(_entry("perforce_status", _perforce_text(perforce, captured), "version control is Perforce"))
    return tuple(entries)


def render_system_context(entries: Sequence[ContextEntry]) -> tuple[Fragment, ...]:
    """The fragments of the lines, without separators before the first or after the last."""
    fragments: list[Fragment] = []
    for number, entry in enumerate(entries):
        label = f"{entry.key}: " if number == 0 else f"\n{entry.key}: "
        origin = entry.fragments[0].origin
        fragments.append(Fragment(label, origin))
        fragments.extend(entry.fragments)
    return in_lane(fragments, Lane.SYSTEM)


def _entry(key: str, text: str, gate: str) -> ContextEntry:
    return ContextEntry(key=key, fragments=(context_fragment(text, key, Lane.SYSTEM, gate),))


def _outline_text(outline: Outline, captured: str) -> str:
    names = [_cut(one_line(name)) for name in outline.names]
    if outline.more:
        names.append(f"... and {outline.more} more (cut at {OUTLINE_LIMIT} names)")
    return "\n".join(
        (f"What lies in the working directory, as it was at the start of this session ({captured}):", *names)
    )


def _perforce_text(status: PerforceStatus, captured: str) -> str:
    parts = [
        f"The Perforce workspace as it was at the start of this session ({captured}); it is not brought up to date.",
        "Files are read-only until they are opened: run `p4 edit FILE` before a change, `p4 add FILE` for a new one.",
    ]
    if status.client:
        parts.append(
            f"Client: {one_line(status.client)}" + (f", stream {one_line(status.stream)}" if status.stream else "")
        )
    opened = _status_text(status.opened, "run `p4 opened`") if status.opened else "none"
    parts.append(f"Opened files:\n{opened}")
    return "\n\n".join(parts)


def _git_text(git: GitStatus, captured: str) -> str:
    parts = [
        f"The repository as it was at the start of this session ({captured}); it is not brought up to date.",
        f"Current branch: {one_line(git.branch)}" if git.branch else f"Detached at commit {one_line(git.head)}",
    ]
    if git.main_branch:
        parts.append(f"Main branch: {one_line(git.main_branch)} (usually the base of a pull request)")
    status = _status_text(git.status, "run `git status`")
    parts.append(f"Status:\n{status}")
    if git.commits:
        commits = "\n".join(_cut(one_line(commit)) for commit in git.commits)
        parts.append(f"Recent commits:\n{commits}")
    return "\n\n".join(parts)


def _status_text(lines: Sequence[str], more: str) -> str:
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
        shown.append(f"... and {left} more (cut at {STATUS_LIMIT:,} characters; {more} for the whole list)")
    return "\n".join(shown) or "(clean)"


def _cut(line: str) -> str:
    return line if len(line) <= SUBJECT_LIMIT else f"{line[:SUBJECT_LIMIT]}... (cut)"
