"""Child processes that cannot outlive their call.

Decides how a command is started (own session, no input), read and ended: at the end of a call, however it ends, no process of
its session is left. Never decides what runs.
"""

from __future__ import annotations

import contextlib
import enum
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import anyio
import anyio.abc
from msgspec import Struct

Sink: TypeAlias = Callable[[bytes], bool]
"""Takes bytes as they arrive; returns False to have the process stopped."""


class CommandRunner(Protocol):
    """Runs the command of a call, as `run_process` does, wherever that is."""

    async def __call__(
        self, call_id: str, command: Sequence[str], *, cwd: str, env: Mapping[str, str], seconds: float, output: Sink
    ) -> ProcessEnd: ...


CHUNK = 64 * 1024
# How long after the command's own end its pipes are still read: a child it left behind may hold them open for ever.
_DRAIN_SECONDS = 0.3
# SIGTERM first, so that a process can clean up; then SIGKILL.
_LAST_ORDERS = ((signal.SIGTERM, 1.5), (signal.SIGKILL, 3.0))
_POLL_SECONDS = 0.02


class Ending(enum.StrEnum):
    EXITED = "exited"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"


class ProcessEnd(Struct, frozen=True, kw_only=True):
    """How a process ended. `code` is the exit code, negative for a signal. `left_running`: it had children that were still alive."""

    ending: Ending
    code: int | None
    left_running: bool = False


async def run_process(
    command: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    seconds: float,
    output: Sink,
    errors: Sink | None = None,
    stdin: int = subprocess.DEVNULL,
) -> ProcessEnd:
    """Run `command` for at most `seconds`, with the descriptor `stdin` as its input. Without `errors` both streams go to `output` in the order of their arrival.

    Raises `OSError` when it cannot be started. When the caller is cancelled, the whole session is ended first.
    """
    with contextlib.ExitStack() as pipes:
        reads: list[tuple[int, Sink]] = []
        writes: list[int] = []
        for sink in (output, errors) if errors is not None else (output,):
            read, write = os.pipe()
            pipes.callback(os.close, read)
            reads.append((read, sink))
            writes.append(write)
        try:
            # Cancelled half-way, a start could leave a process that nobody knows.
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    list(command),
                    stdin=stdin,
                    stdout=writes[0],
                    stderr=writes[-1],
                    cwd=cwd,
                    env=dict(env),
                    start_new_session=True,
                )
        finally:
            for write in writes:
                os.close(write)
        return await _attend(process, reads, seconds)


async def run_child(
    call_id: str,  # noqa: ARG001  (a child needs no name)
    command: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    seconds: float,
    output: Sink,
) -> ProcessEnd:
    """Run the command of a call as a child of this process."""
    return await run_process(command, cwd=cwd, env=env, seconds=seconds, output=output)


async def _attend(process: anyio.abc.Process, reads: Sequence[tuple[int, Sink]], seconds: float) -> ProcessEnd:
    ending = Ending.EXITED
    left_running = False
    try:
        with anyio.move_on_after(seconds) as limit:
            async with anyio.create_task_group() as group:

                def stop() -> None:
                    nonlocal ending
                    ending = Ending.STOPPED
                    group.cancel_scope.cancel()

                for read, sink in reads:
                    group.start_soon(_pump, read, sink, stop)
                await process.wait()
                group.cancel_scope.deadline = anyio.current_time() + _DRAIN_SECONDS
        if limit.cancelled_caught and process.returncode is None:
            ending = Ending.TIMED_OUT
        left_running = process.returncode is not None and _is_alive(process.pid)
    finally:
        with anyio.CancelScope(shield=True):
            await _end_session(process.pid)
            await process.wait()
            await process.aclose()
    return ProcessEnd(ending=ending, code=process.returncode, left_running=left_running)


async def _pump(read: int, sink: Sink, stop: Callable[[], None]) -> None:
    while True:
        await anyio.wait_readable(read)
        data = os.read(read, CHUNK)
        if not data:
            return
        if not sink(data):
            stop()
            return


async def _end_session(leader: int) -> None:
    for order, seconds in _LAST_ORDERS:
        if not _signal_all(leader, order):
            return
        with anyio.move_on_after(seconds):
            while _is_alive(leader):  # noqa: ASYNC110  # nobody tells us of a process that is not our child
                await anyio.sleep(_POLL_SECONDS)


def end_session(leader: int) -> None:
    """End every process of the session and all below it, and wait for that. For use outside the event loop."""
    for order, seconds in _LAST_ORDERS:
        if not _signal_all(leader, order):
            return
        deadline = time.monotonic() + seconds
        while _is_alive(leader) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)


def _signal_all(leader: int, order: signal.Signals) -> bool:
    """Send `order` to every process of the session; False when there is none left."""
    members = tuple(_members(leader))
    for member in members:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, order)
    return bool(members)


def _is_alive(leader: int) -> bool:
    return any(True for _ in _members(leader))


def _members(leader: int) -> Iterator[int]:
    """Living processes that belong to the call: those of its session, and all below them.

    A child may change its group, as `timeout` does, but keeps its session. What began a session of its own and lost its parent
    is a daemon on purpose.
    """
    table = {pid: found for pid in _pids() if (found := _parent_and_session(pid)) is not None}
    if not table:
        yield from _group_members(leader)
    for pid in table:
        ancestor: int | None = pid
        while ancestor in table and ancestor != leader and table[ancestor][1] != leader:
            ancestor = table[ancestor][0]
        if ancestor in table:
            yield pid


def _pids() -> tuple[int, ...]:
    try:
        return tuple(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    except OSError:
        return ()


def _parent_and_session(pid: int) -> tuple[int, int] | None:
    try:
        # The name in parentheses may hold anything, so the fields are counted from its end.
        state, parent, _group, session, *_ = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in {b"Z", b"X"} else (int(parent), int(session))


def _group_members(leader: int) -> Iterator[int]:
    """Where there is no /proc: the process group as one, addressed by its negative number."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, 0)
        yield -leader
