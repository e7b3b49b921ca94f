"""`compositor run`: one prompt to its end.

Decides the output forms and the exit code of a run. What happens in between is the agent's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compositor.cli.options import run_options

if TYPE_CHECKING:
    from compositor.cli.running import Line
    from compositor.runtime.events import TurnResult, Watcher
    from compositor.wiring import Opened


@click.command(
    name="run",
    epilog="Examples: compositor run 'fix the failing test'   |   git diff | compositor run - --output-format json",
)
@run_options
def command(**values: Any) -> int:
    """Run PROMPT to its end: model, gate, tools, answer. Without PROMPT, or with `-`, it is read from standard input."""
    from compositor.cli.inputs import opening_from, read_prompt
    from compositor.cli.running import real_line, scripted_line
    from compositor.errors import UsageError
    from compositor.wiring import open_session

    prompt = read_prompt(values.get("prompt"), from_pipe=True)
    if prompt is None or not prompt.strip():
        raise UsageError("there is no prompt", hint="Give it as an argument or on standard input")
    script, project = values.get("offline"), None
    if script:
        project = _copied(str(values.get("project") or Path.cwd()))
    asks = values.get("prompt") is not None and sys.stdin.isatty() and sys.stderr.isatty()
    opened = open_session(opening_from(values, interactive=asks, project=project))
    line = scripted_line(script, opened) if script else real_line(opened)
    if not script and not line.endpoint.has_credentials:
        return _without_key(opened, prompt)
    return _run(opened, prompt, line, str(values["output_format"]))


def _copied(project: str) -> str:
    from compositor.adapters.project_copy import copy_project

    copy = copy_project(project)
    click.echo(f"A script plays the model; no model is called. It works on a copy of the project: {copy}", err=True)
    return copy


def _without_key(opened: Opened, prompt: str) -> int:
    """No key: say what would be sent, and that nothing was (exit 3)."""
    from compositor.cli.inputs import with_prompt
    from compositor.cli.report import diagnostic_lines, marker_lines, region_lines
    from compositor.errors import ExitCode
    from compositor.loop.session import compile_next

    conversation, _ = with_prompt(opened.conversation, prompt)
    compiled = compile_next(conversation)
    click.echo(f"The request for {opened.contract.model} as it would be sent:\n", err=True)
    for line in (*region_lines(compiled), *marker_lines(compiled), *diagnostic_lines(opened.diagnostics)):
        click.echo(line, err=True)
    click.echo(
        "\nNothing was sent: there is no key. Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or look closer with "
        "`compositor explain`.",
        err=True,
    )
    return ExitCode.NOTHING_SENT


def _run(opened: Opened, prompt: str, line: Line, form: str) -> int:
    from compositor.cli.report import diagnostic_lines
    from compositor.cli.running import keep_requests, run_turn
    from compositor.cli.streaming import JsonLines, result_object
    from compositor.cli.watching import TextWatcher

    for note in diagnostic_lines((*opened.diagnostics, *line.endpoint.diagnostics)):
        click.echo(note, err=True)
    watch: Watcher = TextWatcher() if form == "text" else _silent
    if form == "stream-json":
        lines = JsonLines(opened)
        lines.begin()
        watch = lines
    result = run_turn(opened, prompt, line, watch)
    folder = keep_requests(line, opened.home, opened.header.session_id)
    if form == "text":
        _print_end(opened, result, folder)
    else:
        click.echo(msgspec.json.encode(result_object(opened, result)).decode())
    return exit_code(result)


def _silent(_event: object) -> None:
    """Watches and says nothing: the one JSON object comes at the end."""


def _print_end(opened: Opened, result: TurnResult, folder: str | None) -> None:
    from compositor.cli.watching import end_line

    if result.detail:
        click.echo(result.detail, err=True)
    click.echo(f"\n{end_line(result, opened.contract)}\nsession {opened.header.session_id}", err=True)
    if folder is not None:
        click.echo(f"requests: {folder}", err=True)


def exit_code(result: TurnResult) -> int:
    """0 for a finished turn, 130 for an interrupted one, 4 for a provider failure, 1 for every other end."""
    from compositor.errors import ExitCode
    from compositor.loop.effects import EndReason

    match result.reason:
        case EndReason.COMPLETED:
            return ExitCode.OK
        case EndReason.ABORTED_STREAMING | EndReason.ABORTED_TOOLS:
            return ExitCode.INTERRUPTED
        case EndReason.API_ERROR:
            return ExitCode.PROVIDER
        case _:
            return ExitCode.FAILED
