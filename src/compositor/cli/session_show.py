"""`compositor sessions show`: what a session holds, in the order of its conversation.

Decides how entries, branches and requests read. Changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from compositor.adapters.home import find_home
from compositor.adapters.sessions.reading import find_transcript, read_history
from compositor.cli.options import project_folder
from compositor.cli.report import diagnostic_lines
from compositor.context.transcript.history import History
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock, block_type
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry

WIDTH = 100


@click.command(name="show")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: entries, branches, requests, remarks.")
@click.option("--at", metavar="ENTRY", default=None, help="The conversation up to this entry, as on another branch.")
@click.option("--project", type=click.Path(exists=True, file_okay=False), default=None, help="The project directory.")
def show(session: str, as_json: bool, at: str | None, project: str | None) -> None:  # noqa: FBT001
    """Show SESSION: an id, the beginning of one, or a transcript file of another client."""
    path = find_transcript(find_home(os.environ), session, cwd=project_folder(project))
    history = read_history(path, at)
    if as_json:
        click.echo(msgspec.json.encode(as_data(history, path)).decode())
        return
    click.echo(title(history, path))
    for line in (*entry_lines(history), *branch_lines(history), *request_lines(history)):
        click.echo(line)
    for line in diagnostic_lines(history.diagnostics):
        click.echo(line, err=True)


def title(history: History, path: Path) -> str:
    header = history.header
    if header is None:
        return f"{path} (a transcript of another client)\n"
    begun = f", begun as a copy of {header.forked_from}" if header.forked_from else ""
    begun += f", copied from {header.imported_from}" if header.imported_from else ""
    return f"Session {header.session_id} in {header.cwd}, {header.time}{begun}\n"


def entry_lines(history: History) -> Iterator[str]:
    """One line an entry: the first digits of its id, its time, who, and what it begins with."""
    if history.path.summarized:
        yield f"          {history.path.summarized} earlier entries are summarized"
    for entry in history.path.entries:
        yield f"{entry.uuid[:8]:8}  {entry.time[11:19]:8}  {_who(entry):10} {one_line(entry)}"


def branch_lines(history: History) -> Iterator[str]:
    for branch in history.path.branches:
        where = f"leaves at {branch.fork[:8]}" if branch.fork else "is not linked to the path"
        yield f"branch    {branch.time[11:19]:8}  ends in {branch.leaf[:8]}, {where}"


def request_lines(history: History) -> Iterator[str]:
    for number, send in enumerate(history.journal.sends, start=1):
        record = send.record
        yield (
            f"request   {record.time[11:19]:8}  {number}: {send.outcome.value}, {record.size} bytes, "
            f"head {record.head_digest[:8]}, {record.options.model}"
        )


def one_line(entry: TranscriptEntry) -> str:
    """What an entry says, cut to one line."""
    if isinstance(entry, AttachmentEntry):
        return _cut(f"[{entry.attachment.kind}]")
    if not isinstance(entry, UserEntry | AssistantEntry):
        return ""
    return _cut(" ".join(_words(block) for block in entry.content))


def _words(block: Any) -> str:
    match block:
        case TextBlock(text=text):
            return text
        case ToolUseBlock(name=name, input=given):
            return f"{name} {bytes(given).decode()}"
        case ToolResultBlock(content=str(content)):
            return f"-> {content}"
        case ToolResultBlock():
            return "-> result"
        case _:
            return f"[{block_type(block)}]"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."


def _who(entry: TranscriptEntry) -> str:
    match entry:
        case UserEntry(is_meta=True):
            return "client"
        case UserEntry():
            return "user"
        case AssistantEntry():
            return "assistant"
        case _:
            return "note"


def as_data(history: History, path: Path) -> dict[str, Any]:
    """The history as plain data; ids and texts whole."""
    return {
        "path": str(path),
        "format": history.format.value,
        "header": history.header,
        "tip": history.path.tip,
        "summarized": history.path.summarized,
        "entries": [
            {"id": entry.uuid, "time": entry.time, "who": _who(entry), "line": one_line(entry)}
            for entry in history.path.entries
        ],
        "branches": history.path.branches,
        "requests": [
            {"number": number, "outcome": send.outcome.value, "record": send.record, "usage": send.usage}
            for number, send in enumerate(history.journal.sends, start=1)
        ],
        "damaged": history.damaged,
        "diagnostics": history.diagnostics,
    }
