"""`compositor sessions export`: a session as records, as API messages, or as a page to read.

Decides the three forms. Changes nothing; what cannot be read of a damaged session is said, the rest is written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from compositor.adapters.home import find_home
from compositor.adapters.sessions.reading import find_transcript, read_history
from compositor.cli.options import project_folder
from compositor.cli.report import diagnostic_lines
from compositor.cli.session_show import title
from compositor.context.attachments.render import attachment_text
from compositor.context.transcript.codec import encode_record
from compositor.context.transcript.history import History
from compositor.context.wire.canonical import encode_json
from compositor.types.attachments import UnknownAttachment
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock, block_type
from compositor.types.entries import AssistantEntry, AttachmentEntry, ProgressEntry, TranscriptEntry, UserEntry


@click.command(name="export")
@click.argument("session")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "messages", "markdown"]),
    default="jsonl",
    show_default=True,
    help="The records of the path, its messages as one JSON array, or a page to read.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), default=None, help="A file; standard output without.")
@click.option("--project", type=click.Path(exists=True, file_okay=False), default=None, help="The project directory.")
def export(session: str, form: str, output: str | None, project: str | None) -> None:
    """Write SESSION out: the active path of an id, or of a transcript file of another client."""
    path = find_transcript(find_home(os.environ), session, cwd=project_folder(project))
    history = read_history(path)
    data = b"".join(_FORMS[form](history, path))
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        Path(output).write_bytes(data)
    for line in diagnostic_lines(history.diagnostics):
        click.echo(line, err=True)


def as_records(history: History, _path: Path) -> Iterator[bytes]:
    """The session line and the entries of the path in our own format, also for a transcript of another client."""
    if history.header is not None:
        yield encode_record(history.header)
    for entry in history.path.entries:
        if not isinstance(entry, ProgressEntry):
            yield encode_record(entry)


def as_messages(history: History, _path: Path) -> Iterator[bytes]:
    """User and assistant entries as the Messages API spells them; merged and repaired they are only when they are sent."""
    spoken: list[dict[str, Any]] = [
        {"role": "user" if isinstance(entry, UserEntry) else "assistant", "content": entry.content}
        for entry in history.path.entries
        if isinstance(entry, UserEntry | AssistantEntry)
    ]
    yield encode_json(spoken) + b"\n"


def as_page(history: History, path: Path) -> Iterator[bytes]:
    """Markdown: a heading an entry, calls and results as code."""
    yield f"# {title(history, path).strip()}\n".encode()
    for entry in history.path.entries:
        body = "\n\n".join(_page(entry))
        yield f"\n## {_heading(entry)}\n\n{body}\n".encode("utf-8", "replace")


def _heading(entry: TranscriptEntry) -> str:
    match entry:
        case UserEntry(is_meta=False):
            who = "User"
        case AssistantEntry():
            who = "Assistant"
        case AttachmentEntry(attachment=attachment):
            who = f"Note: {attachment.kind}"
        case _:
            who = "Client"
    return f"{who}, {entry.time[:19].replace('T', ' ')}"


def _page(entry: TranscriptEntry) -> Iterable[str]:
    if isinstance(entry, AttachmentEntry):
        attachment = entry.attachment
        text = (
            bytes(attachment.raw).decode() if isinstance(attachment, UnknownAttachment) else attachment_text(attachment)
        )
        yield _fenced(text)
        return
    for block in entry.content if isinstance(entry, UserEntry | AssistantEntry) else ():
        match block:
            case TextBlock(text=text):
                yield text
            case ToolUseBlock(name=name, input=given):
                yield f"{name}:\n\n{_fenced(bytes(given).decode())}"
            case ToolResultBlock(content=str(content)):
                yield _fenced(content)
            case ToolResultBlock(content=tuple(parts)):
                yield _fenced(
                    "\n".join(part.text if isinstance(part, TextBlock) else block_type(part) for part in parts)
                )
            case _:
                yield f"({block_type(block)})"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


_FORMS = {"jsonl": as_records, "messages": as_messages, "markdown": as_page}
