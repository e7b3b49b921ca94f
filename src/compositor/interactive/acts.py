"""What the commands do that look at the session or change where it stands.

Decides their words; figures and changes are those of the session and of the program's commands.
"""

from __future__ import annotations

from typing import Final

from anyio import to_thread

from compositor.cli.inputs import with_prompt
from compositor.cli.report import cached_line, omission_lines, region_lines, source_rows, table_lines
from compositor.loop.session import compile_next

from .here import Here

INIT_PROMPT: Final = """\
Look at this project and write a CLAUDE.md in its root for whoever works here next, a person or an agent. Say in at most a page what cannot be \
seen at a glance: how to build, test and lint it, including how to run a single test; how the parts fit together where that takes several \
files to understand; and the rules that the project holds itself to. Take over what README, AGENTS.md and rule files of other tools say and \
leave out what every project says. If there is a CLAUDE.md already, improve it and keep what is right."""


async def clear(here: Here, _argument: str) -> None:
    await here.agent.clear()
    here.screen.note("A new conversation begins; the old one stays in the transcript.")


async def compact(here: Here, argument: str) -> None:
    if here.agent.conversation.leaf is None:
        here.screen.note("There is nothing to compact yet.")
        return
    await here.agent.compact(argument)


async def context(here: Here, _argument: str) -> None:
    compiled = compile_next(with_prompt(here.agent.conversation, None)[0])
    rows = source_rows(compiled)
    window = here.opened.contract.window.tokens
    for line in (
        *region_lines(compiled),
        f"window: {window:,} tokens; {here.status.tokens / window:.0%} used",
        cached_line(compiled, rows),
        "",
        *table_lines(rows, here.screen.width, size=compiled.size, base=here.project),
        *omission_lines(compiled.omissions),
    ):
        here.screen.line(line)


async def explain(here: Here, argument: str) -> None:
    from compositor.cli.main import cli, run_command

    number = f":{argument}" if argument.isdecimal() else ""
    words = ["explain", f"{here.session_id}{number}", "--project", here.project]
    await to_thread.run_sync(run_command, cli, words)


async def tasks(here: Here, _argument: str) -> None:
    from compositor.adapters.tools.task_list import TaskList

    listed = TaskList(here.home / "tasks" / f"{here.session_id}.json")
    for task in listed.all():
        here.screen.line(listed.line(task))
    if not listed.all():
        here.screen.note("There are no tasks.")
    here.screen.line(f"in the background: {here.services.background.described()}")


async def status(here: Here, _argument: str) -> None:
    contract = here.opened.contract
    left = here.status.left()
    cache = "empty" if left is None else "expired" if left <= 0 else f"{int(left)} seconds left"
    for name, value in (
        ("model", contract.model),
        ("mode", "" if here.agent.modes is None else here.agent.modes.mode.value),
        ("context", f"{here.status.tokens:,} of {contract.window.tokens:,} tokens"),
        ("cache", f"{cache}{f'; the last answer: {here.status.cache}' if here.status.cache else ''}"),
        ("money", f"${here.status.dollars:.4f}"),
        ("project", here.project),
        ("session", here.session_id),
        ("transcript", str(here.transcript)),
        ("requests to", here.line.endpoint.url),
    ):
        here.screen.line(f"{name:12} {value}")


async def init(here: Here, _argument: str) -> None:
    await here.submit(INIT_PROMPT)


async def leave(here: Here, _argument: str) -> None:
    here.go(None, None)
