"""`compositor cost SESSION`: what each request of a session cost, and what it would have cost without a cache.

Decides the table. Sends nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec


@click.command(name="cost", epilog="Example: compositor cost 1f0c9a3e")
@click.argument("session")
@click.option(
    "--project", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Where the session belongs to."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(*, session: str, project: str | None, as_json: bool) -> None:
    """Show tokens by bucket and money of every request of SESSION (an id, or the beginning of one)."""
    from compositor.adapters.home import find_home
    from compositor.adapters.sessions.reading import find_session, read_transcript
    from compositor.adapters.settings_files import find_places, load_settings
    from compositor.insight.cost import session_cost

    cwd = os.path.realpath(project or Path.cwd())
    prices = load_settings(find_places(cwd, os.environ)).compositor.prices
    path = find_session(find_home(os.environ), session, cwd=cwd)
    found = session_cost(read_transcript(path).journal.paid, prices)
    if as_json:
        fields = {**msgspec.to_builtins(found), "causes": found.causes, "spread": found.spread}
        click.echo(msgspec.json.encode(fields).decode())
        return
    click.echo(
        f"{'#':>3} {'outcome':11} {'read':>9} {'written':>9} {'new':>8} {'out':>7} {'dollars':>9}  forecast read"
    )
    for request in found.requests:
        usage = request.usage
        counts = "        ?         ?        ?       ?"
        if usage is not None:
            counts = f"{usage.read:9,} {usage.written:9,} {usage.input_tokens:8,} {usage.output_tokens:7,}"
        dollars = "        ?" if request.dollars is None else f"{request.dollars:9.4f}"
        forecast = "?" if request.forecast_read is None else f"{request.forecast_read:,}"
        click.echo(f"{request.number:3} {request.outcome:11} {counts} {dollars}  {forecast}")
        if request.lost:
            click.echo(f"    lost {request.lost:,} tokens: {request.cause}")
        if request.said:
            click.echo(f"    the service says: {request.said}")
    if found.causes:
        click.echo("\nLost by cause:")
    for cause in found.causes:
        money = "price unknown" if cause.dollars is None else f"${cause.dollars:.4f}"
        click.echo(f"  {cause.lost:9,} tokens  {money:>13}  {cause.requests} requests: {cause.cause}")
    if found.spread is not None:
        click.echo(f"\nThe dearest request cost {found.spread:.1f} times the cheapest.")
    unknown = f"; {found.unknown} requests are unknown and not in the sum" if found.unknown else ""
    click.echo(f"\n${found.dollars:.4f} in all, ${found.uncached:.4f} without a cache{unknown}")
