"""Law 10: an acknowledged record survives the death of its writer at any instant."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compositor.adapters.home import project_key
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.reading import read_transcript
from compositor.context.transcript.codec import SessionHeader
from compositor.types.blocks import TextBlock
from compositor.types.entries import UserEntry

INSTANTS = 50

# Writes batches of one to three entries of very different sizes, and says which are acknowledged.
WRITER = """
import os, random, sys
from pathlib import Path
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.context.transcript.codec import SessionHeader
from compositor.types.blocks import TextBlock
from compositor.types.entries import UserEntry

home, run = Path(sys.argv[1]), sys.argv[2]
chance = random.Random(run)
session = JsonlSession.open(home, SessionHeader(session_id="s1", time="t", cwd="/project"))
for number in range(1_000_000):
    batch = [
        UserEntry(uuid=f"{run}-{number}-{part}", parent=None, time="t",
                  content=(TextBlock("x" * chance.choice((3, 300, 300_000))),))
        for part in range(chance.randint(1, 3))
    ]
    session.append(batch)
    os.write(1, "".join(f"{entry.uuid}\\n" for entry in batch).encode())
"""


def kill_at(home: Path, run: int, delay: float) -> list[str]:
    """Run a writer, kill it `delay` seconds after its first acknowledgement, and give what it acknowledged."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(home), str(run)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(delay)
        writer.kill()
        rest = writer.stdout.read()
    told = (first + rest).split(b"\n")
    # What stands behind the last line break may be cut: the writer died while it told us.
    return [uuid.decode() for uuid in told[:-1]]


@pytest.mark.req("R149")
def test_every_acknowledged_record_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / project_key("/project") / "s1.jsonl"
    chance = random.Random(2026)
    for run in range(INSTANTS):
        acknowledged = kill_at(tmp_path, run, chance.uniform(0, 0.02))
        assert acknowledged
        loaded = read_transcript(path)
        found = [entry.uuid for entry in loaded.entries]
        assert set(acknowledged) <= set(found)
        assert loaded.damaged == ()
        # At most the batch that was being written stands behind what was acknowledged.
        assert len(found) - len(acknowledged) <= 3
        with JsonlSession.open(tmp_path, SessionHeader(session_id="s1", time="t", cwd="/project")) as session:
            session.append([UserEntry(uuid="after", parent=None, time="t", content=(TextBlock("on"),))])
        assert [entry.uuid for entry in read_transcript(path).entries] == [*found, "after"]
        path.unlink()
