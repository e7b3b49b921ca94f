"""The whole program against a server on this machine that plays the Messages API: a key that is none, real sockets, real time."""

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compositor.emulator.core import Data, Emulator, Pause, Request, Reset, Step
from compositor.emulator.script import parse_script
from tests.cli.program import (
    GREETER,
    command_line,
    environment,
    read_until,
    records,
    run_program,
    snapshot,
    start_program,
)

pytestmark = pytest.mark.edges

KEY = "sk-loopback-4f8a2c"
PROMPT = "Describe this project."


class Service:
    """An HTTP server in a thread of its own; the emulator answers. `bodies` and `heads` have one item a request."""

    def __init__(self, *turns: dict[str, Any]) -> None:
        self.emulator = Emulator(parse_script(json.dumps({"turns": turns})))
        self.bodies: list[bytes] = []
        self.heads: list[dict[str, str]] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._stop: asyncio.Event
        self.url = ""

    def __enter__(self) -> "Service":
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_problem: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)

    def environment(self, **changes: str) -> dict[str, str]:
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": KEY, **changes}

    def _work(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:-2])}
                body = await reader.readexactly(int(headers["content-length"]))
                self.heads.append(headers)
                self.bodies.append(body)
                reply = self.emulator.answer(Request(method=method, path=path, headers=headers, body=body))
                lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in reply.headers)]
                writer.write("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode())
                for step in reply.steps:
                    await self._perform(step, writer)
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _perform(self, step: Step, writer: asyncio.StreamWriter) -> None:
        match step:
            case Data(data=data):
                writer.write(b"%x\r\n%b\r\n" % (len(data), data))
                await writer.drain()
            case Pause(seconds=seconds):
                await asyncio.sleep(seconds)
            case Reset():
                writer.transport.abort()
            case _:
                await asyncio.sleep(60)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("CLAUDE.md", "greeter.py"):
        (folder / name).write_bytes((GREETER / name).read_bytes())
    return folder


def below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()


def test_a_turn_over_a_real_connection(home: Path, project: Path) -> None:
    before = snapshot(project)
    with Service({"say": "I look.", "do": [{"read": "greeter.py"}]}, {"say": "It greets."}) as service:
        ended = run_program("run", PROMPT, cwd=project, home=home, **service.environment())
    assert (ended.code, ended.out) == (0, "I look.\nIt greets.\n")
    assert [head["x-api-key"] for head in service.heads] == [KEY, KEY]
    first, second = map(json.loads, service.bodies)
    assert first["messages"][-1]["content"][-1]["text"] == PROMPT
    assert second["messages"][-1]["content"][0]["type"] == "tool_result"
    assert [recorded.status for recorded in service.emulator.requests] == [200, 200]
    assert snapshot(project) == before


def test_what_compile_shows_is_what_is_sent(home: Path, project: Path) -> None:
    with Service({"say": "Hello."}) as service:
        # The same endpoint: what a gateway is not asked for is not shown either.
        shown = run_program("compile", PROMPT, "--body", cwd=project, home=home, **service.environment())
        run_program("run", PROMPT, cwd=project, home=home, **service.environment())
    assert [body.decode() for body in service.bodies] == [shown.out]


def test_the_key_is_nowhere_but_in_the_header(home: Path, project: Path) -> None:
    """Not in what is printed, not in what is stored, not in what a tool's process sees."""
    (project / "show.py").write_text("import os\nprint(dict(os.environ))\n", "utf-8")
    everything: list[str] = []
    for form in ("text", "json", "stream-json"):
        with Service({"do": [{"run": "python3 show.py"}]}, {"say": "Done."}) as service:
            words = ("run", PROMPT, "--output-format", form, "--allowed-tools", "Bash(python3 show.py)")
            ended = run_program(*words, cwd=project, home=home, **service.environment())
        assert ended.code == 0
        assert "PATH" in service.bodies[1].decode()
        everything += [ended.out, ended.err, *(body.decode() for body in service.bodies)]
    assert len(records(home)) == 3
    assert [path for path, data in below(home) if KEY.encode() in data] == []
    assert [text for text in everything if KEY in text] == []


def test_a_refused_key_is_one_sentence_without_the_key(home: Path, project: Path) -> None:
    refused = {"say": "x", "faults": [{"status": 401, "message": "invalid x-api-key"}]}
    with Service(refused) as service:
        ended = run_program("run", PROMPT, cwd=project, home=home, **service.environment())
    assert (ended.code, ended.out, len(service.bodies)) == (4, "", 1)
    assert "invalid x-api-key" in ended.err
    assert KEY not in ended.err
    assert "Traceback" not in ended.err


def test_text_arrives_while_it_is_written(home: Path, project: Path) -> None:
    """The first word is on standard output long before the last one leaves the server."""
    slow = {"say": " ".join(f"word{number}" for number in range(12)), "faults": [{"slow": 0.3}]}
    with Service(slow) as service:
        process = start_program("run", PROMPT, cwd=project, home=home, **service.environment())
        read_until(process.stdout, b"word0")
        first = time.monotonic()
        rest = process.stdout.read() if process.stdout is not None else b""
        last = time.monotonic()
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, rest.endswith(b"word11\n")) == (0, True)
    assert b"Traceback" not in errors
    assert last - first > 0.6


def test_a_busy_service_gets_the_same_bytes_again(home: Path, project: Path) -> None:
    busy = {"say": "Hello.", "faults": [{"status": 529, "retry_after": 0.1}, {"torn": 3}, {"reset": 0}]}
    with Service(busy) as service:
        words = ("run", PROMPT, "--output-format", "stream-json")
        ended = run_program(*words, cwd=project, home=home, **service.environment())
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert (ended.code, lines[-1]["result"]) == (0, "Hello.")
    assert [line["attempt"] for line in lines if line.get("subtype") == "api_retry"] == [1, 2, 3]
    assert len(service.bodies) == 4
    assert len(set(service.bodies)) == 1


def test_nobody_listens(home: Path, project: Path) -> None:
    with Service({"say": "x"}) as service:
        url = service.url
    started = time.monotonic()
    process = start_program("run", PROMPT, cwd=project, home=home, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY=KEY)
    shown = read_until(process.stderr, b"retry 1 of ")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in shown + errors
    assert time.monotonic() - started < 20


def test_a_session_goes_on_with_the_bytes_that_were_sent(home: Path, project: Path) -> None:
    """The second process sends the recorded head, and the first turn unchanged, although the project has changed since."""
    with Service({"say": "One."}, {"say": "Two."}, {"say": "Three."}) as service:
        run_program("run", "first", cwd=project, home=home, **service.environment())
        (project / "CLAUDE.md").write_text("Something else.", "utf-8")
        second = run_program("run", "second", "--continue", cwd=project, home=home, **service.environment())
        session = re.search(r"^session (.+)$", second.err, re.MULTILINE)
        assert session is not None
        third = run_program("run", "third", "--resume", session[1][:8], cwd=project, home=home, **service.environment())
    assert (second.code, second.out, third.code, third.out) == (0, "Two.\n", 0, "Three.\n")
    assert len(records(home)) == 1
    bodies = [json.loads(body) for body in service.bodies]
    for before, after in ((bodies[0], bodies[1]), (bodies[1], bodies[2])):
        assert (after["tools"], after["system"]) == (before["tools"], before["system"])
        assert _bare(after["messages"])[: len(before["messages"])] == _bare(before["messages"])
    uses = [recorded.use for recorded in service.emulator.requests]
    assert all(use is not None and use.read > 0 for use in uses[1:])


def _bare(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**message, "content": [{**block, "cache_control": None} for block in message["content"]]}
        for message in messages
    ]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_text_arrives(number: signal.Signals, code: int, home: Path, project: Path) -> None:
    """What has arrived is printed, the connection is closed, and the session goes on with a legal request."""
    slow = {"say": " ".join(f"word{number}" for number in range(40)), "faults": [{"slow": 0.2}]}
    with Service(slow, {"say": "On we go."}, {"say": "On we go."}) as service:
        process = start_program("run", PROMPT, cwd=project, home=home, **service.environment())
        shown = read_until(process.stdout, b"word0")
        process.send_signal(number)
        out, errors = process.communicate(timeout=20)
        assert (process.returncode, b"Traceback" in errors) == (code, False)
        assert b"word39" not in shown + out
        ended = run_program("run", "go on", "--continue", cwd=project, home=home, **service.environment())
    assert (ended.code, ended.out) == (0, "On we go.\n")
    assert [recorded.status for recorded in service.emulator.requests] == [200, 200]


def test_a_run_in_the_background_of_a_closed_terminal(home: Path, project: Path) -> None:
    """No standard stream at all: the turn is run and stored."""
    with Service({"say": "Hello."}) as service:
        ran = subprocess.run(
            ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *map(os.fsdecode, command_line("run", PROMPT))],
            cwd=project,
            env=environment(home, **service.environment()),
            timeout=60,
            check=False,
        )
    assert ran.returncode == 0
    ((_, *lines),) = records(home)
    assert "assistant" in {line["type"] for line in lines}
