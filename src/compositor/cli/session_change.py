"""`compositor sessions fork` and `rewind`: go on from elsewhere, with nothing of the history lost.

Decides the words of both commands. What they do is `adapters/sessions/changing.py`.
"""

from __future__ import annotations

import os

import click

from compositor._version import __version__
from compositor.adapters.clock import clock_from
from compositor.adapters.home import find_home
from compositor.adapters.ids import UuidSource
from compositor.adapters.sessions.changing import fork_session, rewind_session
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
@click.option("--project", type=click.Path(exists=True, file_okay=False), default=None, help="The project directory.")
def rewind(session: str, entry: str | None, undo: bool, project: str | None) -> None:  # noqa: FBT001
    """Let SESSION go on from an earlier entry; all that came after it stays as a branch."""
    if undo == (entry is not None):
        raise UsageError(
            "a rewind needs either '--to' or '--undo'", hint="'compositor sessions show' lists the entries"
        )
    home = find_home(os.environ)
    source = find_session(home, session, cwd=project_folder(project))
    event = rewind_session(home, source, to=entry)
    where = "its beginning" if event.entry is None else f"entry {event.entry}"
    click.echo(f"Session {source.stem} goes on from {where}.")
