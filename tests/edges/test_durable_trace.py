"""With the durable setting a record is on the disk before it is acknowledged: the system calls of a real writer.

A loss of power itself is not tried here; what the kernel was asked to do, and in which order, is.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WRITER = """
import os, sys
from pathlib import Path
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.context.transcript.codec import SessionHeader
from compositor.types.blocks import TextBlock
from compositor.types.entries import UserEntry

with JsonlSession.open(Path(sys.argv[1]), SessionHeader(session_id="s1", time="t", cwd="/p"), durable=True) as session:
    for number in range(3):
        session.append([UserEntry(uuid=f"u{number}", parent=None, time="t", content=(TextBlock("hi"),))])
        os.write(1, f"acknowledged {number}\\n".encode())
"""


@pytest.mark.req("R149")
def test_data_and_folders_are_synced_before_the_acknowledgement(tmp_path: Path) -> None:
    assert shutil.which("strace"), "strace is needed to trace the writer"
    log = tmp_path / "trace"
    home = tmp_path / "home"
    command = ["strace", "-f", "-y", "-s", "10000", "-e", "trace=write,fsync,fdatasync", "-o", str(log)]
    subprocess.run([*command, sys.executable, "-c", WRITER, str(home)], check=True, capture_output=True)
    calls = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    told = [place for place, call in enumerate(calls) if re.match(r"write\(1<.*acknowledged", call)]
    assert len(told) == 3
    begin = 0
    for number, end in enumerate(told):
        between = calls[begin:end]
        written = next(place for place, call in enumerate(between) if f'\\"id\\":\\"u{number}\\"' in call)
        synced = [call for call in between[written + 1 :] if call.startswith(("fsync(", "fdatasync("))]
        assert any("s1.jsonl>" in call and call.endswith("= 0") for call in synced)
        if number == 0:
            folders = {match[1] for call in synced if (match := re.search(r"<([^>]*)>", call))}
            project = next((home / "sessions").iterdir())
            assert {str(project), str(project.parent), str(home)} <= folders
        begin = end + 1
