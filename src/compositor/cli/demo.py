"""`compositor demo`: a whole turn without a key, on a copy of a small project; what `make run` shows.

Decides what is run: the sample project with its script, or for another project one turn with a key and the explained request without
one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from compositor.cli.watching import TextWatcher
    from compositor.runtime.events import AgentEvent

SAMPLE_PROMPT = "The tests of greeter fail. Find out why and fix it. Then let it listen on port 4000."
# The sample may do what its script does, and nothing else.
SAMPLE_RULES = ("Edit(greeter.py)", "Edit(config.py)", "Bash(python3 -m unittest -q)")


@click.command(name="demo")
@click.option(
    "--project",
    envvar="COMPOSITOR_DEMO_PROJECT",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="A project of your own instead of the sample.",
)
@click.option("--prompt", envvar="COMPOSITOR_DEMO_PROMPT", metavar="TEXT", help="What to ask.")
def command(project: str | None, prompt: str | None) -> int:
    """Run a scripted turn on a copy of a sample project; no key is needed and no model is called.

    With --project: one real turn when there is a key, otherwise the compiled request of that project, explained.
    """
    if project is not None:
        return _own_project(project, prompt)
    return _sample(prompt or SAMPLE_PROMPT)


def _sample(prompt: str) -> int:
    from compositor.adapters.project_copy import copy_project
    from compositor.cli.inputs import opening_from
    from compositor.cli.run import exit_code
    from compositor.cli.running import keep_requests, read_script, run_turn, scripted_line
    from compositor.cli.watching import TextWatcher, end_line
    from compositor.opened import open_session

    examples = _examples()
    copy = copy_project(str(examples / "greeter")).path
    values: dict[str, Any] = {"allowed_tools": SAMPLE_RULES, "setting_sources": "project"}
    opened = open_session(opening_from(values, project=copy))
    line = scripted_line(read_script(str(examples / "demo.yaml")), opened)
    watcher = TextWatcher(detailed=True)
    watcher.note(f"A script plays the model; no model is called. Project (a copy): {copy}")
    watcher.note(f"Prompt: {prompt}")
    ran = run_turn(opened, prompt, line, _with_formatter(watcher, Path(copy)))
    folder = keep_requests(line, opened.home, opened.header.session_id)
    watcher.note(f"\n{end_line(ran.result, opened.contract)} (figures of the stand-in)")
    watcher.note(f"transcript: {_transcript(opened)}")
    watcher.note(f"requests:   {folder}")
    watcher.note(f"explain:    compositor explain {opened.header.session_id[:8]} --project {copy}")
    watcher.note("No model was called.")
    return exit_code(ran)


def _with_formatter(watcher: TextWatcher, project: Path) -> Callable[[AgentEvent], None]:
    """Plays an editor that formats a file once the model has edited it: what a model must be told, once and with the difference (R297)."""
    from compositor.runtime.events import CallEnded

    config = project / "config.py"

    def watch(event: AgentEvent) -> None:
        watcher(event)
        if isinstance(event, CallEnded) and event.call.name == "Edit" and b"config.py" in bytes(event.call.input):
            config.write_text(config.read_text("utf-8").replace("'", '"'), "utf-8")
            watcher.note("  (a formatter, played by this demo, changes the quotes in config.py)")

    return watch


def _transcript(opened: Any) -> str:
    from compositor.adapters.sessions.reading import find_session

    return str(find_session(Path(opened.home), opened.header.session_id, cwd=opened.around.cwd))


def _own_project(project: str, prompt: str | None) -> int:
    from compositor.adapters.providers.credentials import resolve_endpoint
    from compositor.cli.explain import command as explain
    from compositor.cli.main import run_command
    from compositor.cli.run import command as run

    # Behind the two dashes nothing is taken for a flag.
    words = ["--project", project, *(["--", prompt] if prompt else [])]
    if prompt and resolve_endpoint(os.environ).has_credentials:
        return run_command(run, words)
    code = run_command(explain, words)
    click.echo("\nNothing was sent: for a real turn set ANTHROPIC_API_KEY and give a prompt.")
    return code


def _examples() -> Path:
    """The folder with the samples: beside the sources in a checkout, inside the package when it is installed."""
    package = Path(__file__).resolve().parent.parent
    places = (package.parent.parent / "examples", package / "_examples")
    return next(place for place in places if (place / "demo.yaml").is_file())
