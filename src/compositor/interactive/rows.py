"""The slash commands: name, help, and what each of them does.

Decides which there are and which may run while a turn is under way. Where a command of the program says it already, the row names its words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from anyio import to_thread
from msgspec import Struct

from . import acts, going_back, switching
from .here import Act, Here


class Row(Struct, frozen=True, kw_only=True):
    """One command. `waits`: it needs the session at rest, and waits for the end of the turn."""

    name: str
    argument: str = ""
    about: str
    act: Act
    waits: bool = False


def program(*words: str, session: bool = False, rest: bool = False) -> Act:
    """The act that prints what `compositor WORDS` prints for this project; with the `session` and the typed `rest` behind the words."""

    async def act(here: Here, argument: str) -> None:
        from compositor.cli.main import cli, run_command

        if session and here.agent.conversation.leaf is None:
            here.screen.note("Nothing was sent in this session yet.")
            return
        typed = argument.split() if rest else []
        arguments = [*words, *([here.session_id] if session else []), *typed, "--project", here.project]
        await to_thread.run_sync(run_command, cli, arguments)

    return act


async def show_help(here: Here, _argument: str) -> None:
    """List commands and keys."""
    from .keys import KEYS

    wide = max(len(f"/{row.name} {row.argument}".rstrip()) for row in ROWS)
    for row in ROWS:
        here.screen.line(f"{f'/{row.name} {row.argument}'.rstrip():{wide}}  {row.about}")
    here.screen.note(
        "\n@path puts a file into the prompt; !command runs a line in the shell; /skill-name runs a skill.\n"
    )
    for key, about in KEYS.items():
        here.screen.line(f"{key:{wide}}  {about}")


async def export(here: Here, argument: str) -> None:
    """Write the conversation out as a page."""
    from compositor.cli.main import cli, run_command

    target = argument or str(Path(here.project, f"session-{here.session_id[:8]}.md"))
    if await to_thread.run_sync(Path(target).exists) and not await here.person.confirms(
        f"{target} exists. Replace it?"
    ):
        return
    words = ["sessions", "export", here.session_id, "--format", "markdown", "-o", target, "--project", here.project]
    if not await to_thread.run_sync(run_command, cli, words):
        here.screen.note(f"Written to {target}")


ROWS: Final[tuple[Row, ...]] = (
    Row(name="help", about="Show the commands and the keys.", act=show_help),
    Row(name="clear", about="Begin a new conversation; the transcript keeps the old one.", act=acts.clear, waits=True),
    Row(name="compact", argument="[FOCUS]", about="Replace the conversation by a summary.", act=acts.compact, waits=True),
    Row(name="context", about="Show what the next request holds, by source.", act=acts.context),
    Row(name="cost", about="Show what each request cost.", act=program("cost", session=True)),
    Row(name="memory", about="Show the instruction files that apply.", act=program("memory", rest=True)),
    Row(name="model", argument="[MODEL]", about="Show the model, or switch and see what that costs.", act=switching.model, waits=True),
    Row(name="permissions", argument="[MODE]", about="Show mode and rules, or take another mode.", act=switching.permissions),
    Row(name="plan", about="Plan first: nothing is changed until you approve the plan.", act=switching.plan),
    Row(name="resume", argument="[ID]", about="Go on with another session.", act=going_back.resume, waits=True),
    Row(name="rewind", about="Go back: the conversation, the files, or both.", act=going_back.rewind, waits=True),
    Row(name="hooks", about="List the hooks.", act=program("hooks", "list")),
    Row(name="mcp", about="List the MCP servers.", act=program("mcp", "list")),
    Row(name="skills", about="List the skills.", act=program("skills")),
    Row(name="agents", about="List the agents.", act=program("agents")),
    Row(name="tasks", about="List the tasks, and the commands in the background.", act=acts.tasks),
    Row(name="status", about="Show everything the status line has no room for.", act=acts.status),
    Row(name="export", argument="[FILE]", about="Write the conversation out as Markdown.", act=export),
    Row(name="explain", argument="[NUMBER]", about="Explain a request that was sent, byte by byte.", act=acts.explain),
    Row(name="doctor", about="Check this machine and this project.", act=program("doctor")),
    Row(name="init", about="Let the model write a CLAUDE.md for this project.", act=acts.init, waits=True),
    Row(name="quit", about="End; the session can be resumed.", act=acts.leave),
)  # fmt: skip

TABLE: Final = {row.name: row for row in ROWS}


def offered(extensions: Callable[[], Sequence[tuple[str, str]]]) -> list[tuple[str, str]]:
    """What completion offers behind a slash: commands, then extensions."""
    return [*((row.name, row.about) for row in ROWS), *extensions()]
