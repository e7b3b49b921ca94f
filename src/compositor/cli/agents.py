"""`compositor agents`: which agents a session here would have.

Decides nothing: the report is made in `extension_report.py`.
"""

from __future__ import annotations

from typing import Any

import click

from compositor.cli.extension_report import desk_from, extension_options, show_rows


@click.command(
    name="agents",
    epilog="Examples: compositor agents   |   compositor agents --json   |   compositor agents --project ../other",
)
@extension_options
@click.option("--agents", metavar="JSON", help="More agents, as a run takes them.")
def command(**values: Any) -> None:
    """List the agents: which count, which are shadowed or refused, and why."""
    show_rows(desk_from(values).agents().rows, "agents", values)
