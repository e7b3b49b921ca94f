"""A line that the person runs in the shell, behind `!`.

Decides what of its output is shown and what the model is told of it with the next prompt. It is the person's own command: the gate judges what the
model wants, not this.
"""

from __future__ import annotations

from compositor.adapters.tools.output import clean_output
from compositor.adapters.tools.process import run_process
from compositor.types.origin import Origin

from .here import Here

SECONDS = 600.0
LONGEST = 20_000
"""Characters of output that the model is told, from the end."""

MOST_BYTES = 2_000_000


async def run_shell_line(here: Here, text: str) -> None:
    """Run it, show its output, and keep both for the model. Esc ends it."""
    pieces: list[bytes] = []
    size = 0

    def take(data: bytes) -> bool:
        nonlocal size
        size += len(data)
        pieces.append(data)
        return size < MOST_BYTES

    try:
        ended = await run_process(
            ["/bin/sh", "-c", text],
            cwd=here.project,
            env=here.opened.environment.variables,
            seconds=SECONDS,
            output=take,
        )
    except OSError as problem:
        here.screen.error(f"The line cannot be run: {problem.strerror or problem}")
        return
    output = clean_output(b"".join(pieces).decode("utf-8", "replace")).rstrip("\n")
    how = f"exit code {ended.code}" if ended.code is not None else ended.ending.value
    here.screen.below(output or "(no output)")
    if ended.code:
        here.screen.warn(how)
    shown = output if len(output) <= LONGEST else f"… (cut)\n{output[-LONGEST:]}"
    said = f"The user ran this line in their own shell:\n{text}\n\nIt ended with {how} and printed:\n{shown or '(nothing)'}"
    here.agent.receive(said, kind="queued_command", origin=Origin.TASK_NOTIFICATION)
