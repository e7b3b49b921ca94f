"""`compositor run`: one prompt to its end.

Decides the output forms and the exit code of a run. What happens in between is the agent's.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compositor.cli.options import run_options

if TYPE_CHECKING:
    from compositor.cli.running import Line, Ran
    from compositor.opened import Opened, Opening
    from compositor.runtime.events import TurnResult, Watcher


@click.command(
    name="run",
    epilog="Examples: compositor run 'fix the failing test'   |   git diff | compositor run - --output-format json",
)
@run_options
def command(**values: Any) -> int:
    """Run PROMPT to its end: model, gate, tools, answer. Without PROMPT, or with `-`, it is read from standard input."""
    from compositor.cli.inputs import opening_from, read_prompt
    from compositor.cli.running import read_script, real_line, scripted_line
    from compositor.errors import UsageError
    from compositor.opened import open_session

    prompt = read_prompt(values.get("prompt"), from_pipe=True)
    if prompt is None or not prompt.strip():
        raise UsageError("there is no prompt", hint="Give it as an argument or on standard input")
    form = str(values["output_format"])
    asks = values.get("prompt") is not None and sys.stdin.isatty() and sys.stderr.isatty()
    opening = opening_from(values, interactive=asks)
    if not values.get("offline"):
        opened = open_session(opening)
        line = real_line(opened)
        return _run(opened, prompt, line, form) if line.is_ready else _without_key(opened, prompt, form)
    script = read_script(values["offline"])
    opened = _opened_on_copy(opening)
    return _run(opened, prompt, scripted_line(script, opened), form)


def _opened_on_copy(opening: Opening) -> Opened:
    """A session on a copy of the project. Only a session that a script began on this copy can go on with a script."""
    from compositor.adapters.project_copy import copy_project, is_copy
    from compositor.errors import UsageError
    from compositor.opened import open_session

    if (opening.resume or opening.continues) and not is_copy(opening.project):
        raise UsageError(
            "a script would write into a session that a model played",
            hint="With --offline, go on only with --project naming the copy that a scripted run worked on",
        )
    # What is wrong with flags or settings is said before anything is copied.
    open_session(opening)
    copy = copy_project(opening.project)
    click.echo(
        f"A script plays the model; no model is called. It works on a copy of the project: {copy.path}", err=True
    )
    if copy.left_out:
        click.echo(f"Links that lead out of the project were not copied: {', '.join(copy.left_out)}", err=True)
    opened = open_session(msgspec.structs.replace(opening, project=copy.path))
    if opened.header.cwd != opened.around.cwd:
        raise UsageError(
            f"the session {opened.header.session_id!r} belongs to another project", where=opened.header.cwd
        )
    return opened


def _without_key(opened: Opened, prompt: str, form: str) -> int:
    """No key: say what would be sent, and that nothing was (exit 3)."""
    from compositor.cli.inputs import with_prompt
    from compositor.cli.report import diagnostic_lines, marker_lines, region_lines
    from compositor.cli.streaming import print_setup_failure
    from compositor.errors import ExitCode
    from compositor.loop.session import compile_next

    conversation, _ = with_prompt(opened.conversation, prompt)
    compiled = compile_next(conversation)
    click.echo(f"The request for {opened.contract.model} as it would be sent:\n", err=True)
    for line in (*region_lines(compiled), *marker_lines(compiled), *diagnostic_lines(opened.diagnostics)):
        click.echo(line, err=True)
    sentence = "Nothing was sent: there is no key."
    hint = "Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or look closer with `compositor explain`."
    click.echo(f"\n{sentence} {hint}", err=True)
    if form != "text":
        print_setup_failure(opened, form, sentence)
    return ExitCode.NOTHING_SENT


def _run(opened: Opened, prompt: str, line: Line, form: str) -> int:
    from compositor.cli.report import diagnostic_lines
    from compositor.cli.running import keep_requests, run_turn
    from compositor.cli.streaming import JsonLines, print_failure, print_result
    from compositor.cli.watching import TextWatcher
    from compositor.errors import CompositorError

    for note in diagnostic_lines((*opened.diagnostics, *line.endpoint.diagnostics)):
        click.echo(note, err=True)
    watch: Watcher = TextWatcher() if form == "text" else _silent
    if form == "stream-json":
        lines = JsonLines(opened)
        lines.begin()
        watch = lines
    try:
        ran = run_turn(opened, prompt, line, watch)
    except CompositorError as problem:
        if form != "text":
            print_failure(opened, str(problem))
        raise
    folder = keep_requests(line, opened.home, opened.header.session_id)
    if form == "text":
        _print_end(opened, ran.result, folder)
    else:
        print_result(opened, ran)
    return exit_code(ran)


def _silent(_event: object) -> None:
    """Watches and says nothing: the one JSON object comes at the end."""


def _print_end(opened: Opened, result: TurnResult, folder: str | None) -> None:
    from compositor.cli.watching import end_line

    if result.detail:
        click.echo(result.detail, err=True)
    click.echo(f"\n{end_line(result, opened.contract)}\nsession {opened.header.session_id}", err=True)
    if folder is not None:
        click.echo(f"requests: {folder}", err=True)


def exit_code(ran: Ran[TurnResult]) -> int:
    """0 for a finished turn, 130 and 143 for an interrupted one, 4 for a provider failure, 1 for every other end."""
    from compositor.errors import ExitCode
    from compositor.loop.effects import EndReason

    match ran.result.reason:
        case EndReason.COMPLETED:
            return ExitCode.OK
        case EndReason.ABORTED_STREAMING | EndReason.ABORTED_TOOLS:
            return ExitCode.TERMINATED if ran.stopped_by == signal.SIGTERM else ExitCode.INTERRUPTED
        case EndReason.API_ERROR:
            return ExitCode.PROVIDER
        case _:
            return ExitCode.FAILED
