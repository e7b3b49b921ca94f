"""Sessions on disk: opening a long one, its memory, appending, listing; each beside its floor or its bound.

Decides the histories: a session of 100 MB whose path since the last compaction is 2 MB, files of 10 and 1,000,000 records, and
1,000 sessions of 100 kB. Memory and bytes are measured in a process of its own, from what the kernel says.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks import measure
from benchmarks.measure import Row, best_of
from compositor.adapters.home import project_key
from compositor.adapters.sessions.index import list_sessions
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.reading import read_history
from compositor.context.transcript.codec import SessionHeader, encode_record
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, MarkerEntry, TranscriptEntry, UserEntry
from compositor.types.journal import OutcomeRecord, SendOutcome, SendRecord, SentEntry
from compositor.types.json import raw_json
from compositor.types.request import CacheRegion, MarkerPlan, RequestOptions
from compositor.types.usage import Usage

WHOLE = 100_000_000
ACTIVE = 2_000_000
SESSIONS = 1_000
SESSION_SIZE = 100_000
LONG_FILE = 1_000_000
CWD = "/project"


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """A count beside the bound it must stay under, in `unit`."""

    name: str
    value: float
    bound: float
    unit: str


def rows() -> list[Row | Bound]:
    with tempfile.TemporaryDirectory() as folder:
        path = long_session(Path(folder))
        opening = best_of(5, lambda: read_history(path))
        floor = best_of(5, lambda: _bare_decode(path))
        peak, active = map(float, _child("peak", str(path)).split())
        append = _append_row(Path(folder) / "appending")
        home = Path(folder) / "listing"
        total = _many_sessions(home)
        list_sessions(home)
        read = float(_child("listing", str(home)))
    name = "a bare msgspec decode of every line"
    return [
        Row(name="opening 100 MB, path of 2 MB", value=opening, floor=floor, floor_name=name),
        append,
        Bound(name="peak memory of opening 100 MB", value=peak / 1e6, bound=60 + 2 * active / 1e6, unit="MB"),
        Bound(name="read by listing 1,000 sessions", value=100 * read / total, bound=2, unit="% of their bytes"),
    ]


def table(found: list[Row | Bound]) -> str:
    """The times as every section prints them, then the counts beside their bounds."""
    times = measure.table([row for row in found if isinstance(row, Row)])
    counts = [
        f"{one.name:44} {one.value:10.2f} of {one.bound:.2f} {one.unit}" for one in found if isinstance(one, Bound)
    ]
    return "\n".join((times, *counts))


def long_session(home: Path) -> Path:
    """A session of `WHOLE` bytes; its last compaction leaves `ACTIVE` of them on the path."""
    folder = home / "sessions" / project_key(CWD)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "long.jsonl"
    with path.open("wb") as file:
        file.write(encode_record(SessionHeader(session_id="long", time=_time(0), cwd=CWD)))
        number = 0
        for goal in (WHOLE - ACTIVE, WHOLE):
            for entry in _conversation(number):
                number += 1
                if isinstance(entry, AssistantEntry):
                    file.writelines(map(encode_record, _sent(number)))
                file.write(encode_record(entry))
                if file.tell() >= goal and isinstance(entry, AssistantEntry):
                    break
            if goal != WHOLE:
                file.writelines(map(encode_record, _boundary(number)))
                number += 2
    return path


def _conversation(start: int) -> Iterator[TranscriptEntry]:
    """Calls and results of very different sizes, 4 kB in the mean, each behind the one before it."""
    chance = random.Random(start)
    number = start
    while True:
        parent = None if number == 0 else f"entry-{number - 1:032}"
        call = f"toolu_{number:020}"
        yield UserEntry(uuid=f"entry-{number:032}", parent=parent, time=_time(number), content=_said(chance, number))
        yield AssistantEntry(
            uuid=f"entry-{number + 1:032}",
            parent=f"entry-{number:032}",
            time=_time(number + 1),
            message_id=f"msg_{number:020}",
            model="claude-x",
            content=(TextBlock("I look. " * 20), ToolUseBlock(call, "Read", raw_json({"file_path": "/project/a.py"}))),
            stop_reason="tool_use",
            usage=Usage(input_tokens=3, output_tokens=200, cache_read_input_tokens=number * 500),
            prefix_digest=f"{number:064}",
        )
        number += 2


def _sent(number: int) -> tuple[SendRecord, OutcomeRecord]:
    """What the journal holds of the request that entry `number` answers."""
    send = SendRecord(
        request_id=f"request-{number:028}",
        time=_time(number),
        head_digest="9b" * 32,
        view_digest=f"{number:064}",
        size=number * 2_000,
        leaf=f"entry-{number - 1:032}",
        sent=(SentEntry(f"entry-{number - 1:032}"),),
        markers=tuple(
            MarkerPlan(region=CacheRegion.MESSAGES, index=number + one, reason="newest message") for one in (0, 2)
        ),
        options=RequestOptions(model="claude-x", max_tokens=32_000, betas=("context-1m",)),
        profile="claude-x",
        forecast_read=number * 500,
        forecast_written=1_000,
    )
    usage = Usage(input_tokens=3, output_tokens=200, cache_read_input_tokens=number * 500)
    outcome = OutcomeRecord(request_id=send.request_id, time=send.time, outcome=SendOutcome.ANSWERED, usage=usage)
    return send, outcome


def _said(chance: random.Random, number: int) -> tuple[TextBlock | ToolResultBlock, ...]:
    if number == 0:
        return (TextBlock("begin"),)
    line = '    return value  # \\u00e9 and "quotes" in it\n'
    return (ToolResultBlock(f"toolu_{number - 2:020}", line * chance.choice((4, 40, 160, 400))),)


def _boundary(number: int) -> tuple[TranscriptEntry, ...]:
    marker = f"entry-{number:032}"
    return (
        MarkerEntry(
            uuid=marker,
            parent=f"entry-{number - 1:032}",
            time=_time(number),
            subtype="compact_boundary",
            detail=raw_json({"trigger": "auto"}),
        ),
        UserEntry(
            uuid=f"entry-{number + 1:032}",
            parent=marker,
            time=_time(number + 1),
            content=(TextBlock("What was done so far."),),
            is_meta=True,
        ),
    )


def _append_row(home: Path) -> Row:
    def one_append(records: int) -> float:
        header = SessionHeader(session_id=f"s{records}", time=_time(0), cwd=CWD)
        line = encode_record(UserEntry(uuid="x" * 36, parent=None, time=_time(0), content=(TextBlock("hi"),)))
        with JsonlSession.open(home, header) as session:
            session.append([UserEntry(uuid="first", parent=None, time=_time(0), content=(TextBlock("hi"),))])
        path = Path(session.path)
        with path.open("ab") as file:
            for _ in range(records // 1_000):
                file.write(line * 1_000)
            file.write(line * (records % 1_000))
        entry = UserEntry(uuid="y" * 36, parent=None, time=_time(0), content=(TextBlock("hi"),))

        def append_many() -> None:
            for _ in range(200):
                session.append([entry])

        with JsonlSession.open(home, header) as session:
            return best_of(5, append_many) / 200

    short, long = one_append(10), one_append(LONG_FILE)
    return Row(name="one append at 1,000,000 records", value=long, floor=short, floor_name="one append at 10 records")


def _many_sessions(home: Path) -> int:
    folder = home / "sessions" / project_key(CWD)
    folder.mkdir(parents=True)
    total = 0
    for number in range(SESSIONS):
        lines = [encode_record(SessionHeader(session_id=f"s{number}", time=_time(number), cwd=CWD))]
        size = 0
        for entry in _conversation(0):
            lines.append(encode_record(entry))
            size += len(lines[-1])
            if size >= SESSION_SIZE:
                break
        data = b"".join(lines)
        (folder / f"s{number}.jsonl").write_bytes(data)
        total += len(data)
    return total


def _bare_decode(path: Path) -> None:
    decode = msgspec.json.Decoder().decode
    with path.open("rb") as file:
        for line in file:
            decode(line)


def _time(number: int) -> str:
    return f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"


def _child(what: str, argument: str) -> str:
    arguments = [sys.executable, "-m", "benchmarks.sessions", what, argument]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


def _measure_peak(path: str) -> None:
    """The peak of the whole process in bytes, and the bytes of the lines on the path."""
    history = read_history(Path(path))
    active = sum(len(encode_record(entry)) for entry in history.path.entries)  # type: ignore[arg-type]
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(int(peak.split()[1]) * 1024, active)


def _measure_listing(home: str) -> None:
    """The bytes that one listing takes from files."""
    before = _read_bytes()
    found = list_sessions(Path(home))
    assert len(found) == SESSIONS
    print(_read_bytes() - before)


def _read_bytes() -> int:
    line = next(one for one in Path("/proc/self/io").read_text().splitlines() if one.startswith("rchar"))
    return int(line.split()[1])


if __name__ == "__main__":
    {"peak": _measure_peak, "listing": _measure_listing}[sys.argv[1]](sys.argv[2])
