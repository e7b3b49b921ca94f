"""`compositor sessions`: the stored sessions of a project, newest first, and the commands that work on one.

Decides how the list reads and where each sub-command lives. Opens no session and changes none.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from compositor.adapters.home import find_home
from compositor.adapters.sessions.index import SessionInfo, list_sessions
from compositor.cli.options import project_folder

# Sub-command -> (its module below compositor.cli, what it does). The order is that of the help text.
PARTS: dict[str, tuple[str, str]] = {
    "show": ("session_show", "Show what a session holds: its path, branches and requests."),
    "check": ("session_check", "Check a session: damaged lines, links, stored heads, the bytes that were sent."),
    "fork": ("session_change", "Begin a new session as a copy of one."),
    "rewind": ("session_change", "Go back in a session; what is left behind stays as a branch."),
    "export": ("session_export", "Write a session out: its records, messages or a readable page."),
    "gc": ("session_gc", "Remove stored heads and contents that nothing refers to."),
}


class LazyParts(click.Group):
    """The sub-commands, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PARTS:
            return None
        part: click.Command = getattr(importlib.import_module(f"compositor.cli.{PARTS[cmd_name][0]}"), cmd_name)
        return part

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in PARTS.items()])


@click.group(name="sessions", cls=LazyParts, invoke_without_command=True)
@click.option("--all", "every_project", is_flag=True, help="Sessions of all projects, not of this one alone.")
@click.option("--json", "as_json", is_flag=True, help="One JSON array instead of a table.")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="The project directory; the current one by default.",
)
@click.pass_context
def command(context: click.Context, every_project: bool, as_json: bool, project: Path | None) -> None:  # noqa: FBT001
    """List stored sessions, newest first, or work on one of them."""
    if context.invoked_subcommand is not None:
        return
    home = find_home(os.environ)
    cwd = project_folder(project)
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
    # What is short is never cut: only projects and prompts give way on a narrow terminal.
    table.add_column("session", no_wrap=True, min_width=8)
    table.add_column("last used (UTC)", no_wrap=True, min_width=16)
    table.add_column("turns", justify="right", no_wrap=True, min_width=5)
    table.add_column("size", justify="right", no_wrap=True, min_width=8)
    if every_project:
        table.add_column("project", overflow="fold")
    table.add_column("first prompt", overflow="ellipsis", no_wrap=True)
    for info in found:
        cells = [
            short_id(info.session_id, found),
            readable_time(info.updated),
            "" if info.turns is None else str(info.turns),
        ]
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


def short_id(session_id: str, found: Sequence[SessionInfo]) -> str:
    """The beginning of an id, as long as it takes to tell it from the others of the list; commands take it for the whole."""
    others = [info.session_id for info in found if info.session_id != session_id]
    lengths = range(8, len(session_id))
    return next(
        (
            session_id[:length]
            for length in lengths
            if not any(other.startswith(session_id[:length]) for other in others)
        ),
        session_id,
    )


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
