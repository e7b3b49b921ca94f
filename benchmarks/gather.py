"""Facts before a request: the look at files that the model saw, and the waiting for sources of different speed.

The floor of the look is the bare stat calls on the same files. The waiting is held against the slowest source and the deadline.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from benchmarks.measure import Row
from compositor.adapters.collectors.changed_files import ChangedFilesCollector
from compositor.context.freshness.file_table import FileTable, FileView
from compositor.runtime.collect import Collection, Source
from compositor.types.collected import Collected, Moment

FILES = 5_000
_NOW = Moment(prompt="")


class _Sleeper:
    def __init__(self, seconds: float, *, stubborn: bool = False) -> None:
        self._seconds = seconds
        self._stubborn = stubborn

    async def collect(self, _moment: Moment) -> Collected:
        with anyio.CancelScope(shield=self._stubborn):
            await anyio.sleep(self._seconds)
        return Collected()


def rows() -> list[Row]:
    """The check of 5,000 files and the waiting for three sets of sources."""
    return [*_files(), *(anyio.run(_waiting, *one) for one in _SETS)]


def _files() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, f"{at // 100}", f"f{at}.txt")) for at in range(FILES)]
        table = FileTable()
        for path in paths:
            Path(path).parent.mkdir(exist_ok=True)
            Path(path).write_text("x\n")
            found = os.stat(path)  # noqa: PTH116  the floor is measured with it
            table.saw(
                FileView(
                    path=path,
                    digest="d",
                    mtime_ns=found.st_mtime_ns,
                    size=2,
                    inode=found.st_ino,
                    lines=1,
                    seen=((1, 1),),
                )
            )
        collector = ChangedFilesCollector(table, lambda _path: True, folder)
        bare, check = [], []
        for _ in range(41):
            began = time.perf_counter()
            for path in paths:
                os.stat(path)  # noqa: PTH116
            bare.append(time.perf_counter() - began)
            began = time.perf_counter()
            collector.look(table.stamps())
            check.append(time.perf_counter() - began)
    return [
        Row(
            name="check of 5,000 files that the model saw",
            value=statistics.median(check) * 1e3,
            floor=statistics.median(bare) * 1e3,
            floor_name="bare stat of the same files",
        )
    ]


async def _waiting(what: str, sources: tuple[_Sleeper, ...], floor: float, floor_name: str) -> Row:
    """Milliseconds that one collection waits, on the wall clock."""
    async with anyio.create_task_group() as tasks:

        def spawn(work: Callable[[], Awaitable[None]]) -> None:
            async def run() -> None:
                await work()

            tasks.start_soon(run)

        collection = Collection([Source(name=str(at), collector=one) for at, one in enumerate(sources)], spawn)
        began = time.perf_counter()
        await collection.collect(_NOW)
        waited = time.perf_counter() - began
        tasks.cancel_scope.cancel()
    return Row(name=what, value=waited * 1e3, floor=floor * 1e3, floor_name=floor_name)


_SETS: tuple[tuple[str, tuple[_Sleeper, ...], float, str], ...] = (
    ("ten sources, the slowest of 200 ms", tuple(_Sleeper(at / 50) for at in range(1, 11)), 0.2, "the slowest source"),
    ("with a source of a minute", (_Sleeper(0.01), _Sleeper(60)), 1.0, "the deadline"),
    ("with one that ignores the signal for 2 s", (_Sleeper(0.01), _Sleeper(2, stubborn=True)), 1.0, "the deadline"),
)
