"""Replay against a bare decode of the same bytes in one run, and its memory over a large file.

Decides the input: lines shaped as clients store them, repeated. The floor reads the same file and decodes each line to Python values.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from benchmarks.measure import Row, best_of
from benchmarks.measure import table as rows_table
from compositor.adapters.replay.reading import replay_file
from compositor.insight.replay.foreign import ForeignReplay
from compositor.insight.replay.rows import Session

MEGABYTES = 40
LARGE_MEGABYTES = 1_000
_TEXT = "def greet(name: str) -> str:\n    return f'Hello, {name}!'  # say it kindly\n"


def rows(rounds: int = 3) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="compositor-replay-") as folder:
        path = write(Path(folder) / "one.jsonl", MEGABYTES)
        floor = best_of(rounds, lambda: _decoded(path))
        value = best_of(rounds, lambda: replay_file(path))
        lines = path.read_bytes().splitlines(keepends=True)
        decode = msgspec.json.Decoder().decode
        bare = best_of(rounds, lambda: [decode(line) and None for line in lines])
        alone = best_of(rounds, lambda: _replayed(lines))
    return [
        *_recorded(rounds),
        Row(name=f"replay: {MEGABYTES} MB, lines in memory", value=alone, floor=bare, floor_name="decode each line"),
        Row(name=f"replay: {MEGABYTES} MB", value=value, floor=floor, floor_name="read, decode each line"),
    ]


def _recorded(rounds: int) -> list[Row]:
    """Real transcripts, where COMPOSITOR_CORPUS names a folder with some: the figure that counts."""
    folder = os.environ.get("COMPOSITOR_CORPUS")
    files = [path for path in sorted(Path(folder).rglob("*.jsonl")) if "transcripts" in path.parts] if folder else []
    if not files:
        return []
    lines = [line for path in files for line in path.read_bytes().splitlines(keepends=True) if _is_json(line)]
    decode = msgspec.json.Decoder().decode
    bare = best_of(rounds, lambda: [decode(line) and None for line in lines])
    return [
        Row(
            name=f"replay: {len(files)} recorded transcripts, lines in memory",
            value=best_of(rounds, lambda: _replayed(lines)),
            floor=bare,
            floor_name="decode each line",
        )
    ]


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except msgspec.MsgspecError:
        return False
    return True


def table(found: list[Row]) -> str:
    """The ratio, and the memory of a process that replays a gigabyte."""
    with tempfile.TemporaryDirectory(prefix="compositor-replay-") as folder:
        path = write(Path(folder) / "large.jsonl", LARGE_MEGABYTES)
        ran = subprocess.run(
            [sys.executable, "-m", "benchmarks.replay", str(path)], check=True, capture_output=True, text=True
        )
    return f"{rows_table(found)}\nreplay: {LARGE_MEGABYTES} MB in one file: {ran.stdout.strip()} at most"


def write(path: Path, megabytes: int) -> Path:
    """A transcript of that size: turns of a prompt, a call, its result (up to 20 kB) and an answer."""
    with path.open("wb") as file:
        number, parent = 0, None
        while file.tell() < megabytes * 1_000_000:
            number += 1
            for kind, message in _turn(number):
                uuid = f"{number:08x}-0000-4000-8000-{id(message) % 10**12:012d}"
                record = {
                    "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/user/project",
                    "sessionId": "s", "version": "2.1.0", "type": kind, "uuid": uuid, "message": message,
                    "timestamp": f"2026-01-{number % 28 + 1:02}T12:00:00.000Z", "toolUseResult": _beside(message),
                }  # fmt: skip
                file.write(json.dumps(record).encode() + b"\n")
                parent = uuid
    return path


def _turn(number: int) -> list[tuple[str, dict[str, object]]]:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 50_000,
        "cache_creation_input_tokens": 900,
        "output_tokens": 50,
    }
    call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": "/home/user/project/a.py"}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": _TEXT * (number % 250)}
    answer = {"role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
    return [
        ("user", {"role": "user", "content": f"Look at file {number}, please. {_TEXT}"}),
        ("assistant", {**answer, "id": f"m{number}a", "content": [call]}),
        ("user", {"role": "user", "content": [result]}),
        ("assistant", {**answer, "id": f"m{number}b", "content": [{"type": "text", "text": _TEXT * 4}]}),
    ]


def _replayed(lines: list[bytes]) -> Session:
    replay = ForeignReplay()
    for line in lines:
        replay.add(line)
    return replay.finish("memory")


def _decoded(path: Path) -> int:
    """What reading costs at least: every line as Python values, dropped at once."""
    decode, count = msgspec.json.Decoder().decode, 0
    with path.open("rb") as file:
        for line in file:
            decode(line)
            count += 1
    return count


def _beside(message: dict[str, object]) -> object:
    content = message["content"]
    results = isinstance(content, list) and isinstance(content[0], dict) and content[0].get("type") == "tool_result"
    return {"file": {"content": content[0]["content"]}} if results and isinstance(content, list) else None


if __name__ == "__main__":
    session = replay_file(Path(sys.argv[1]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"{peak:.0f} MB of memory, {0 if session is None else len(session.requests):,} requests")
