"""`compositor skills`: which skills a session here would have.

Decides nothing: the report is made in `extension_report.py`.
"""

from __future__ import annotations

from typing import Any

import click

from compositor.cli.extension_report import desk_from, extension_options, show_rows


@click.command(
    name="skills",
    epilog="Examples: compositor skills   |   compositor skills --json   |   compositor skills --project ../other",
)
@extension_options
def command(**values: Any) -> None:
    """List the skills of this project, of the user and of the organization: which count, which are shadowed or refused, and why."""
    from compositor.context.extensions.catalog import Kind

    rows = [row for row in desk_from(values).skills().rows if row.kind is Kind.SKILL]
    show_rows(rows, "skills", values)
