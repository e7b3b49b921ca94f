"""`compositor sessions check`: whether a session is whole, and whether what it sent can be built again.

Decides what counts as a fault: a damaged line, a head that cannot be had, a last request whose bytes do not come out again.
Changes nothing.
"""

from __future__ import annotations

import os

import click
import msgspec

from compositor.adapters.home import find_home
from compositor.adapters.sessions.heads import HeadStore
from compositor.adapters.sessions.reading import find_transcript, read_transcript
from compositor.cli.options import project_folder
from compositor.cli.recorded import comparison, rebuild
from compositor.cli.report import diagnostic_lines
from compositor.context.transcript.graph import active_path
from compositor.context.transcript.load import Transcript
from compositor.errors import CompositorError, ExitCode
from compositor.types.diagnostics import Diagnostic, Severity


@click.command(name="check")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: faults and remarks.")
@click.option("--project", type=click.Path(exists=True, file_okay=False), default=None, help="The project directory.")
def check(session: str, as_json: bool, project: str | None) -> int:  # noqa: FBT001
    """Check SESSION: an id, the beginning of one, or a transcript file. Exit 1 when something is wrong with it."""
    home = find_home(os.environ)
    path = find_transcript(home, session, cwd=project_folder(project))
    transcript = read_transcript(path)
    faults, remarks = check_transcript(transcript, HeadStore(home))
    if as_json:
        found = {"path": str(path), "records": len(transcript.entries), "faults": faults, "remarks": remarks}
        click.echo(msgspec.json.encode(found).decode())
    else:
        click.echo(f"{path}\n{len(transcript.entries)} entries, {len(transcript.journal.sends)} requests")
        for line in diagnostic_lines((*faults, *remarks)):
            click.echo(line)
        count = "1 fault." if len(faults) == 1 else f"{len(faults)} faults."
        click.echo(count if faults else "Nothing is wrong with it.")
    return ExitCode.FAILED if faults else ExitCode.OK


def check_transcript(transcript: Transcript, heads: HeadStore) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Faults, and what else is worth a remark."""
    told = [*transcript.diagnostics, *active_path(transcript.entries).diagnostics, *_heads(transcript, heads)]
    if transcript.journal.sends:
        told.append(_last_request(transcript, heads))
    faults = [one for one in told if one.severity is not Severity.INFO and one.code not in _HARMLESS]
    return faults, [one for one in told if one not in faults]


# Repaired on reading, and no sign that something of the session is gone.
_HARMLESS = {"transcript.record"}


def _heads(transcript: Transcript, heads: HeadStore) -> list[Diagnostic]:
    found = []
    for digest in dict.fromkeys(send.record.head_digest for send in transcript.journal.sends):
        try:
            problem = "" if heads.get(digest) is not None else "is not stored any more"
        except CompositorError as error:
            problem = f"cannot be read: {error.message}"
        if problem:
            found.append(Diagnostic("session.head", f"The head {digest[:12]} {problem}", step="check"))
    return found


def _last_request(transcript: Transcript, heads: HeadStore) -> Diagnostic:
    record = transcript.journal.sends[-1].record
    try:
        return comparison(rebuild(transcript, record, heads), record)
    except CompositorError as problem:
        return Diagnostic("session.request", f"The last request cannot be built again: {problem.message}", step="check")
