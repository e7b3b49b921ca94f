"""Start-up as a count of modules and as a ratio to a bare interpreter, bytecode compiled.

Decides the commands that are measured. `PYTHONDONTWRITEBYTECODE` is unset for the children: with it a start measures the compiler.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

from benchmarks.measure import Row
from benchmarks.measure import table as measured

WAYS = {
    "import compositor": ["-c", "import compositor"],
    "compositor --help": ["-m", "compositor", "--help"],
    "compositor compile --help": ["-m", "compositor", "compile", "--help"],
    "import httpx2": ["-c", "import httpx2"],
}


def rows(rounds: int = 7) -> list[Row]:
    floor = _child_cpu(["-c", "pass"], rounds)
    return [
        Row(name=name, value=_child_cpu(arguments, rounds), floor=floor, floor_name="bare interpreter")
        for name, arguments in WAYS.items()
    ]


def table(found: list[Row]) -> str:
    """The times, then the modules that each way in loads."""
    lines = [measured(found), "modules loaded"]
    lines.extend(f"{name:44} {count:10}" for name, count in module_counts().items())
    return "\n".join(lines)


def module_counts() -> dict[str, int]:
    """How many modules each way in loads."""
    program = "import sys; {}; print(len(sys.modules))"
    return {
        "bare interpreter": _count(program.format("pass")),
        "import compositor": _count(program.format("import compositor")),
        "import compositor.cli.main": _count(program.format("import compositor.cli.main")),
    }


def _count(program: str) -> int:
    return int(subprocess.run([sys.executable, "-c", program], env=_env(), capture_output=True, check=True).stdout)


def _child_cpu(arguments: list[str], rounds: int) -> float:
    """CPU milliseconds of the quickest of several child processes; one run before them warms the bytecode."""
    best = float("inf")
    for _ in range(rounds + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], env=_env(), stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best * 1000


def _env() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
