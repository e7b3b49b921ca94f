"""`compositor settings`: every value with the file and line it comes from, and whether the repository is trusted.

Decides how it reads. Values of `env` are never shown: that is where people put keys.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compositor.adapters.home import find_home
from compositor.cli.options import project_folder

if TYPE_CHECKING:
    from compositor.config.settings import Origin, Settings

_PROJECT = click.option(
    "--project",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project directory; the current one by default.",
)


@click.group(name="settings", invoke_without_command=True)
@_PROJECT
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(context: click.Context, *, project: Path | None, as_json: bool) -> None:
    """Show the merged settings with the origin of every value."""
    if context.invoked_subcommand is not None:
        return
    from compositor.adapters.settings_files import find_places, load_settings
    from compositor.adapters.trust import foreign_settings, read_trust

    places = find_places(project_folder(project), os.environ)
    settings = load_settings(places)
    trust = read_trust(find_home(os.environ), places.root, foreign=foreign_settings(os.environ))
    rows = list(_rows(settings))
    if as_json:
        result = {
            "values": {".".join(keys): {"value": value, "origins": _origins(found)} for keys, value, found in rows},
            "layers": [{"level": layer.level.value, "file": layer.file} for layer in settings.layers],
            "trust": {"root": places.root, "state": trust.value},
            "diagnostics": [msgspec.to_builtins(note) for note in settings.diagnostics],
        }
        click.echo(msgspec.json.encode(result).decode())
        return
    for keys, value, found in rows:
        origin = ", ".join(f"{one.level.value} {one.file}:{one.line or 1}" for one in found)
        click.echo(f"{'.'.join(keys)} = {msgspec.json.encode(value).decode()}  ({origin})")
    click.echo(f"{len(rows)} values from {len(settings.layers)} files; {places.root} is {trust.value}.")
    for note in settings.diagnostics:
        click.echo(f"{note.severity.value}: {note.message}. At {note.where}.", err=True)


@command.command(name="trust")
@_PROJECT
@click.option("--revoke", is_flag=True, help="Take the trust back.")
def trust_command(*, project: Path | None, revoke: bool) -> None:
    """Let the repository's own allow rules, directories and variables count. Remembered for the whole repository."""
    from compositor.adapters.settings_files import find_places
    from compositor.adapters.trust import remember_trust

    root = find_places(project_folder(project), os.environ).root
    remember_trust(find_home(os.environ), root, trusted=not revoke)
    click.echo(f"{root} is {'not trusted any more' if revoke else 'trusted'}.")


def _rows(settings: Settings) -> list[tuple[tuple[str, ...], Any, tuple[Origin, ...]]]:
    return [(keys, _value(settings.values, keys), found) for keys, found in sorted(settings.origins.items())]


def _value(values: Any, keys: tuple[str, ...]) -> Any:
    if keys[0] == "env":
        return "(hidden)"
    for key in keys:
        values = values[key]
    return values


def _origins(found: tuple[Origin, ...]) -> list[dict[str, Any]]:
    return [{"level": one.level.value, "file": one.file, "line": one.line} for one in found]
