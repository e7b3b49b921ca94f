"""`compositor record` and `run --replay` with real processes and sockets: what was recorded plays back, and no credential is written down."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compositor.emulator.asgi import EmulatorApp
from compositor.emulator.core import Emulator
from compositor.emulator.profile import catalog
from compositor.emulator.script import parse_script
from compositor.emulator.server import EmulatorServer

SECRET = "sk-ant-very-secret-0001"
SCRIPT = """
turns:
  - {say: I look., do: [{read: a.txt}]}
  - {when: {result_contains: beta}, say: It says beta.}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\nbeta\n")
    return folder


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "CLAUDE"))}
    return {**kept, "HOME": str(tmp_path), "COMPOSITOR_HOME": str(tmp_path / "state"), **more}


def run(tmp_path: Path, project: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "compositor", "run", "What is in a.txt?", "--project", str(project), *words],
        env=environment(tmp_path, **env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def record(tmp_path: Path, project: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """One turn of a client against the recorder, behind which the stand-in answers."""
    server = EmulatorServer(EmulatorApp(Emulator(parse_script(SCRIPT), catalog("claude-api"))))
    with server.background() as upstream:
        words = [sys.executable, "-u", "-m", "compositor", "record", str(folder), "--upstream", upstream]
        with subprocess.Popen(words, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as recorder:
            try:
                assert recorder.stdout is not None
                address = re.search(r"http://127\.0\.0\.1:\d+", recorder.stdout.readline())
                assert address is not None
                return run(tmp_path, project, ANTHROPIC_BASE_URL=address[0], ANTHROPIC_API_KEY=SECRET)
            finally:
                recorder.terminate()
                recorder.wait(timeout=30)


def test_what_was_recorded_plays_back_without_any_service(tmp_path: Path, project: Path) -> None:
    folder = tmp_path / "exchanges"
    live = record(tmp_path, project, folder)
    assert (live.returncode, live.stdout.strip().splitlines()[-1]) == (0, "It says beta."), live.stderr
    files = sorted(folder.iterdir())
    assert [path.name for path in files] == ["0001.json", "0002.json"]
    assert not any(SECRET in path.read_text() for path in files)
    assert {path.stat().st_mode & 0o077 for path in (folder, *files)} == {0}
    first = json.loads(files[0].read_text())
    assert "x-api-key" not in first["headers"]
    assert first["answer"]["text"].startswith("event: message_start")
    checked = subprocess.run(
        [sys.executable, "-m", "compositor", "check", *map(str, files)],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout == "2 bodies checked: 0 errors, 0 warnings.\n"
    played = run(tmp_path, project, "--replay", str(folder))
    assert (played.returncode, played.stdout.strip().splitlines()[-1]) == (0, "It says beta."), played.stderr


def test_a_request_that_is_another_one_is_told_and_the_end_of_the_recording_is_an_error(
    tmp_path: Path, project: Path
) -> None:
    folder = tmp_path / "exchanges"
    record(tmp_path, project, folder)
    (project / "CLAUDE.md").write_text("Be brief.\n")
    other = run(tmp_path, project, "--replay", str(folder))
    assert "Request 1 is not the recorded one: " in other.stderr
    assert "Recorded answers are played; no model is called." in other.stderr
    (folder / "0002.json").unlink()
    short = run(tmp_path, project, "--replay", str(folder))
    assert short.returncode == 4
    assert "the recording holds 1 requests, and this is number 2" in short.stdout + short.stderr


def test_a_folder_without_recordings_and_a_used_one_are_refused(tmp_path: Path, project: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "there is no recorded request in it" in run(tmp_path, project, "--replay", str(tmp_path / "empty")).stderr
    used = tmp_path / "used"
    used.mkdir()
    (used / "0001.json").write_text("{}")
    words = [sys.executable, "-m", "compositor", "record", str(used)]
    refused = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "holds recorded requests already" in refused.stderr
