"""`compositor explain`: who put what into a request, why it was let in, and what was left out.

Decides whether its argument is a prompt or a stored session, and how the answer reads. Sends nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from typing import Any

import click

from compositor.cli.options import contract_options

# The beginning of a session id, with the number of a request: `1f0c9a3e` or `1f0c9a3e-...:2`.
_SESSION = re.compile(r"(?P<id>[0-9a-f]{8}[0-9a-f-]*)(?::(?P<number>\d+))?\Z")


@click.command(
    name="explain",
    epilog="Examples: compositor explain 'fix the test' --project .   |   compositor explain 1f0c9a3e:2",
)
@contract_options
@click.option("-r", "--resume", metavar="ID", help="The next request of this session.")
@click.option(
    "--transcript", metavar="FILE", type=click.Path(dir_okay=False), help="The next request of this transcript."
)
@click.option(
    "--dry-run", "dry_run", is_flag=True, help="List everything that would leave this machine, before sending."
)
@click.option("--changes", is_flag=True, help="What planned changes would cost now: another model, a server, clear.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: rows in wire order, omissions, markers, cache.")
def command(*, as_json: bool, changes: bool, dry_run: bool, **values: Any) -> None:
    """Explain the request of PROMPT, or a request that was sent: SESSION[:REQUEST] (the last one without a number)."""
    from compositor.cli.audit import base_lines
    from compositor.cli.cache_report import Outlook, sent_fields, sent_lines
    from compositor.cli.gathered import gathered_fields, gathered_lines
    from compositor.cli.inputs import preview
    from compositor.cli.recorded import recorded_request, recorded_send
    from compositor.errors import UsageError

    match = _SESSION.match(values.get("prompt") or "")
    if dry_run:
        if match is not None:
            raise UsageError("what was sent is no dry run", hint="Give --resume ID for the next request")
        _audit(preview(values), as_json=as_json)
        return
    if match is not None:
        if changes:
            raise UsageError("what was sent cannot be changed", hint="Give --resume ID for the next request")
        number = int(match["number"]) if match["number"] else None
        title, base, compiled, diagnostics = recorded_request(match["id"], number, values)
        send = recorded_send(match["id"], number, values)
        cache: dict[str, Any] = sent_fields(send)
        lines = (*sent_lines(send), *gathered_lines(send.record))
        shares, sources = _shares(compiled, {}), gathered_fields(send.record)
    else:
        found = preview(values)
        outlook = Outlook(found.opened, found.compiled, found.prefix)
        cache, lines = outlook.fields(with_changes=changes), tuple(outlook.lines(with_changes=changes))
        shares, sources = _shares(found.compiled, found.opened.contract.settings.compositor.prices), []
        title = f"Request for {found.opened.contract.model}; nothing was sent."
        base, compiled, diagnostics = found.opened.around.cwd, found.compiled, found.diagnostics
    if as_json:
        click.echo(_json(compiled, diagnostics, {"cache": cache, "base_line": shares, "sources": sources}))
        return
    _print(title, base, compiled, diagnostics, (*lines, "", *base_lines(shares)))


def _audit(found: Any, *, as_json: bool) -> None:
    import msgspec

    from compositor.cli.audit import audit_lines, plan_audit

    audit = plan_audit(found, os.environ)
    click.echo(msgspec.json.encode(audit).decode() if as_json else "\n".join(audit_lines(audit)))


def _shares(compiled: Any, said: Any) -> Any:
    from compositor.cli.report import source_rows
    from compositor.config.price import priced
    from compositor.insight.baseline import base_line

    pieces = [(row.origin, row.tokens) for row in source_rows(compiled)]
    return base_line(pieces, priced(compiled.options.model, said))


def _json(compiled: Any, diagnostics: Any, about: Any) -> str:
    import msgspec

    from compositor.cli.inputs import diagnostics_json
    from compositor.cli.report import markers_json, source_rows, tokens_json

    result = {
        "rows": [msgspec.to_builtins(row) for row in source_rows(compiled)],
        "markers": markers_json(compiled),
        **msgspec.to_builtins(about),
        "tokens": tokens_json(compiled),
        "omissions": msgspec.to_builtins(compiled.omissions),
        "diagnostics": diagnostics_json(diagnostics),
    }
    return msgspec.json.encode(result).decode()


def _print(title: str, base: str, compiled: Any, diagnostics: Any, cache: tuple[str, ...]) -> None:
    from compositor.cli.report import (
        cached_line,
        diagnostic_lines,
        omission_lines,
        region_lines,
        source_rows,
        table_lines,
    )
    from compositor.context.compile import STAGES
    from compositor.types.diagnostics import Severity

    stages = " > ".join(stage.name for stage in STAGES)
    width = shutil.get_terminal_size((120, 24)).columns
    rows = source_rows(compiled)
    lines = (
        title,
        *textwrap.wrap(f"steps: {stages}", width, subsequent_indent="  "),
        "",
        *region_lines(compiled),
        *textwrap.wrap(cached_line(compiled, rows), width, subsequent_indent="  "),
        *(f"  {line}".rstrip() for line in cache),
        "",
        *table_lines(rows, width, size=compiled.size, base=base),
        "",
        *omission_lines(compiled.omissions),
        *diagnostic_lines(diagnostics, Severity.INFO),
    )
    click.echo("\n".join(lines))
