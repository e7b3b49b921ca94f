"""How `compositor skills`, `commands` and `agents` read: what counts, what does not and why.

Decides the form of the report. Looks at files; runs nothing and sends nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from compositor.cli.terminal import fitted

if TYPE_CHECKING:
    from compositor.adapters.extension_desk import ExtensionDesk
    from compositor.context.extensions.catalog import Row

Command = TypeVar("Command", bound=Callable[..., Any])
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

_OPTIONS = (
    click.option("--json", "as_json", is_flag=True, help="One JSON object with a row for every file that was found."),
    click.option("--project", metavar="DIR", type=_FOLDER, help="The project directory; the current one by default."),
    click.option("--settings", metavar="FILE|JSON", help="More settings, from a file or inline."),
    click.option("--setting-sources", metavar="LEVELS", help="Whose files are read, as in user,project."),
)


def extension_options(command: Command) -> Command:
    """The flags that the three commands share."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def desk_from(values: dict[str, Any]) -> ExtensionDesk:
    """The desk for the project and the settings of the command line."""
    from compositor.adapters.extension_desk import ExtensionDesk
    from compositor.cli.options import flags_from

    cwd = os.path.realpath(values["project"] or Path.cwd())
    return ExtensionDesk.open(cwd, flags_from(values), os.environ, values.get("agents"))


def show_rows(rows: Sequence[Row], what: str, values: dict[str, Any]) -> None:
    """Print the rows of one kind; `what` is their name in the plural."""
    import msgspec

    if values["as_json"]:
        found = {what: msgspec.to_builtins(rows)}
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    cwd = os.path.realpath(values["project"] or Path.cwd())
    for line in _lines(rows, what, cwd):
        click.echo(fitted(line, sys.stdout, indent=6))


def _lines(rows: Sequence[Row], what: str, cwd: str) -> Iterator[str]:
    from compositor.context.extensions.catalog import State

    counting = [row for row in rows if row.state is State.ACTIVE]
    yield f"{_counted(len(counting), what)} here:" if counting else f"No {what} count here."
    for row in counting:
        yield f"  {row.name}  ({row.place})" + (f"  {_short(row.path, cwd)}" if row.path else "")
        if row.description:
            yield f"      {_one_line(row.description)}"
        for problem in row.problems:
            yield f"      to look at: {problem}"
    others = [row for row in rows if row.state is not State.ACTIVE]
    if others:
        yield ""
        yield "Found and not used:"
    for row in others:
        yield f"  {row.state:9} {row.name}  {_short(row.path, cwd)}: {row.reason}"


def _one_line(text: str, width: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _short(path: str, cwd: str) -> str:
    return path.removeprefix(f"{cwd}/")


def _counted(number: int, what: str) -> str:
    return f"1 {what.removesuffix('s')} counts" if number == 1 else f"{number} {what} count"
