"""The program as a person starts it: a process of its own, in a folder of its own, with a home of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.house.tree import ROOT

GREETER = ROOT / "examples" / "greeter"
NOW = "2026-01-31T12:00:00Z"

HELLO: dict[str, Any] = {"say": "Hello 👋."}
READ: dict[str, Any] = {"say": "I look.", "do": [{"read": "greeter.py"}]}


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def environment(home: Path, **changes: str) -> dict[str, str]:
    """The surroundings of a process: nothing of this machine's person, a clock that stands still, this tree's own sources."""
    temporary = home.parent / "temporary-of-processes"
    temporary.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT / "src"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "COMPOSITOR_HOME": str(home / "state"),
        "COMPOSITOR_NOW": NOW,
        **changes,
    }


def command_line(*arguments: str | bytes) -> list[str | bytes]:
    return [sys.executable, "-m", "compositor", *arguments]


def run_program(
    *arguments: str | bytes, cwd: Path, home: Path, stdin: bytes = b"", before: Sequence[str] = (), **changes: str
) -> Ended:
    """Run the program to its end. `before`: words in front of it, as in `sh -c 'exec "$@" >&-' sh`."""
    ran = subprocess.run(
        [*before, *command_line(*arguments)],
        cwd=cwd,
        env=environment(home, **changes),
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ended(ran.returncode, ran.stdout.decode(), ran.stderr.decode("utf-8", "backslashreplace"))


def start_program(*arguments: str, cwd: Path, home: Path, **changes: str) -> subprocess.Popen[bytes]:
    """Start the program with pipes that are not buffered on our side."""
    return subprocess.Popen(
        command_line(*arguments),
        cwd=cwd,
        env=environment(home, **changes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


def read_until(stream: Any, words: bytes) -> bytes:
    """What a stream gives up to and with `words`; everything when they never come."""
    found = b""
    while words not in found and (piece := stream.read(1)):
        found += piece
    return found


def script(folder: Path, *turns: dict[str, Any], name: str = "script.json") -> str:
    path = folder / name
    path.write_text(json.dumps({"turns": turns}, ensure_ascii=False), "utf-8")
    return str(path)


def records(home: Path) -> list[list[dict[str, Any]]]:
    """The lines of every stored session; a line that is no JSON fails here."""
    files = sorted((home / "state" / "sessions").glob("*/*.jsonl"))
    return [[json.loads(line) for line in file.read_text("utf-8").splitlines()] for file in files]


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every name below a folder with mode, time of change and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        content = b"" if path.is_dir() or not path.is_file() else path.read_bytes()
        found[str(path.relative_to(folder))] = (state.st_mode, state.st_mtime_ns, content)
    return found


def copy_of(errors: str) -> Path:
    found = re.search(r"a copy of the project: (.+)", errors)
    assert found is not None
    return Path(found[1])


def prompts(home: Path) -> list[str]:
    """The texts that a person typed, of all sessions."""
    lines = [line for session in records(home) for line in session if line["type"] == "user"]
    texts = [block["text"] for line in lines for block in line["content"] if block["type"] == "text"]
    return [text for text in texts if "<system-reminder>" not in text]
