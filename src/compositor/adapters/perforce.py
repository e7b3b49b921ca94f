"""Asks Perforce about the workspace of the working directory, where the user's settings say so.

Performs two child processes within one time limit. A repository cannot ask for it: the file that names a server may be anybody's.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping

from compositor.context.memory.one_line import one_line
from compositor.context.prompt.system_context import PerforceStatus
from compositor.types.diagnostics import Diagnostic

TIMEOUT = 5.0
"""Seconds for all calls together."""
OPENED = 200
"""Opened files that are asked for."""


def read_perforce(
    cwd: str, environ: Mapping[str, str], timeout: float = TIMEOUT
) -> tuple[PerforceStatus | None, tuple[Diagnostic, ...]]:
    """The workspace, or `None` with the reason (law 6)."""
    deadline = time.monotonic() + timeout
    try:
        info = _fields(_ask(cwd, environ, deadline, "-ztag", "info"))
        opened = _ask(cwd, environ, deadline, "opened", "-m", str(OPENED))
    except (OSError, ValueError, subprocess.SubprocessError) as problem:
        reason = "it took too long" if isinstance(problem, subprocess.TimeoutExpired) else str(problem)
        message = f"There is no state of Perforce: {one_line(reason)}"
        return None, (Diagnostic("perforce.absent", message, one_line(cwd), step="perforce"),)
    files = tuple(sorted(line.strip() for line in opened.splitlines() if line.startswith("//")))
    return PerforceStatus(client=info.get("clientName", ""), stream=info.get("clientStream", ""), opened=files), ()


def _ask(cwd: str, environ: Mapping[str, str], deadline: float, *arguments: str) -> str:
    ran = subprocess.run(  # noqa: S603 - every argument is ours
        ["p4", *arguments],  # noqa: S607 - the user's own p4
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=max(deadline - time.monotonic(), 0.01),
        check=False,
    )
    if ran.returncode:
        said = (ran.stderr or ran.stdout).decode("utf-8", "replace").strip().split("\n", 1)[0]
        raise ValueError(said or f"p4 ended with code {ran.returncode}")
    return ran.stdout.decode("utf-8", "replace")


def _fields(text: str) -> dict[str, str]:
    """Lines of the form `... name value`."""
    lines = (line.removeprefix("... ").partition(" ") for line in text.splitlines() if line.startswith("... "))
    return {name: value for name, _, value in lines}
