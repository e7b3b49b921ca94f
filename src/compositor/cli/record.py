"""`compositor record DIR`: pass requests through to a model service and write each down with its answer.

Decides the options and what is printed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from compositor.adapters.providers.pairs import Pair


@click.command(
    name="record",
    epilog="Example: compositor record exchanges/ --port 8090; then point a client at it with ANTHROPIC_BASE_URL, "
    "and later: compositor run 'the same prompt' --replay exchanges/",
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--port", default=0, metavar="N", help="The port on this machine; any free one by default.")
@click.option(
    "--upstream", metavar="URL", help="The service; by default what ANTHROPIC_BASE_URL names, else the Claude API."
)
def command(*, folder: Path, port: int, upstream: str | None) -> None:
    """Pass requests through to a model service and write each with its answer into DIR, without any credential.

    What comes back is passed on as it comes. DIR is readable by you alone: prompts and files stand in it. Ctrl-C ends it.
    """
    from compositor.adapters.providers.pass_through import PassThrough
    from compositor.config.platforms import base_url
    from compositor.emulator.server import EmulatorServer
    from compositor.errors import UsageError

    if folder.exists() and any(folder.glob("*.json")):
        raise UsageError(f"{str(folder)!r} holds recorded requests already", hint="Name a new folder")
    service = base_url({**os.environ, **({"ANTHROPIC_BASE_URL": upstream} if upstream else {})})
    server = EmulatorServer(PassThrough(service, folder, _tell), port=port)
    click.echo(f"Listening on {server.url}; requests go on to {service} and are written into {folder}.")
    server.run()


def _tell(pair: Pair) -> None:
    size = len(bytes(pair.body))
    click.echo(
        f"{pair.number:4} {pair.status} {pair.method} {pair.path} {size:,} bytes, answer {len(pair.answer.body()):,}"
    )
