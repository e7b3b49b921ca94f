"""`compositor replay` in front of a person: a bar on a real terminal, none in a pipe, and a broken-off run that goes on (real processes)."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.insight.replay.planted import begun

PROGRAM = (sys.executable, "-m", "compositor", "replay")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = b"".join(begun().lines)
    place = tmp_path / "recorded"
    place.mkdir()
    for at in range(40):
        (place / f"{at:02}.jsonl").write_bytes(lines)
    return place


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "COMPOSITOR_HOME": str(tmp_path / "state"),
        "TERM": "xterm",
        "COLUMNS": "100",
    }


def read_all(descriptor: int) -> bytes:
    """What a terminal was written, until its last writer has gone."""
    found = b""
    while True:
        try:
            piece = os.read(descriptor, 65_536)
        except OSError:
            return found
        if not piece:
            return found
        found += piece


def test_a_person_sees_a_bar_and_a_pipe_does_not(folder: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, str(folder)], stdout=subprocess.PIPE, stderr=theirs, env=environment(tmp_path)
    ) as running:
        os.close(theirs)
        shown = read_all(ours)
        assert running.stdout is not None
        tables = running.stdout.read()
    os.close(ours)
    assert running.returncode == 0
    assert b"replaying" in shown
    assert b"replaying" not in tables
    piped = subprocess.run([*PROGRAM, str(folder)], capture_output=True, env=environment(tmp_path), check=True)
    assert piped.stderr == b""
    assert piped.stdout == tables


def test_a_run_that_was_broken_off_goes_on_with_what_it_found(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "00.jsonl").read_bytes()
    for at in range(40, 2_000):
        (folder / f"{at}.jsonl").write_bytes(lines)
    env, kept = environment(tmp_path), tmp_path / "state"

    def found() -> int:
        return sum(path.is_file() and "replay" in str(path) for path in kept.rglob("*"))

    with subprocess.Popen([*PROGRAM, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as running:
        while not found() and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == b""
    before = found()
    assert 0 < before < 2_000
    again = subprocess.run([*PROGRAM, str(folder), "--json"], capture_output=True, env=env, check=True)
    assert json.loads(again.stdout)["totals"]["files"] == 2_000
    assert found() == 2_000
