"""`compositor commands`: which command files a session here would have.

Decides nothing: the report is made in `extension_report.py`.
"""

from __future__ import annotations

from typing import Any

import click

from compositor.cli.extension_report import desk_from, extension_options, show_rows


@click.command(
    name="commands",
    epilog="Examples: compositor commands   |   compositor commands --json   |   compositor commands --project ../other",
)
@extension_options
def command(**values: Any) -> None:
    """List the command files: which count, which are shadowed by a skill or another file, which are refused, and why."""
    from compositor.context.extensions.catalog import Kind

    rows = [row for row in desk_from(values).skills().rows if row.kind is Kind.COMMAND]
    show_rows(rows, "commands", values)
