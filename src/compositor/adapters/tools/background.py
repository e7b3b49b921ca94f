"""Commands that run on while the model does something else.

Decides how they are started, bounded and ended: in a session of their own, into a private file, with a time limit, and none of them
outlives the agent's session. Never decides what runs.
"""

from __future__ import annotations

import codecs
import contextlib
import enum
import os
import secrets
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from .output import KILL_BYTES, clean_output
from .process import end_session

DEFAULT_SECONDS = 1_800.0
MAX_SECONDS = 7_200.0
MAX_RUNNING = 20
"""So many may run at once."""

_LOOK_SECONDS = 0.2
_LOOK_BYTES = 256 * 1024


class State(enum.StrEnum):
    RUNNING = "running"
    ENDED = "ended"
    TIMED_OUT = "timed out"
    STOPPED = "stopped"
    TOO_LONG = "stopped: it wrote too much"


class Look(Struct, frozen=True, kw_only=True):
    """What a task has written since the last look. `more`: there is more already; `code` is the exit code once it ended."""

    text: str
    state: State
    code: int | None
    more: bool = False


class BackgroundTask:
    """One running command. `path` is the file with all of its output."""

    def __init__(
        self, task_id: str, command: str, process: subprocess.Popen[bytes], path: Path, seconds: float
    ) -> None:
        self.id = task_id
        self.command = command
        self.path = path
        self._process = process
        self._seconds = seconds
        self._state = State.RUNNING
        self._stop = threading.Event()
        self._offset = 0
        self._is_seen = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._watch = threading.Thread(target=self._attend, name=f"background-{task_id}", daemon=True)
        self._watch.start()

    @property
    def state(self) -> State:
        return self._state

    @property
    def code(self) -> int | None:
        """The exit code, once it has ended."""
        return self._process.returncode

    @property
    def is_seen(self) -> bool:
        """Whether the model has seen that it ended, by a look of its own."""
        return self._is_seen

    def look(self) -> Look:
        """What came since the last look. The state is taken first: output that was there at the end is never missed."""
        state, code = self._state, self._process.returncode
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read(_LOOK_BYTES)
            more = bool(file.read(1))
        self._offset += len(data)
        is_last = state is not State.RUNNING and not more
        self._is_seen = self._is_seen or is_last
        text = clean_output(self._decoder.decode(data, final=is_last))
        return Look(text=text, state=state, code=code, more=more)

    def stop(self) -> None:
        """End the command and everything below it; returns when that is done."""
        self._stop.set()
        self._watch.join()

    def _attend(self) -> None:
        deadline = time.monotonic() + self._seconds
        end = State.ENDED
        while self._process.poll() is None:
            if self._stop.wait(_LOOK_SECONDS):
                end = State.STOPPED
            elif time.monotonic() > deadline:
                end = State.TIMED_OUT
            elif self.path.stat().st_size > KILL_BYTES:
                end = State.TOO_LONG
            if end is not State.ENDED:
                break
        end_session(self._process.pid)
        self._process.wait()
        self._state = end


class Background:
    """The background commands of one session, by id. `close` ends all of them."""

    def __init__(self) -> None:
        self._tasks: dict[str, BackgroundTask] = {}

    def start(
        self, words: Sequence[str], command: str, *, cwd: str, env: Mapping[str, str], folder: str, seconds: float
    ) -> BackgroundTask | str:
        """The task, or why there is none. Raises `OSError` when it cannot be started."""
        if sum(task.state is State.RUNNING for task in self._tasks.values()) >= MAX_RUNNING:
            return f"{MAX_RUNNING} background commands are running already. End one with TaskStop."
        task_id = f"bash_{len(self._tasks) + 1}"
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        path = Path(folder, f"{task_id}-{secrets.token_hex(4)}.txt")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_APPEND, 0o600)
        try:
            process = subprocess.Popen(  # noqa: S603  # what runs was decided by the gate
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )
        finally:
            os.close(descriptor)
        task = BackgroundTask(task_id, command, process, path, seconds)
        self._tasks[task_id] = task
        return task

    def find(self, task_id: str) -> BackgroundTask | None:
        return self._tasks.get(task_id)

    @property
    def tasks(self) -> tuple[BackgroundTask, ...]:
        return tuple(self._tasks.values())

    def described(self) -> str:
        """All tasks with their state, in one line for the model."""
        return ", ".join(f"{task.id} ({task.state.value})" for task in self._tasks.values()) or "none"

    def close(self) -> None:
        """End everything that still runs. Idempotent."""
        for task in self._tasks.values():
            with contextlib.suppress(OSError):
                task.stop()
