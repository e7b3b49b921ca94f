"""`compositor sessions`: the stored sessions of a project, newest first.

Decides how the list reads. Opens no session and changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from compositor.adapters.home import find_home
from compositor.adapters.sessions.index import SessionInfo, list_sessions


@click.command(name="sessions")
@click.option("--all", "every_project", is_flag=True, help="Sessions of all projects, not of this one alone.")
@click.option("--json", "as_json", is_flag=True, help="One JSON array instead of a table.")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="The project directory; the current one by default.",
)
def command(every_project: bool, as_json: bool, project: Path | None) -> None:  # noqa: FBT001
    """List stored sessions, newest first."""
    home = find_home(os.environ)
    cwd = os.path.realpath(project or Path.cwd())
    found = list_sessions(home, cwd=None if every_project else cwd)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
    elif found:
        _print_table(found, home, every_project=every_project)
    else:
        _explain_empty(home, cwd, every_project=every_project)


def _print_table(found: Sequence[SessionInfo], home: Path, *, every_project: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("session", no_wrap=True)
    table.add_column("last used (UTC)", no_wrap=True)
    table.add_column("turns", justify="right", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    if every_project:
        table.add_column("project", overflow="fold")
    table.add_column("first prompt", overflow="ellipsis", no_wrap=True)
    for info in found:
        cells = [info.session_id, readable_time(info.updated), "" if info.turns is None else str(info.turns)]
        cells += [readable_size(info.size), *([info.project] if every_project else []), info.prompt or ""]
        # Text, not markup: a prompt may hold square brackets.
        table.add_row(*map(Text, cells))
    console = Console()
    console.print(table)
    console.print(Text(f"\nFiles: {home / 'sessions'}   Go on with one: compositor run --resume ID"), soft_wrap=True)


def _explain_empty(home: Path, cwd: str, *, every_project: bool) -> None:
    if every_project:
        click.echo(f"There are no sessions yet. 'compositor run' begins one; it is kept below {home / 'sessions'}.")
        return
    elsewhere = len(list_sessions(home))
    others = f" Other projects have {elsewhere}: --all lists them." if elsewhere else ""
    click.echo(f"There are no sessions for {cwd} yet. 'compositor run' begins one.{others}")


def readable_time(time: str) -> str:
    """`2026-01-31T12:34:56.789Z` as `2026-01-31 12:34`."""
    return time[:16].replace("T", " ")


def readable_size(size: int) -> str:
    """Bytes in the unit that reads best, of 1,000 each: `312 B`, `4.1 kB`, `2.7 MB`."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.1f} kB"
    return f"{size / 1_000_000:.1f} MB"
