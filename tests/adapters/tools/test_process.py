"""Child processes: streams, early ends, and nothing left open."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from compositor.adapters.tools.process import Ending, ProcessEnd, run_process


def ran(command: list[str], *, stop_after: int | None = None) -> tuple[ProcessEnd, bytes, bytes]:
    output, errors = bytearray(), bytearray()

    def take(data: bytes) -> bool:
        output.extend(data)
        return stop_after is None or len(output) < stop_after

    def complain(data: bytes) -> bool:
        errors.extend(data)
        return True

    async def run() -> ProcessEnd:
        return await run_process(
            command, cwd="/", env={"PATH": os.environ["PATH"]}, seconds=20, output=take, errors=complain
        )

    return anyio.run(run), bytes(output), bytes(errors)


def test_streams_can_be_kept_apart() -> None:
    end, output, errors = ran(["sh", "-c", "echo out; echo err >&2; exit 7"])
    assert end == ProcessEnd(ending=Ending.EXITED, code=7)
    assert (output, errors) == (b"out\n", b"err\n")


def test_a_sink_can_stop_the_process() -> None:
    end, output, _ = ran(["yes"], stop_after=100_000)
    assert end.ending is Ending.STOPPED
    assert 100_000 <= len(output) <= 200_000


def test_the_environment_is_exactly_what_is_given() -> None:
    _, output, _ = ran([sys.executable, "-I", "-c", "import os; print(sorted(os.environ))"])
    assert set(eval(output)) <= {"PATH", "LC_CTYPE"}


def test_all_of_a_large_output_arrives() -> None:
    _, output, _ = ran([sys.executable, "-I", "-c", "print('x' * 3_000_000)"])
    assert len(output) == 3_000_001


@pytest.mark.parametrize("command", [["/nonexistent/program"], ["sh", "-c", "true", "x" * 3_000_000]])
def test_what_cannot_be_started_raises_and_leaves_nothing_open(command: list[str]) -> None:
    ran(["true"])
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(OSError, match=r"No such file|Argument list too long"):
            ran(command)
        ran(["true"])
    assert len(list(Path("/proc/self/fd").iterdir())) == before
