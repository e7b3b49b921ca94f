"""Instruction files in a large repository: what a session's start reads, and what the full report costs.

Decides the tree (20,000 folders with one file each, 400 instruction files) and the floors: reading just the files that apply, and a bare walk.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Row, best_of
from compositor.adapters.memory_files import load_memory, memory_place
from compositor.adapters.memory_report import MemoryDesk
from compositor.config.flags import Flags
from compositor.context.memory.parse import parse_memory

FOLDERS = 20_000
FILES = 400
RULES = 20
_TEXT = "# Rules of this folder\n\nKeep functions small. Write a test for every fault that was mended.\n" * 20


def rows(rounds: int = 5) -> list[Row]:
    with _tree(FOLDERS, FILES) as large, _tree(FOLDERS // 100, RULES + 5) as small:
        start, reading = _start(large, rounds), _reading(large, rounds)
        little = _start(small, rounds)
        desk = MemoryDesk.open(str(large), Flags(), {**os.environ, "HOME": str(large / "nobody")})
        batch = _batch(large, rounds)
        walk = best_of(rounds, lambda: sum(len(files) for _, _, files in os.walk(large)))
        report = best_of(rounds, desk.report)
    return [
        Row(name="memory: start, 20,000 folders", value=start, floor=reading, floor_name="reading what applies"),
        Row(name="memory: start, 20,000 folders", value=start, floor=little, floor_name="start, 200 folders"),
        Row(name="memory: after a batch of calls", value=batch, floor=reading, floor_name="reading what applies"),
        Row(name="memory: full report, 400 files", value=report, floor=walk, floor_name="bare walk"),
    ]


def _start(top: Path, rounds: int) -> float:
    place = memory_place(cwd=str(_below(top)), home=None, config_home=None, project_root=str(top))

    def start() -> None:
        parse_memory.cache_clear()
        load_memory(place)

    return best_of(rounds * 4, start)


def _batch(top: Path, rounds: int) -> float:
    """What is looked at before each further request."""
    from compositor.adapters.collectors.memory import MemoryCollector
    from compositor.types.collected import Moment

    place = memory_place(cwd=str(top), home=None, config_home=None)
    collector = MemoryCollector(place, load_memory(place), lambda _views: None)
    moment = Moment(prompt="mend the test", reached=(str(_below(top) / "file0.ts"),))
    return best_of(rounds * 4, lambda: collector.look(moment))


def _reading(top: Path, rounds: int) -> float:
    place = memory_place(cwd=str(_below(top)), home=None, config_home=None, project_root=str(top))
    chain = load_memory(place)
    paths = [Path(loaded.real) for loaded in (*chain.files, *(rule.loaded for rule in chain.rules))]
    return best_of(rounds * 4, lambda: [path.read_bytes() for path in paths])


def _below(top: Path) -> Path:
    return top / "part00" / "sub000"


@contextmanager
def _tree(folders: int, files: int) -> Iterator[Path]:
    """One top; `folders` below it, 1 in 50 with an instruction file; 20 rules at the top, half of them waiting for a file."""
    with tempfile.TemporaryDirectory(prefix="compositor-memory-") as name:
        top = Path(name).resolve() / "repo"
        per_part = min(folders, 1_000)
        for number in range(folders):
            folder = top / f"part{number // per_part:02}" / f"sub{number % per_part:03}"
            folder.mkdir(parents=True)
            (folder / f"file{number}.ts").write_text("let a = 1\n")
        rest = files - RULES - 1
        (top / "CLAUDE.md").write_text(_TEXT)
        for number in range(rest):
            place = number * folders // rest
            (top / f"part{place // per_part:02}" / f"sub{place % per_part:03}" / "CLAUDE.md").write_text(
                f"{number} {_TEXT}"
            )
        (top / ".claude/rules").mkdir(parents=True)
        for number in range(RULES):
            head = f"---\npaths: '**/*{number}.ts'\n---\n" if number % 2 else ""
            (top / f".claude/rules/rule{number:02}.md").write_text(f"{head}Rule {number}\n\n{_TEXT}")
        yield top
