"""Law 10: an acknowledged record survives a kill at any instant, and a damaged line costs only itself."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.adapters.home import project_key
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.reading import read_history, read_transcript
from compositor.context.transcript.codec import SessionHeader
from compositor.context.transcript.graph import active_path
from compositor.context.transcript.load import load_transcript, split_lines
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, UserEntry
from tests.properties.hostile import hostile_file

HEADER = SessionHeader(session_id="s", time="t", cwd="/p")
seeds = st.integers(0, 2**32 - 1)

# How a loss of a good record is told: it lies elsewhere, twice, behind a summary or in a knot.
TOLD = {"branches", "earlier_parts", "duplicate_id", "summarized", "cycle", "beside"}


def stored(folder: Path, data: bytes) -> Path:
    path = folder / "sessions" / project_key("/p") / "s.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.req("R149", "R158")
@given(seed=seeds)
def test_no_good_record_is_lost_and_every_bad_line_is_told(seed: int) -> None:
    file = hostile_file(seed)
    loaded = load_transcript(split_lines(file.data))
    assert [entry.uuid for entry in loaded.entries] == file.good
    torn = sum(found.code == "transcript.torn_tail" for found in loaded.diagnostics)
    assert (len(loaded.damaged), torn) == (file.bad, int(file.torn))
    told = [found.message for found in loaded.diagnostics if found.code == "transcript.damaged_line"]
    assert [message.split()[0] for message in told] == ([str(file.bad)] if file.bad else [])


@pytest.mark.req("R150", "R152", "R158")
@given(seed=seeds)
def test_what_is_not_on_the_path_is_told(seed: int) -> None:
    loaded = load_transcript(split_lines(hostile_file(seed).data))
    path = active_path(loaded.entries)
    on_path = {uuid for entry in path.entries for uuid in path.joined.get(entry.uuid, (entry.uuid,))}
    sendable = [
        entry.uuid for entry in loaded.entries if isinstance(entry, UserEntry | AssistantEntry | AttachmentEntry)
    ]
    if set(sendable) - on_path or len(set(sendable)) < len(sendable):
        assert TOLD & {found.code.removeprefix("transcript.") for found in path.diagnostics}


@given(seed=seeds)
def test_a_scan_finds_the_path_that_a_full_reading_finds(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = stored(tmp_path_factory.mktemp("s"), hostile_file(seed).data)
    whole = read_transcript(path)
    expected = active_path(whole.entries)
    found = read_history(path)
    assert found.path.entries == expected.entries
    told = ("tip", "markers", "branches", "joined", "summarized")
    assert [getattr(found.path, name) for name in told] == [getattr(expected, name) for name in told]
    assert (found.header, found.damaged, found.journal) == (whole.header, whole.damaged, whole.journal)


@pytest.mark.req("R149")
@given(seed=seeds)
def test_a_hostile_file_goes_on_and_keeps_what_it_had(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = hostile_file(seed)
    home = tmp_path_factory.mktemp("s")
    path = stored(home, file.data)
    with JsonlSession.open(home, HEADER) as session:
        session.append(
            [UserEntry(uuid="after", parent=None, time="2027-01-01T00:00:00.000Z", content=(TextBlock("on"),))]
        )
    loaded = read_transcript(path)
    assert [entry.uuid for entry in loaded.entries] == [*file.good, "after"]
    assert path.read_bytes().startswith(file.data[: file.data.rfind(b"\n") + 1])


INSTANTS = max(50, int(os.environ.get("COMPOSITOR_LAW_EXAMPLES") or 0))

# Writes batches of one to three entries of very different sizes, and says which are acknowledged.
WRITER = """
import os, random, sys
from pathlib import Path
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.context.transcript.codec import SessionHeader
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, UserEntry

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
    header = SessionHeader(session_id="s1", time="t", cwd="/project")
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
        with JsonlSession.open(tmp_path, header) as session:
            session.append([UserEntry(uuid="after", parent=None, time="t", content=(TextBlock("on"),))])
        assert [entry.uuid for entry in read_transcript(path).entries] == [*found, "after"]
        path.unlink()
