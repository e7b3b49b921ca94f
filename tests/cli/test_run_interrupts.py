"""`compositor run`: what an interrupt leaves, and how a person is asked."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import (
    HELLO,
    command_line,
    copy_of,
    environment,
    read_until,
    records,
    script,
    start_program,
)

# ------------------------------------------------------------------------------------------------------ interrupts

WAITING = """
import os, time
with open("pid.new", "w") as file:
    file.write(str(os.getpid()))
os.rename("pid.new", "pid")
time.sleep(60)
"""


def check_next_request(call: Any, tmp_path: Path, session: str, copy: Path) -> None:
    """The request after this one breaks no rule of the wire."""
    body = call("compile", "go on", "--resume", session, "--body", "--project", str(copy))
    assert body.code == 0
    file = tmp_path / "next.json"
    file.write_text(body.out, "utf-8")
    assert call("check", str(file)).out == "1 body checked: 0 errors, 0 warnings.\n"


ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_a_signal_while_the_answer_comes(
    number: signal.Signals, code: int, home: Path, project: Path, call: Any, tmp_path: Path
) -> None:
    slow = {"say": "One two three four five six seven eight nine ten.", "faults": [{"slow": 0.5}]}
    process = start_program(
        *("run", "x", "--offline", script(home, slow), "--output-format", "stream-json"), cwd=project, home=home
    )
    read_until(process.stdout, b"\n")
    _wait_for(lambda: any(record["type"] == "send" for lines in records(home) for record in lines))
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, b"Traceback" in err) == (code, False)
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["terminal_reason"], last["is_error"]) == ("result", "aborted_streaming", True)
    ((*_, outcome),) = ([record for record in lines if record["type"] == "outcome"] for lines in records(home))
    assert outcome["outcome"] == "interrupted"
    check_next_request(call, tmp_path, last["session_id"], copy_of(err.decode()))


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_a_signal_while_a_tool_runs(
    number: signal.Signals, code: int, home: Path, project: Path, call: Any, tmp_path: Path
) -> None:
    (project / "wait.py").write_text(WAITING, "utf-8")
    played = script(home, {"do": [{"run": "python3 wait.py"}]}, HELLO)
    process = start_program(
        *("run", "x", "--offline", played, "--allowed-tools", "Bash(python3 wait.py)", "--output-format", "json"),
        cwd=project,
        home=home,
    )
    copy = copy_of(read_until(process.stderr, b"\n").decode())
    _wait_for((copy / "pid").exists)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, b"Traceback" in err) == (code, False)
    result = json.loads(out)
    assert result["terminal_reason"] == "aborted_tools"
    _wait_for(lambda: not Path("/proc", (copy / "pid").read_text()).exists())
    check_next_request(call, tmp_path, result["session_id"], copy)


def test_a_reader_that_goes_away_stops_the_turn(home: Path, project: Path, call: Any, tmp_path: Path) -> None:
    slow = {"say": "One two three four five six seven eight nine ten.", "faults": [{"slow": 0.2}]}
    process = start_program("run", "x", "--offline", script(home, slow), cwd=project, home=home)
    assert process.stdout is not None
    read_until(process.stdout, b"One")
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=20), b"Traceback" in err) == (1, False)
    (lines,) = records(home)
    assert [record["outcome"] for record in lines if record["type"] == "outcome"] == ["interrupted"]
    check_next_request(call, tmp_path, lines[0]["id"], copy_of(err.decode()))


def test_a_second_signal_ends_the_process_whatever_it_waits_for(home: Path, tmp_path: Path) -> None:
    program = """
import anyio
from compositor.cli.running import Stops, _stopped_by_signals

async def work():
    stops = Stops()
    stops.heard.append(lambda: print("stopping", flush=True))
    async with _stopped_by_signals(stops):
        print("ready", flush=True)
        await anyio.sleep(60)

anyio.run(work)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment(home), stdout=subprocess.PIPE, bufsize=0
    )
    read_until(process.stdout, b"ready\n")
    # The receiver starts at the next turn of the loop.
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    assert read_until(process.stdout, b"stopping\n").endswith(b"stopping\n")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT


# -------------------------------------------------------------------------------------------------- asking a person


def _ask(home: Path, project: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A run on a terminal that has come to its question, and the person's end of that terminal."""
    played = script(home, {"do": [{"write": {"path": "made.txt", "content": "made"}}]}, HELLO)
    person, terminal = pty.openpty()
    process = subprocess.Popen(
        command_line("run", "x", "--offline", played),
        cwd=project,
        env=environment(home, COLUMNS="100"),
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    return process, person


def _read_until_question(person: int) -> str:
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(person, 1000)
    return shown.decode()


@pytest.mark.parametrize(("answer", "made"), [(b"y\n", True), (b"yes\n", True), (b"\n", False), (b"why?\n", False)])
def test_a_person_is_asked_and_only_a_yes_is_one(answer: bytes, made: bool, home: Path, project: Path) -> None:
    process, person = _ask(home, project)
    shown = _read_until_question(person)
    os.write(person, answer)
    out, _ = process.communicate(timeout=20)
    os.close(person)
    assert (process.returncode, out.decode()) == (0, "Hello 👋.\n")
    assert (copy_of(shown.replace("\r", "")) / "made.txt").exists() is made


def test_an_interrupt_at_a_question_needs_no_answer(home: Path, project: Path) -> None:
    process, person = _ask(home, project)
    shown = _read_until_question(person)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    os.close(person)
    assert process.returncode == 130
    assert not (copy_of(shown.replace("\r", "")) / "made.txt").exists()


def _wait_for(condition: Any) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen in 20 seconds")
