"""A run that a program reads, and may write to: lines of JSON out, prompts and control in.

Decides when a turn of such a run begins and what its program is told beside it. The shapes are those of `protocol`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from compositor.context.wire.canonical import encode_json
from compositor.protocol.messages import Command, Message, Surroundings
from compositor.protocol.report import Reporting, RunReport

if TYPE_CHECKING:
    from compositor.cli.running import Running
    from compositor.opened import Opened
    from compositor.types.servers import ServerListing


def print_message(message: Message) -> None:
    """One line of JSON on standard output: UTF-8, whatever the terminal speaks."""
    line = encode_json(message)
    # What the model or a tool wrote is kept as it came, and may stand on several lines.
    click.echo(msgspec.json.format(line, indent=-1) if b"\n" in line else line)


def silent(_event: object) -> None:
    """Watches and says nothing."""


def make_report(opened: Opened, form: str, *, partial: bool) -> RunReport:
    """The report of a run in a machine-readable form."""
    how = Reporting(write=print_message, now=time.monotonic, lines=form == "stream-json", partial=partial)
    return RunReport(opened, how)


async def surroundings_of(opened: Opened, running: Running) -> Surroundings:
    """What `system/init` tells beside the session; asking the servers waits for those that are just starting."""
    servers = running.services.servers
    listings: Sequence[ServerListing] = () if servers is None else await servers.listings()
    return named_surroundings(opened, listings)


def named_surroundings(opened: Opened, listings: Sequence[ServerListing] = ()) -> Surroundings:
    """The same with servers that were asked already."""
    from compositor.adapters.extension_desk import ExtensionDesk

    desk = ExtensionDesk.open(opened.around.cwd, opened.flags, os.environ)
    skills = () if opened.shelf is None else opened.shelf.catalog.active
    return Surroundings(
        servers=listings,
        commands=[Command(one.name, one.description, one.argument_hint) for one in skills if one.typed],
        skills=[one.name for one in skills if one.listed],
        agents=[agent.name for agent in desk.agents().active],
    )


def stdin_descriptor() -> int:
    """The descriptor of standard input, to be read without the interpreter's own buffer."""
    return sys.stdin.fileno()
