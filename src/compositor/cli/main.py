"""The command `compositor`: a table of sub-commands, each loaded when it is called.

Decides names, one-line helps and how an error ends the process: one sentence on standard error, a documented exit code, no
traceback. Does nothing else.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, NoReturn

import click

from compositor._version import __version__
from compositor.errors import CompositorError, ExitCode

# Command name -> what it does. The order is that of the help text; the module is compositor.cli.<name>.
COMMANDS: dict[str, str] = {
    "run": "Run one prompt to its end: model, gate, tools, answer.",
    "compile": "Compile the request of a prompt and print it; sends nothing.",
    "explain": "Show what stands in a request, byte by byte, and what was left out.",
    "check": "Check request bodies against the rules of the wire.",
    "sessions": "List the stored sessions.",
    "doctor": "Check this machine: key, versions, tools, settings files.",
    "demo": "Run a scripted turn on a copy of a sample project; needs no key.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that help and start-up stay light."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"compositor.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="compositor")
def cli() -> None:
    r"""Compile, explain and run the model requests of a coding agent.

    \b
    compositor run "fix the failing test"         one turn in this directory
    compositor compile "fix it" --json            the request as data, nothing is sent
    compositor explain "fix it"                   who put what into it, and why
    """


def main() -> NoReturn:
    """The entry point. Exit codes: see `compositor.errors.ExitCode` and docs/reference/commands.md."""
    sys.exit(run_command(cli, sys.argv[1:]))


def run_command(command: click.Command, arguments: list[str]) -> int:
    """Run a command line and give its exit code; every foreseen failure prints one sentence on standard error."""
    try:
        outcome: Any = command.main(arguments, prog_name="compositor", standalone_mode=False)
    except click.exceptions.Abort:
        return _report("Interrupted.", ExitCode.INTERRUPTED)
    except KeyboardInterrupt:
        return _report("Interrupted.", ExitCode.INTERRUPTED)
    except click.ClickException as problem:
        problem.show()
        return ExitCode.BAD_INPUT
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except CompositorError as problem:
        return _report(f"Error: {problem}", problem.exit_code)
    except BrokenPipeError:
        # The reader of our output is gone; nothing more can be said to it.
        sys.stderr.close()
        return ExitCode.FAILED
    return outcome if isinstance(outcome, int) else ExitCode.OK


def _report(sentence: str, code: ExitCode) -> int:
    click.echo(sentence, err=True)
    return code
