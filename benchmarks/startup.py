"""Start-up as a count of modules and as a ratio to a bare interpreter, bytecode compiled.

Decides the commands that are measured. `PYTHONDONTWRITEBYTECODE` is unset for the children: with it a start measures the compiler.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Row
from benchmarks.measure import table as measured
from benchmarks.peers.scenes import SCENES
from benchmarks.peers.service import Service

ROOT = Path(__file__).resolve().parent.parent
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


class Cost(NamedTuple):
    """Milliseconds of wall time and of CPU."""

    wall: float
    cpu: float


def first_byte(arguments: tuple[str, ...] = (sys.executable, "-m", "compositor", "run", "Fix the tests.")) -> Cost:
    """A client in an empty folder, from the start of its process to the first byte of its request at a server on this machine.

    `{url}` in an argument stands for the server's address.
    """
    costs: list[Cost] = []

    def noticed() -> None:
        if not costs:
            costs.append(Cost((time.perf_counter() - begun) * 1000, _cpu_so_far(process.pid)))

    with tempfile.TemporaryDirectory(prefix="compositor-start-") as folder, Service(SCENES["once"], noticed) as service:
        env = _env() | {
            "HOME": folder,
            "COMPOSITOR_HOME": f"{folder}/state",
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_BASE_URL": service.url,
            "ANTHROPIC_API_KEY": "sk-none",
        }
        given = [argument.replace("{url}", service.url) for argument in arguments]
        begun = time.perf_counter()
        process = subprocess.Popen(given, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=120)
    if process.returncode or not costs:
        raise RuntimeError(f"the client sent nothing: {said.decode()}")
    return costs[0]


def import_alone() -> Cost:
    """`python -c "import httpx2"`, the whole process."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", "import httpx2"], env=_env(), check=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall * 1000, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)


def _cpu_so_far(pid: int) -> float:
    """CPU milliseconds of a running process with all its threads; the kernel counts nanoseconds."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e6


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
