"""The command `compositor`: a table of sub-commands, each loaded when it is called.

Decides names, one-line helps and how an error ends the process: one sentence on standard error, a documented exit code, no
traceback. Does nothing else.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Any, NoReturn

import click

from compositor._version import __version__
from compositor.errors import CompositorError, ExitCode

# Command name -> what it does. The order is that of the help text; the module is compositor.cli.<name>.
COMMANDS: dict[str, str] = {
    "chat": "Talk with the agent; what `compositor` does by itself on a terminal.",
    "run": "Run one prompt to its end: model, gate, tools, answer.",
    "acp": "Serve an editor with the Agent Client Protocol.",
    "compile": "Compile the request of a prompt and print it; sends nothing.",
    "explain": "Show what stands in a request, byte by byte, and what was left out.",
    "check": "Check request bodies against the rules of the wire.",
    "diff": "Show where two requests part, who did it, and what it costs.",
    "cost": "Show what each request of a session cost.",
    "replay": "Replay recorded transcripts: tokens, money, cache breaks, and what would be cheaper.",
    "tools": "List the tools of a run, what they cost, and why others are not there.",
    "mcp": "Show, add, remove, approve and test MCP servers.",
    "skills": "List the skills that are found here, and those that do not count, with the reason.",
    "commands": "List the command files that are found here, in the same way.",
    "agents": "List the agents that are found here, in the same way.",
    "permissions": "Ask the gate about a call, a rule or a path; runs nothing.",
    "hooks": "List hooks, and try those of an event.",
    "settings": "Show every setting with the file and line it comes from.",
    "sessions": "List the stored sessions.",
    "compact": "Summarize a session, see what that would do, or take it back.",
    "memory": "Report the instruction files that apply here, their cost, and what is wrong with others.",
    "models": "Show what is known about models, platforms and prices.",
    "emulator": "Serve a stand-in for the Messages API on a port; no model is called.",
    "record": "Pass requests through to a service and write each down with its answer.",
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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """On a terminal no command means the prompt, with whatever flags there are."""
        if _means_chat(args):
            args = ["chat", *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _means_chat(args: list[str]) -> bool:
    is_own = bool(args) and (not args[0].startswith("-") or args[0] in {"-h", "--help", "--version"})
    return not is_own and sys.stdin.isatty() and sys.stdout.isatty()


# "\b" alone on a line keeps the lines below it as they are.
_HELP = """Compile, explain and run the model requests of a coding agent.

\b
  compositor                              talk with the agent here
  compositor run "fix the failing test"   one turn in this directory
  compositor compile "fix it" --json      the request as data; sends nothing
  compositor explain "fix it"             who put what into it, and why
"""


@click.group(
    cls=LazyGroup, help=_HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="compositor")
def cli() -> None:
    """Run a sub-command."""


def main() -> NoReturn:
    """The entry point. Exit codes: see `compositor.errors.ExitCode` and docs/reference/commands.md."""
    _open_streams()
    code = run_command(cli, sys.argv[1:])
    sys.exit(code if _flushed() else code or ExitCode.FAILED)


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
    except SystemExit:
        # How click ends when the reader of our output is gone; nothing more can be said to it.
        return ExitCode.FAILED
    except OSError as problem:
        place = f" At {os.fsdecode(problem.filename)}." if problem.filename else ""
        return _report(f"Error: {problem.strerror or problem}.{place}", ExitCode.FAILED)
    return outcome if isinstance(outcome, int) else ExitCode.OK


def _open_streams() -> None:
    """Put the null device where the caller closed a standard stream, and let no character stop a line of text.

    Else the next file that is opened, a transcript perhaps, would be what a child process takes for its output.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flushed() -> bool:
    """Whether all output went out. What did not is dropped: the interpreter would try again, and complain, at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def _report(sentence: str, code: ExitCode) -> int:
    click.echo(sentence, err=True)
    return code
