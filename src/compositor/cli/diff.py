"""`compositor diff A B`: where two requests part, who did it, and what it costs.

Decides what A and B mean: a body file, or SESSION:REQUEST of a stored session. Sends nothing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from compositor.types.request import Compiled

_SESSION = re.compile(r"(?P<id>[0-9a-f]{8}[0-9a-f-]*):(?P<number>\d+)\Z")


@click.command(
    name="diff", epilog="Examples: compositor diff one.json two.json   |   compositor diff 1f0c9a3e:2 1f0c9a3e:3"
)
@click.argument("earlier", metavar="A")
@click.argument("later", metavar="B")
@click.option(
    "--project", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Where the sessions belong to."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(*, earlier: str, later: str, project: str | None, as_json: bool) -> int:
    """Show the first difference of two requests: element, producer, cause, tokens kept and lost. Exit 1 when they part.

    The producer is known for requests of sessions; a body file does not say who made it.
    """
    from compositor.errors import ExitCode
    from compositor.insight.difference import body_elements, compare_bodies

    one, two = _request(earlier, project), _request(later, project)
    found = compare_bodies(body_elements(_body(one, earlier)), body_elements(_body(two, later)))
    made = None if found is None else _producer(one, two)
    if as_json:
        click.echo(msgspec.json.encode({"difference": found, "producer": made}).decode())
    elif found is None:
        click.echo("B begins with everything that A holds: nothing cached is lost.")
    else:
        click.echo(f"{found.path}, byte {found.offset}: {found.cause}")
        if made is not None:
            click.echo(f"producer: {made}")
        click.echo(f"shared before it: {found.shared:,} tokens; lost from there on: {found.lost:,} tokens (estimates)")
    return ExitCode.OK if found is None else ExitCode.FAILED


def _request(name: str, project: str | None) -> bytes | Compiled:
    """What a name stands for: the bytes of a file, or a recorded request."""
    from compositor.errors import UsageError

    match = _SESSION.match(name)
    if match is not None and not Path(name).exists():
        from compositor.cli.recorded import recorded_request

        return recorded_request(match["id"], int(match["number"]), {"project": project})[2]
    try:
        return Path(name).read_bytes()
    except OSError as problem:
        hint = "Name a body file, or SESSION:REQUEST; `compositor sessions` lists sessions"
        raise UsageError(f"{name!r} cannot be read: {problem.strerror}", hint=hint) from problem


def _body(request: bytes | Compiled, name: str) -> dict[str, Any]:
    from compositor.errors import UsageError

    data = request if isinstance(request, bytes) else request.body
    try:
        body: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError as problem:
        raise UsageError(f"{name!r} is no request body: {problem}") from problem
    return body


def _producer(one: bytes | Compiled, two: bytes | Compiled) -> str | None:
    """Who made the first element that differs, where both requests are our own."""
    from compositor.context.explain import first_difference

    if isinstance(one, bytes) or isinstance(two, bytes):
        return None
    found = first_difference(one, two)
    origin = None if found is None else found.after or found.before
    if found is None or origin is None:
        return None
    place = f" ({origin.source.path})" if origin.source.path else ""
    return f"{origin.source.kind} {origin.source.name}{place}: {found.cause}"
