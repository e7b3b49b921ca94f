"""`compositor models`: what is known about models, platforms and prices, with source and date.

Decides how the tables read and the shape of the JSON. Knows no fact of its own: they are `config/profiles` and `config/prices`, and what
the settings say instead.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from compositor.config.price import Price
    from compositor.config.profile import ModelProfile
    from compositor.config.settings import Settings


@click.command(name="models", epilog="Examples: compositor models   |   compositor models opus")
@click.argument("model", required=False)
@click.option("--platforms", "list_platforms", is_flag=True, help="List the platforms instead.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
@click.option("--project", type=click.Path(exists=True, file_okay=False), default=None, help="Whose settings count.")
def command(*, model: str | None, list_platforms: bool, as_json: bool, project: str | None) -> None:
    """Show the known models: window, output, thinking, cache, prices; or every fact about MODEL.

    A star marks a row with facts that nobody confirmed, a plus one that the settings changed (compositor.models).
    """
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(_document(model, _settings(project))), indent=2))
    elif list_platforms:
        _print_platforms()
    elif model is not None:
        _print_one(model, _settings(project))
    else:
        _print_all(_settings(project))


def _settings(project: str | None) -> Settings:
    from compositor.adapters.settings_files import find_places, load_settings

    return load_settings(find_places(os.path.realpath(project or Path.cwd()), os.environ))


def _profiles(settings: Settings) -> list[ModelProfile]:
    from compositor.config.choices import with_facts
    from compositor.config.profile import find_profile, known_profiles

    names = dict.fromkeys([*(profile.id for profile in known_profiles()), *settings.compositor.models])
    found = {name: with_facts(find_profile(name), settings).profile for name in names}
    return list({profile.id: profile for profile in found.values()}.values())


def _document(model: str | None, settings: Settings) -> dict[str, Any]:
    from compositor.config.choices import with_facts
    from compositor.config.platforms import known_platforms
    from compositor.config.price import known_prices, priced
    from compositor.config.profile import default_model, find_profile, known_aliases
    from compositor.config.window import WINDOW_STEPS

    if model is not None:
        found = with_facts(find_profile(model), settings)
        return {
            "model": found.model,
            "profile": found.profile,
            "price": priced(found.model, settings.compositor.prices),
            "append": _append(found.profile),
        }
    return {
        "default": default_model(),
        "aliases": known_aliases(),
        "models": _profiles(settings),
        "prices": known_prices(),
        "platforms": known_platforms(),
        "window_steps": [step.name for step in WINDOW_STEPS],
    }


def _append(profile: ModelProfile) -> dict[str, str]:
    """How news reaches the model on each platform."""
    from compositor.config.platforms import known_platforms

    return {platform.id: profile.append_mode(platform.id).value for platform in known_platforms()}


def _print_all(settings: Settings) -> None:
    from compositor.config.price import priced
    from compositor.config.profile import default_model

    columns = ("model", "window", "output", "thinking", "bound", "cache", "in $", "out $", "read $")
    rows = [_row(profile, priced(profile.id, settings.compositor.prices), settings) for profile in _profiles(settings)]
    _print_table(columns, rows, right=frozenset(columns[1:3] + columns[5:]))
    click.echo(
        f"\nPrices for a million tokens. Default: {default_model()}. Facts with their source: compositor models MODEL"
    )
    click.echo("* not all confirmed   + changed by settings")


def _row(profile: ModelProfile, price: Price | None, settings: Settings) -> list[str]:
    changed = profile.id in settings.compositor.models or profile.id in settings.compositor.prices
    tier = price.tiers[0] if price else None
    money = [f"{value:g}" for value in (tier.input, tier.output, tier.read)] if tier else ["?", "?", "?"]
    return [
        profile.id + ("" if profile.verified else " *") + (" +" if changed else ""),
        _short(profile.window),
        _short(profile.max_output),
        "+".join(profile.thinking.kinds) or "none",
        "yes" if profile.binds_thinking else "no",
        f"{profile.cache_minimum:,}" if profile.cache_minimum else "?",
        *money,
    ]


def _short(tokens: int) -> str:
    return f"{tokens // 1_000_000}M" if tokens % 1_000_000 == 0 else f"{tokens // 1000}k"


def _print_one(model: str, settings: Settings) -> None:
    document = msgspec.to_builtins(_document(model, settings))
    profile = document["profile"]
    click.echo(f"{document['model']}   {profile.pop('name')}\n")
    for name, value in profile.items():
        click.echo(f"{name:<16} {_worded(value)}")
    click.echo(f"{'append':<16} {_worded(document['append'])}")
    price = document["price"]
    click.echo(f"{'price':<16} {_worded(price['tiers']) if price else 'not published'}")
    if price:
        click.echo(f"{'':<16} {price['source']}, {price['date']}")


def _print_platforms() -> None:
    from compositor.config.platforms import known_platforms

    columns = ("platform", "version in", "betas in", "stream", "cache of", "abilities", "as of")
    rows = [
        [
            platform.id + ("" if platform.verified else " *"),
            platform.version_in,
            platform.betas_in,
            platform.stream,
            platform.cache_isolation,
            ", ".join(sorted(platform.abilities)),
            platform.date,
        ]
        for platform in known_platforms()
    ]
    _print_table(columns, rows, right=frozenset())
    click.echo("\n* not all confirmed")


def _worded(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_worded(item)}" for name, item in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(_worded, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _print_table(columns: tuple[str, ...], rows: list[list[str]], *, right: frozenset[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column,
            justify="right" if column in right else "left",
            overflow="fold",
            no_wrap=column in {"model", "platform"},
        )
    for row in rows:
        # Text, not markup: a name may hold square brackets.
        table.add_row(*map(Text, row))
    # A pipe has no width of its own; names should stay whole there.
    Console(width=None if sys.stdout.isatty() else 160).print(table)
