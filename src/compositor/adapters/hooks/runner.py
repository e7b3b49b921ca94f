"""Runs handlers of hooks: a child process with the input on its standard input, a POST to an HTTP server, or a way that is handed in.

Performs one handler and says what came back. Decides nothing: what it means stands in `policy/hook_output.py`. Handlers that came with the
repository do not see credentials.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import anyio
from msgspec import Struct

from compositor.adapters.home import write_private
from compositor.adapters.tools.environment import child_environment
from compositor.adapters.tools.process import Ending, Sink, run_process
from compositor.policy.hook_handlers import Hook, HookKind
from compositor.policy.hook_output import Ended, HookRun
from compositor.ports import HandlerWay

MAX_OUTPUT = 1_000_000
"""Bytes of one stream of a handler that are kept; the rest is read and dropped."""
PREVIEW = 2_000


class _Started(Struct, frozen=True):
    hook: Hook
    process: subprocess.Popen[bytes]
    output: str
    errors: str
    until: float


class ChildHookRunner:
    """The handlers of one session. `folder` takes long texts and the output of those in the background; `project` is the start directory.

    `ways` run the kinds that are neither: a tool of a server, a question to a model.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        project: str,
        session_id: str,
        folder: str,
        ways: Mapping[HookKind, HandlerWay] = MappingProxyType({}),
    ) -> None:
        self._ways = ways
        self._folder = Path(folder)
        self._env = {name: value for name, value in env.items() if not name.startswith("OTEL_")}
        self._own = {"CLAUDE_PROJECT_DIR": project, "CLAUDE_CODE_SESSION_ID": session_id, "CLAUDECODE": "1"}
        self._started: list[_Started] = []
        self._kept = 0

    async def run(self, hook: Hook, payload: bytes, cwd: str) -> HookRun:
        try:
            if hook.kind is HookKind.HTTP:
                return await self._post(hook, payload)
            if hook.kind is HookKind.COMMAND:
                return await self._run(hook, payload, cwd)
            return await self._by_other_way(hook, payload)
        except OSError as problem:
            return HookRun(ended=Ended.NOT_STARTED, stderr=problem.strerror or str(problem))

    def start(self, hook: Hook, payload: bytes, cwd: str) -> None:
        number = len(self._started)
        output, errors = (str(self._folder / f"hook-{os.getpid()}-{number}.{name}") for name in ("out", "err"))
        try:
            with _input(payload) as stdin, Path(output).open("wb") as out, Path(errors).open("wb") as err:
                process = subprocess.Popen(  # noqa: S603  # what runs stands in settings
                    _command(hook),
                    stdin=stdin,
                    stdout=out,
                    stderr=err,
                    cwd=cwd,
                    env=self._environment(hook),
                    start_new_session=True,
                )
        except OSError:
            return
        self._started.append(_Started(hook, process, output, errors, time.monotonic() + hook.seconds))

    def finished(self) -> tuple[tuple[Hook, HookRun], ...]:
        found: list[tuple[Hook, HookRun]] = []
        for one in tuple(self._started):
            code = one.process.poll()
            if code is None and time.monotonic() < one.until:
                continue
            self._started.remove(one)
            if code is None:
                _end(one.process)
                found.append((one.hook, HookRun(ended=Ended.TIMED_OUT)))
                continue
            texts = [
                Path(path).read_bytes()[:MAX_OUTPUT].decode("utf-8", "replace") for path in (one.output, one.errors)
            ]
            found.append((one.hook, HookRun(ended=Ended.EXITED, code=code, stdout=texts[0], stderr=texts[1])))
        return tuple(found)

    def keep(self, text: str) -> str:
        self._kept += 1
        path = self._folder / f"hook-text-{os.getpid()}-{self._kept}.txt"
        write_private(path, text.encode("utf-8", "replace"))
        return f"{text[:PREVIEW]}\n[{len(text):,} characters in all; the whole text is in {path}]"

    def close(self) -> None:
        for one in self._started:
            _end(one.process)
        self._started.clear()

    async def _run(self, hook: Hook, payload: bytes, cwd: str) -> HookRun:
        output, errors = bytearray(), bytearray()
        with _input(payload) as stdin:
            end = await run_process(
                _command(hook),
                cwd=cwd,
                env=self._environment(hook),
                seconds=hook.seconds,
                output=_sink(output),
                errors=_sink(errors),
                stdin=stdin,
            )
        if end.ending is not Ending.EXITED or end.code is None:
            return HookRun(ended=Ended.TIMED_OUT)
        texts = [bytes(part).decode("utf-8", "replace") for part in (output, errors)]
        return HookRun(ended=Ended.EXITED, code=end.code, stdout=texts[0], stderr=texts[1])

    async def _by_other_way(self, hook: Hook, payload: bytes) -> HookRun:
        way = self._ways.get(hook.kind)
        if way is None:
            return HookRun(
                ended=Ended.NOT_STARTED, stderr=f"only a session runs handlers of the kind {hook.kind.value!r}"
            )
        try:
            with anyio.fail_after(hook.seconds):
                return await way(hook, payload)
        except TimeoutError:
            return HookRun(ended=Ended.TIMED_OUT)
        except Exception as problem:  # noqa: BLE001  # a handler that fails gives no verdict, whatever the fault is (R371)
            return HookRun(ended=Ended.EXITED, code=1, stderr=f"{type(problem).__name__}: {problem}")

    async def _post(self, hook: Hook, payload: bytes) -> HookRun:
        import httpx2  # heavy: only an HTTP handler needs it

        headers = {name: self._filled(value, hook) for name, value in hook.headers}
        try:
            with anyio.fail_after(hook.seconds):
                # No redirects: the address was what a person allowed.
                async with httpx2.AsyncClient(follow_redirects=False, timeout=hook.seconds, trust_env=False) as client:
                    answer = await client.post(
                        hook.url, content=payload, headers={"content-type": "application/json", **headers}
                    )
                    return HookRun(ended=Ended.EXITED, code=answer.status_code, stdout=answer.text[:MAX_OUTPUT])
        except (TimeoutError, httpx2.TimeoutException):
            return HookRun(ended=Ended.TIMED_OUT)
        except httpx2.HTTPError as problem:
            return HookRun(ended=Ended.NOT_STARTED, stderr=str(problem) or type(problem).__name__)

    def _filled(self, value: str, hook: Hook) -> str:
        """`$NAME` and `${NAME}` of a header, where the handler may use the variable; nothing in place of any other."""

        def put(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            return self._env.get(name, "") if name in hook.allowed_env else ""

        return re.sub(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", put, value)

    def _environment(self, hook: Hook) -> dict[str, str]:
        base = child_environment(self._env) if hook.shared else self._env
        return {**base, **self._own}


def _command(hook: Hook) -> tuple[str, ...]:
    return ("/bin/sh", "-c", hook.command) if hook.args is None else (hook.command, *hook.args)


def _sink(into: bytearray) -> Sink:
    def take(data: bytes) -> bool:
        into.extend(data[: MAX_OUTPUT - len(into)])
        return True

    return take


@contextmanager
def _input(payload: bytes) -> Iterator[int]:
    """A descriptor to read the input from. A file and not a pipe: a handler that never reads it blocks nobody."""
    with tempfile.TemporaryFile() as file:
        file.write(payload)
        file.seek(0)
        yield file.fileno()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return
    process.wait()
