"""`compositor compile`: the request of a prompt, exactly as it would be sent. Sends nothing.

Decides the three forms of output: a table, the body's bytes, one JSON object.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import click

from compositor.cli.options import contract_options


@click.command(
    name="compile",
    epilog="Example: compositor compile 'fix the test' --project . --json | python -m json.tool",
)
@contract_options
@click.option("-r", "--resume", metavar="ID", help="The next request of this session.")
@click.option(
    "--transcript", metavar="FILE", type=click.Path(dir_okay=False), help="The next request of this transcript."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object: body, spans, markers, tokens, diagnostics.")
@click.option("--body", "as_body", is_flag=True, help="Exactly the bytes that would be sent.")
@click.option(
    "--count", is_flag=True, help="Also ask the service how many tokens the request has; it is free, and nothing runs."
)
def command(*, as_json: bool, as_body: bool, count: bool, **values: Any) -> None:
    """Compile the request of PROMPT and print it; nothing is sent, but for `--count`. `-` reads PROMPT from standard input."""
    from compositor.cli.inputs import preview
    from compositor.errors import UsageError

    if as_json and as_body:
        raise UsageError("'--json' and '--body' exclude each other", hint="Give one of them")
    if as_body and count:
        raise UsageError("'--count' has no place beside '--body'", hint="Give '--json', or neither")
    found = preview(values)
    counted = _counted(found) if count else None
    if as_body:
        sys.stdout.buffer.write(found.compiled.body)
        sys.stdout.buffer.flush()
    elif as_json:
        click.echo(_json(found, counted))
    else:
        _print_table(found, counted)


def _counted(found: Any) -> int:
    """The tokens as the service counts them. Raises `UsageError` where it cannot be asked."""
    import anyio

    from compositor.adapters.providers.counting import count_tokens
    from compositor.cli.running import real_line
    from compositor.config.platforms import Ability
    from compositor.errors import UsageError

    platform = found.opened.contract.platform
    line = real_line(found.opened)
    if line.cloud is not None or not platform.has(Ability.COUNT_TOKENS):
        raise UsageError(
            f"tokens are not counted by {platform.name!r}", hint="Leave '--count' out; the estimate stands"
        )
    if not line.is_ready:
        raise UsageError("there is no key, so the service cannot be asked", hint="Set ANTHROPIC_API_KEY")
    return anyio.run(count_tokens, found.compiled, line.endpoint, line.keys)


def _json(found: Any, counted: int | None) -> str:
    import msgspec

    from compositor.cli.inputs import diagnostics_json
    from compositor.cli.report import markers_json, spans_json, tokens_json

    body = found.compiled.body
    result = {
        "body": msgspec.Raw(body),
        "body_sha256": hashlib.sha256(body).hexdigest(),
        "headers": dict(found.compiled.headers),
        "spans": spans_json(found.compiled),
        "markers": markers_json(found.compiled),
        "tokens": tokens_json(found.compiled)
        if counted is None
        else {**tokens_json(found.compiled), "counted": counted},
        "omissions": msgspec.to_builtins(found.compiled.omissions),
        "diagnostics": diagnostics_json(found.diagnostics),
    }
    return msgspec.json.encode(result).decode()


def _print_table(found: Any, counted: int | None) -> None:
    from compositor.cli.report import diagnostic_lines, marker_lines, region_lines

    compiled, opened = found.compiled, found.opened
    contract = opened.contract
    click.echo(
        f"Request for {contract.model} on {contract.platform.id}, API {contract.api_version}; nothing was sent.\n"
    )
    if counted is not None:
        click.echo(f"The service counts {counted:,} tokens.\n")
    for line in (*region_lines(compiled), "", *marker_lines(compiled)):
        click.echo(line)
    click.echo(f"options: {compiled.scalars.data.decode()}")
    for line in diagnostic_lines(found.diagnostics):
        click.echo(line, err=True)
    left_out = len(compiled.omissions)
    things = "1 thing was" if left_out == 1 else f"{left_out} things were"
    click.echo(f"\n{things} left out. `compositor explain` names every source and every omission.")
