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
    from collections.abc import Mapping

    from compositor.cli.running import Line, Ran, Running
    from compositor.opened import Opened, Opening
    from compositor.protocol.report import RunReport
    from compositor.runtime.events import TurnResult


@click.command(
    name="run",
    epilog="Examples: compositor run 'fix the failing test'   |   git diff | compositor run - --output-format json",
)
@run_options
def command(**values: Any) -> int:
    """Run PROMPT to its end: model, gate, tools, answer. Without PROMPT, or with `-`, it is read from standard input."""
    from compositor.cli.running import read_script, real_line, rehearsed_line, rehearsed_pairs, scripted_line
    from compositor.opened import open_session

    _check_flags(values)
    prompt, opening = _asked(values)
    if values.get("replay"):
        pairs = rehearsed_pairs(values["replay"])
        opened = opened_on_copy(opening, "Recorded answers are played", fork=bool(values.get("fork_session")))
        _check_call(opened, prompt)
        return _run(opened, prompt, rehearsed_line(pairs), values)
    if not values.get("offline"):
        opened = open_session(opening)
        _check_call(opened, prompt)
        line = real_line(opened)
        if not line.is_ready:
            return _without_key(opened, prompt, values)
        if values.get("fork_session"):
            opened = open_session(_forked(opening, opened))
        return _run(opened, prompt, line, values)
    script = read_script(values["offline"])
    opened = opened_on_copy(opening, "A script plays the model", fork=bool(values.get("fork_session")))
    _check_call(opened, prompt)
    return _run(opened, prompt, scripted_line(script, opened), values)


def _check_flags(values: Mapping[str, Any]) -> None:
    """Refuse flags that mean nothing together, before anything is read."""
    from compositor.errors import UsageError

    output, talks = values["output_format"], values["input_format"] == "stream-json"
    if talks and output != "stream-json":
        raise UsageError("'--input-format stream-json' needs '--output-format stream-json'")
    if talks and values.get("prompt") not in {None, "-"}:
        raise UsageError(
            "with '--input-format stream-json' prompts come on standard input alone", hint="Leave PROMPT out"
        )
    if values.get("offline") and values.get("replay"):
        raise UsageError("'--offline' and '--replay' exclude each other")
    if values.get("include_partial_messages") and output != "stream-json":
        raise UsageError("'--include-partial-messages' needs '--output-format stream-json'")
    if values.get("replay_user_messages") and not talks:
        raise UsageError("'--replay-user-messages' needs '--input-format stream-json'")
    asked = values.get("permission_prompt_tool")
    if asked is not None and (asked != "stdio" or not talks):
        raise UsageError(
            f"{asked!r} cannot be asked for permission",
            hint="Use '--permission-prompt-tool stdio' with '--input-format stream-json', or a PermissionRequest hook",
        )
    goes_on = values.get("resume") or values.get("continue_session")
    if values.get("fork_session") and not goes_on:
        raise UsageError("'--fork-session' needs '--resume' or '--continue'")
    if values.get("session_id") and goes_on and not values.get("fork_session"):
        raise UsageError(
            "a session that goes on keeps its id", hint="Give '--session-id' with '--fork-session', or alone"
        )


def _asked(values: Mapping[str, Any]) -> tuple[str, Opening]:
    """The prompt, empty where prompts come in later, and the opening."""
    from compositor.cli.inputs import opening_from, read_prompt
    from compositor.errors import UsageError

    if values["input_format"] == "stream-json":
        return "", opening_from(values, interactive=values.get("permission_prompt_tool") is not None)
    prompt = read_prompt(values.get("prompt"), from_pipe=True)
    if prompt is None or not prompt.strip():
        raise UsageError("there is no prompt", hint="Give it as an argument or on standard input")
    asks = values.get("prompt") is not None and sys.stdin.isatty() and sys.stderr.isatty()
    return prompt, opening_from(values, interactive=asks)


def _forked(opening: Opening, opened: Opened) -> Opening:
    """The opening of a copy of the session that `opened` goes on with."""
    from compositor.cli.session_change import fork_stored

    copy = fork_stored(opened.header.session_id, cwd=opened.around.cwd, wanted=opening.session_id)
    return msgspec.structs.replace(opening, resume=copy, continues=False)


def opened_on_copy(opening: Opening, who: str, *, fork: bool) -> Opened:
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
    opened = open_session(opening)
    if fork:
        opening = _forked(opening, opened)
    copy = copy_project(opening.project)
    click.echo(f"{who}; no model is called. It works on a copy of the project: {copy.path}", err=True)
    if copy.left_out:
        click.echo(f"Links that lead out of the project were not copied: {', '.join(copy.left_out)}", err=True)
    opened = open_session(msgspec.structs.replace(opening, project=copy.path))
    if opened.header.cwd != opened.around.cwd:
        raise UsageError(
            f"the session {opened.header.session_id!r} belongs to another project", where=opened.header.cwd
        )
    return opened


def _without_key(opened: Opened, prompt: str, values: Mapping[str, Any]) -> int:
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
    sentence = "Nothing was sent: there is no key."
    hint = "Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or look closer with `compositor explain`."
    click.echo(f"\n{sentence} {hint}", err=True)
    report = _report(opened, values)
    if report is not None:
        report.fail(sentence, "turn_setup_failed")
    return ExitCode.NOTHING_SENT


def _check_call(opened: Opened, prompt: str) -> None:
    """Refuse a prompt that calls a skill or command which is not there."""
    from compositor.context.extensions.invoke import unknown_call
    from compositor.errors import UsageError

    problem = None if opened.shelf is None else unknown_call(prompt, opened.shelf.catalog)
    if problem is not None:
        raise UsageError(
            problem, hint="'compositor skills' lists them; a blank in front makes it plain text, as in ' /etc is full'"
        )


def _report(opened: Opened, values: Mapping[str, Any]) -> RunReport | None:
    """What speaks to a program; `None` where a person reads."""
    form = str(values["output_format"])
    if form == "text":
        return None
    from compositor.cli.streaming import make_report

    return make_report(opened, form, partial=bool(values.get("include_partial_messages")))


def _run(opened: Opened, prompt: str, line: Line, values: Mapping[str, Any]) -> int:
    from compositor.cli.report import diagnostic_lines
    from compositor.cli.running import keep_requests
    from compositor.errors import CompositorError

    for note in diagnostic_lines((*opened.diagnostics, *line.endpoint.diagnostics)):
        click.echo(note, err=True)
    report = _report(opened, values)
    try:
        if report is None:
            return _run_as_text(opened, prompt, line)
        if values["input_format"] == "stream-json":
            from compositor.cli.conversing import Conversing

            asks, echoes = values.get("permission_prompt_tool") is not None, bool(values.get("replay_user_messages"))
            ran: Ran[Any] = Conversing(opened, report, asks=asks, echoes=echoes).run(line)
        else:
            ran = _run_for_program(opened, prompt, line, report)
    except CompositorError as problem:
        if report is not None:
            report.fail(str(problem))
        raise
    keep_requests(line, opened.home, opened.header.session_id)
    return exit_code(ran, fits=report.is_success)


def _run_for_program(opened: Opened, prompt: str, line: Line, report: RunReport) -> Ran[TurnResult]:
    from compositor.cli.running import run_agent
    from compositor.cli.streaming import surroundings_of

    async def act(running: Running) -> TurnResult:
        report.begin(await surroundings_of(opened, running))
        result = await running.agent.submit(prompt)
        report.end(result)
        return result

    return run_agent(opened, line, report, act)


def _run_as_text(opened: Opened, prompt: str, line: Line) -> int:
    from compositor.cli.running import keep_requests, run_turn
    from compositor.cli.streaming import silent
    from compositor.cli.watching import TextWatcher, end_line

    schema = opened.flags.json_schema
    # An answer of a certain form is for a program, which wants nothing of what came before it.
    ran = run_turn(opened, prompt, line, TextWatcher() if schema is None else silent)
    result, fits = ran.result, True
    if result.detail:
        click.echo(result.detail, err=True)
    if schema is not None:
        fits = _print_formed(schema, result)
    click.echo(f"\n{end_line(result, opened.contract)}\nsession {opened.header.session_id}", err=True)
    folder = keep_requests(line, opened.home, opened.header.session_id)
    if folder is not None:
        click.echo(f"requests: {folder}", err=True)
    return exit_code(ran, fits=fits)


def _print_formed(schema: str, result: TurnResult) -> bool:
    """Print the value that the turn ended with; whether there is one."""
    from compositor.context.wire.canonical import encode_json
    from compositor.loop.answer_form import parse_form, read_answer

    formed = read_answer(parse_form(schema), result.text)
    if formed.problem:
        click.echo(f"The answer has not the form that was asked for: {formed.problem}", err=True)
        return False
    click.echo(encode_json(formed.value))
    return True


def exit_code(ran: Ran[Any], *, fits: bool = True) -> int:
    """0 for a finished turn whose answer `fits`, or for none, 130 and 143 for a signal, 4 for a provider failure, 1 for every other end."""
    from compositor.errors import ExitCode
    from compositor.loop.effects import EndReason

    if ran.stopped_by is not None:
        return ExitCode.TERMINATED if ran.stopped_by == signal.SIGTERM else ExitCode.INTERRUPTED
    if ran.result is None:
        return ExitCode.OK
    match ran.result.reason:
        case EndReason.COMPLETED:
            return ExitCode.OK if fits else ExitCode.FAILED
        case EndReason.ABORTED_STREAMING | EndReason.ABORTED_TOOLS:
            return ExitCode.INTERRUPTED
        case EndReason.API_ERROR:
            return ExitCode.PROVIDER
        case _:
            return ExitCode.FAILED
