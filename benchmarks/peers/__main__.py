"""`python -m benchmarks.peers [--json]`: the product beside other clients, each in a process of its own, against one service on this machine.

Decides the jobs and their order: clients take turns, so that whatever else the machine does meets them all. Cost is judged by the stand-in's
cache over the bytes that each client really sent. Needs `make bench-peers`, which makes the environment.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.cache import BYTES_PER_TOKEN, MINIMUM, Body, input_price, model_tier
from benchmarks.startup import Cost, first_byte
from compositor.emulator.cache import PromptCache, positions_of

from .scenes import SCENES, Scene, write_files
from .service import Seen, Service

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / ".venv-peers/bin/python"
SIZES = (100, 1_000, 10_000)
STARTS = 5
NAMES = ("compositor", "bare", "anthropic", "pydantic-ai", "langchain", "mini-swe-agent")


class Found(msgspec.Struct):
    """What one client showed. Times in milliseconds, `peak` in MB, `cost` over that of a conversation of its length that only grows."""

    name: str
    version: str = ""
    start: float = 0.0
    start_cpu: float = 0.0
    build: dict[int, float] = msgspec.field(default_factory=dict)
    turn: dict[str, float] = msgspec.field(default_factory=dict)
    cost: dict[str, float] = msgspec.field(default_factory=dict)
    growth: float = 0.0
    peak: float = 0.0


def main(arguments: list[str]) -> None:
    if not PEERS.exists():
        sys.exit("The environment of the other clients is missing. Make it with: make bench-peers")
    found = {name: Found(name) for name in NAMES}
    for client in found.values():
        measure_sessions(client)
        print(f"{client.name}: sessions done", file=sys.stderr)
    for messages in SIZES:
        for client in found.values():
            answer, _ = run(client.name, SCENES["once"], f"build:{messages}")
            client.build[messages] = statistics.median(answer["cpu_ms"])
    starts: dict[str, list[Cost]] = {name: [] for name in NAMES}
    for _ in range(STARTS + 1):
        for name in NAMES:
            starts[name].append(start(name))
    for client in found.values():
        client.start = statistics.median([cost.wall for cost in starts[client.name][1:]])
        client.start_cpu = statistics.median([cost.cpu for cost in starts[client.name][1:]])
    rows = list(found.values())
    print(msgspec.json.encode(rows).decode() if "--json" in arguments else table(rows))


def measure_sessions(client: Found) -> None:
    for scene in (SCENES["narrow"], SCENES["wide"], SCENES["resume"]):
        answer, seen = run(client.name, scene, f"session:{scene.name}")
        client.version = answer["version"]
        client.turn[scene.name] = statistics.median(answer["turns_ms"])
        client.cost[scene.name] = cost_over_least([msgspec.json.decode(one.body) for one in seen])
        if scene.name == "narrow":
            client.peak = answer["peak_mb"]
    answer, _ = run(client.name, SCENES["long"], "session:long")
    # The turns around turn 30 against those around turn 300.
    client.growth = statistics.median(answer["turns_ms"][288:308]) / statistics.median(answer["turns_ms"][20:40])


def cost_over_least(bodies: list[Body]) -> float:
    """What the requests cost over what a conversation of their lengths costs when each reads the one before and writes only what is new."""
    tier, cache, paid, least, before = model_tier(), PromptCache(), 0.0, 0.0, 0
    for number, body in enumerate(bodies):
        positions = positions_of(spelled_out(body), bytes_per_token=BYTES_PER_TOKEN)
        total = positions[-1].tokens
        use, cache = cache.use(positions, minimum=MINIMUM, now=5.0 * number)
        paid += input_price(use, tier)
        known = min(before, total)
        least += known * tier.read + (total - known) * tier.write_5m
        before = total
    return paid / least


def spelled_out(body: Body) -> Body:
    """A string in place of a list of blocks is a shorthand; a client that changes between the two is not charged for it."""
    for message in body["messages"]:
        message["content"] = _blocks(message["content"])
        for block in message["content"]:
            if block["type"] == "tool_result" and "content" in block:
                block["content"] = _blocks(block["content"])
    return body


def _blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def run(name: str, scene: Scene, job: str) -> tuple[dict[str, Any], list[Seen]]:
    """One client process in an empty project; what it printed, and what the service saw."""
    with tempfile.TemporaryDirectory(prefix="peers-") as folder, Service(scene) as service:
        project = Path(folder, "project")
        project.mkdir()
        write_files(scene, project)
        python = sys.executable if name == "compositor" else str(PEERS)
        ran = subprocess.run(
            [python, "-m", "benchmarks.peers.client", name, service.url, job],
            cwd=project,
            env=environment(folder),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if ran.returncode or (job != "start" and not ran.stdout.strip()):
            raise RuntimeError(f"{name} could not do {job}:\n{ran.stderr[-3000:]}")
        expected = len(scene.answers)
        if not job.startswith("build") and len(service.seen) != expected:
            raise RuntimeError(f"{name} sent {len(service.seen)} requests in {scene.name}, not {expected}")
        return json.loads(ran.stdout.strip().splitlines()[-1]), service.seen


def start(name: str) -> Cost:
    """From the start of the process to the first byte of its first request."""
    if name == "compositor":
        return first_byte()
    return first_byte((str(PEERS), "-m", "benchmarks.peers.client", name, "{url}", "session:once"))


def environment(folder: str) -> dict[str, str]:
    return {"HOME": folder, "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NO_PROXY": "*", "TZ": "UTC"}


def table(rows: list[Found]) -> str:
    return "\n".join(_lines(rows))


def _lines(rows: list[Found]) -> Iterator[str]:
    sizes = "".join(f"{f'build {size:,}':>14}" for size in SIZES)
    scenes = ("narrow", "wide", "resume")
    turns = "".join(f"{f'turn {name}':>13}" for name in scenes)
    costs = "".join(f"{f'cost {name}':>13}" for name in scenes)
    yield f"{'client':16}{'start':>9}{'CPU':>8}{sizes}{turns}{'growth':>8}{costs}{'peak MB':>9}"
    for row in rows:
        built = "".join(f"{row.build[size]:14,.1f}" for size in SIZES)
        turned = "".join(f"{row.turn[name]:13.2f}" for name in scenes)
        cost = "".join(f"{row.cost[name]:13.3f}" for name in scenes)
        yield f"{row.name:16}{row.start:9,.0f}{row.start_cpu:8,.0f}{built}{turned}{row.growth:8.2f}{cost}{row.peak:9.0f}"
    yield "milliseconds: start to first request byte (wall, CPU); one request behind N messages and one turn of a session (CPU, medians)"
    yield "growth: the turns around turn 300 over those around turn 30; cost: over a conversation of the same length that only grows"
    yield from (f"{row.name}: {row.version}" for row in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
