"""`compositor sessions fork` and `rewind`: go on from elsewhere, with nothing of the history lost.

Decides the words of both commands. What they do is `adapters/sessions/changing.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import click

from compositor._version import __version__
from compositor.adapters.checkpoints import Change, FileHistory
from compositor.adapters.clock import clock_from
from compositor.adapters.home import find_home
from compositor.adapters.ids import UuidSource
from compositor.adapters.sessions.changing import fork_session, prompts_since, rewind_session
from compositor.adapters.sessions.reading import find_session, read_outline
from compositor.cli.options import project_folder
from compositor.context.transcript.codec import SessionHeader
from compositor.errors import UsageError


@click.command(name="fork")
@click.argument("session")
@click.option("--at", metavar="ENTRY", default=None, help="Go on from this entry instead of the newest message.")
@click.option("--project", type=click.Path(exists=True, file_okay=False), default=None, help="The project directory.")
def fork(session: str, at: str | None, project: str | None) -> None:
    """Begin a new session as a copy of SESSION, which is not changed; prints the new id."""
    copy = fork_stored(session, cwd=project_folder(project), at=at)
    click.echo(copy)
    click.echo(f"Go on with it: compositor run --resume {copy[:8]}", err=True)


def fork_stored(session: str, *, cwd: str, at: str | None = None, wanted: str | None = None) -> str:
    """Copy a stored session; the id of the copy, which is `wanted` where one is."""
    home = find_home(os.environ)
    source = find_session(home, session, cwd=cwd)
    origin = read_outline(source).header
    header = SessionHeader(
        session_id=wanted or UuidSource().new(),
        time=clock_from(dict(os.environ)).now(),
        cwd=origin.cwd if origin is not None else cwd,
        program=f"compositor/{__version__}",
        forked_from=source.stem,
    )
    fork_session(home, source, header, at=at)
    return header.session_id


@click.command(name="rewind")
@click.argument("session")
@click.option("--to", "entry", metavar="ENTRY", default=None, help="The entry to go back to, on whichever branch.")
@click.option("--undo", is_flag=True, help="Take the last turn back.")
@click.option(
    "--restore",
    type=click.Choice(["conversation", "files", "both"]),
    default="conversation",
    show_default=True,
    help="What goes back: the conversation, the files that tools changed since, or both.",
)
@click.option("--preview", is_flag=True, help="Only show which files would change.")
@click.option("--project", type=click.Path(exists=True, file_okay=False), default=None, help="The project directory.")
def rewind(*, session: str, entry: str | None, undo: bool, restore: str, preview: bool, project: str | None) -> None:
    """Let SESSION go on from an earlier entry; all that came after it stays as a branch.

    Files come back as they were before the file tools of the session changed them; what they hold now is kept.
    """
    if undo == (entry is not None):
        raise UsageError(
            "a rewind needs either '--to' or '--undo'", hint="'compositor sessions show' lists the entries"
        )
    home = find_home(os.environ)
    source = find_session(home, session, cwd=project_folder(project))
    with_files = preview or restore != "conversation"
    points = prompts_since(source, entry) if with_files else ()
    if not preview and restore != "files":
        event = rewind_session(home, source, to=entry)
        where = "its beginning" if event.entry is None else f"entry {event.entry}"
        click.echo(f"Session {source.stem} goes on from {where}.")
    if with_files:
        history = FileHistory(home, source.stem, clock_from(dict(os.environ)))
        for line in change_lines(history.changes(points) if preview else history.restore(points)):
            click.echo(line)


def change_lines(changes: Sequence[Change]) -> Iterator[str]:
    """One line a file that goes back, or does not."""
    for change in changes:
        yield f"{change.what:8} {change.path}{f': {change.reason}' if change.reason else ''}"
    if not changes:
        yield "No file was changed by a tool since then."
