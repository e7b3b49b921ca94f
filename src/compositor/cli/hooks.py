"""`compositor hooks`: which hooks there are, and what those of an event answer to an input.

Decides how it reads. `hooks test` does run the handlers: that is what it is for.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compositor.cli.options import project_folder
from compositor.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from compositor.policy.hook_handlers import Hook
    from compositor.policy.hook_output import HookReport
from compositor.policy.hooks import HookPlan

_PROJECT = click.option(
    "--project",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project directory; the current one by default.",
)


@click.group(name="hooks")
def command() -> None:
    """Show and try hooks."""


@command.command(name="list")
@_PROJECT
@click.option("--json", "as_json", is_flag=True, help="One JSON array.")
def list_command(*, project: Path | None, as_json: bool) -> None:
    """List the hooks that count, and what is wrong with others. Runs none."""
    plan, _ = _plan(project)
    if as_json:
        click.echo(msgspec.json.encode(plan.hooks).decode())
    else:
        for hook in plan.hooks:
            guard = " guard" if hook.is_guard else ""
            click.echo(f"{hook.event:18} {hook.matcher or '*':12} {hook.name}{guard}  {hook.file}")
        click.echo(
            f"{len(plan.hooks)} hooks; on failure: {plan.on_failure or 'ask a person, warn where there is none'}"
        )
    for note in plan.diagnostics:
        click.echo(f"{note.message}. At {note.where}.", err=True)


@command.command(name="test", epilog="Example: compositor hooks test PreToolUse --input call.json")
@click.argument("event")
@click.option(
    "--input", "file", metavar="FILE", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON object with the event's input, such as tool_name and tool_input.",
)  # fmt: skip
@_PROJECT
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def test_command(*, event: str, file: Path, project: Path | None, as_json: bool) -> int:
    """Run the hooks of EVENT on an input and show what each answers. Exit code 1 when one blocks or fails."""
    import anyio

    from compositor.policy.hook_output import plan_answer
    from compositor.policy.hook_table import EVENTS
    from compositor.policy.hooks import chosen_hooks

    if event not in EVENTS:
        raise UsageError(f"{event!r} is no hook event", hint=f"One of {', '.join(sorted(EVENTS))}")
    try:
        fields = json.loads(file.read_bytes())
    except ValueError as problem:
        raise UsageError(f"{str(file)!r} is no JSON: {problem}") from problem
    if not isinstance(fields, dict):
        raise UsageError(f"{str(file)!r} holds no JSON object")
    plan, cwd = _plan(project)
    chosen = chosen_hooks(plan, event, fields)
    payload = json.dumps({"session_id": "test", "cwd": cwd, "hook_event_name": event, **fields}).encode()
    reports = anyio.run(_run_all, chosen, payload, cwd)
    answer = plan_answer(reports, plan.on_failure, interactive=True) if event == "PreToolUse" else None
    if as_json:
        rows = [{"hook": report.hook.name, **_said(report)} for report in reports]
        joined = None if answer is None else msgspec.to_builtins(answer)
        click.echo(msgspec.json.encode({"event": event, "hooks": rows, "answer": joined}).decode())
    else:
        for report in reports:
            said = ", ".join(f"{key}: {value}" for key, value in _said(report).items())
            click.echo(f"{report.hook.name}: {said or 'no objection'}")
        click.echo(f"{len(reports)} of {len(plan.hooks)} hooks hear this.")
    bad = any(report.failure or report.blocked or report.decision == "deny" for report in reports)
    return ExitCode.FAILED if bad else ExitCode.OK


async def _run_all(hooks: tuple[Hook, ...], payload: bytes, cwd: str) -> list[HookReport]:
    from compositor.adapters.hooks.runner import ChildHookRunner
    from compositor.policy.hook_output import read_report

    with tempfile.TemporaryDirectory() as folder:
        runner = ChildHookRunner(env=os.environ, project=cwd, session_id="test", folder=folder)
        return [read_report(hook, await runner.run(hook, payload, cwd)) for hook in hooks]


def _said(report: HookReport) -> dict[str, Any]:
    """What a report says beside nothing."""
    fields: dict[str, Any] = msgspec.to_builtins(report)
    return {key: value for key, value in fields.items() if key != "hook" and value}


def _plan(project: Path | None) -> tuple[HookPlan, str]:
    from compositor.adapters.settings_files import find_places, load_settings
    from compositor.policy.hooks import plan_hooks

    cwd = project_folder(project)
    return plan_hooks(load_settings(find_places(cwd, os.environ))), cwd
