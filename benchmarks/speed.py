"""The speed of the product in one run: each target beside its figure, the figure of the commit before, and a bar.

Decides the targets and how each figure is taken; the floors of a ratio are always measured in the same run. Nothing here fails: whether a figure
that another machine or another hour gives is good enough is for a person to say.
"""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path

import msgspec

from benchmarks import fold, heavy, startup, turn
from benchmarks.measure import Row

KEPT = Path(__file__).resolve().parent.parent / ".bench" / "speed.json"
BAR = 24


class Figure(msgspec.Struct, frozen=True):
    """One row: `value` should be at most `target`, both in `unit`. `shown` is what it was made of."""

    what: str
    value: float
    target: float
    unit: str
    shown: str = ""


class Kept(msgspec.Struct):
    """Figures by commit, newest last."""

    commits: dict[str, dict[str, float]] = msgspec.field(default_factory=dict)


def rows() -> list[Figure]:
    return [*_folds(), *_starts(), *_turns(), *heavy.figures(Figure)]


def table(found: list[Figure]) -> str:
    """Figures, the commit before, and how much of its target each takes: the bar ends at `|`."""
    commit = _commit()
    kept = _kept()
    before = next((one for name, one in reversed(kept.commits.items()) if name != commit), {})
    lines = [f"{'what':52} {'figure':>9} {'target':>8} {'before':>9}        {'share of the target':{BAR + 2}} made of"]
    for one in found:
        past = f"{before[one.what]:9.2f}" if one.what in before else f"{'-':>9}"
        share = min(one.value / one.target, 2.0)
        bar = ("#" * round(share * BAR / 2)).ljust(BAR // 2) if share <= 1 else "#" * round(share * BAR / 2)
        drawn = f"{bar[: BAR // 2]}|{bar[BAR // 2 :]}".ljust(BAR + 2)
        lines.append(f"{one.what:52} {one.value:9.2f} {one.target:8.2f} {past} {one.unit:6} {drawn} {one.shown}")
    kept.commits.pop(commit, None)
    kept.commits[commit] = {one.what: one.value for one in found}
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_bytes(msgspec.json.encode(kept))
    return "\n".join(lines)


def _folds() -> list[Figure]:
    measured = {row.name: row for row in fold.rows()}
    cold = [measured["cold compile, 1,001 messages"], measured["cold compile, 10,001 messages"]]
    more, growth = measured["one more turn, 10,001"], measured["one more turn, 10,000 against 300"]
    return [
        Figure("one more turn, 10,000 messages against 300", growth.ratio, 1.5, "times", _made(growth)),
        Figure("one more turn at 10,000, without join and send", more.value, 1.0, "ms"),
        *(Figure(f"{row.name} over encode and hash", row.ratio, 6.0, "times", _made(row)) for row in cold),
        Figure("with spans over without, 10,000", measured["spans over none, 10,001"].ratio, 1.3, "times"),
    ]


def _starts() -> list[Figure]:
    """Interleaved, medians: the whole program up to the first byte of a request at a server on this machine, and a bare import."""
    pairs = [(startup.first_byte(), startup.import_alone()) for _ in range(8)][1:]
    wall, bare_wall = (statistics.median([cost.wall for cost in side]) for side in zip(*pairs, strict=True))
    cpu, bare_cpu = (statistics.median([cost.cpu for cost in side]) for side in zip(*pairs, strict=True))
    return [
        Figure("start to first request byte", wall, 500.0, "ms", f"CPU {cpu:.0f} ms"),
        Figure("start over `import httpx2`, wall", wall / bare_wall, 3.0, "times", f"{wall:.0f} / {bare_wall:.0f} ms"),
        Figure("start over `import httpx2`, CPU", cpu / bare_cpu, 3.0, "times", f"{cpu:.0f} / {bare_cpu:.0f} ms"),
    ]


def _turns() -> list[Figure]:
    wall, cpu, growth = turn.rows()
    return [
        Figure("overhead of a turn, median", wall.value, 5.0, "ms", f"CPU {cpu.value:.2f} ms"),
        Figure("overhead of a turn over a bare client", cpu.ratio, 2.0, "times", _made(cpu)),
        Figure("overhead at turn 300 over turn 30", growth.ratio, 1.2, "times", _made(growth)),
    ]


def _made(row: Row) -> str:
    return f"{row.value:.3f} / {row.floor:.3f} ms"


def _commit() -> str:
    ran = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return ran.stdout.strip() or "unknown"


def _kept() -> Kept:
    try:
        return msgspec.json.decode(KEPT.read_bytes(), type=Kept)
    except (OSError, msgspec.MsgspecError):
        return Kept()
