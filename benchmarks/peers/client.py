"""`python -m benchmarks.peers.client NAME URL JOB`: one client does one job against the service at URL and prints what it used.

Decides what is timed inside the client, as CPU of the whole process with all its threads: one request behind a history that stands ready in the
client's own types, and each turn of a session from call to call.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.peers import clients
from benchmarks.peers.scenes import SCENES, SYSTEM, long_history, system


def main(name: str, url: str, job: str) -> None:
    kind, _, argument = job.partition(":")
    client = make(name, kind)
    found: dict[str, Any] = {}
    if kind == "build":
        found["cpu_ms"] = [build(client, url, int(argument)) for _ in range(1 + rounds(int(argument)))][1:]
    else:
        session(client, url, argument)
        found["turns_ms"] = [(after - before) * 1000 for before, after in pairwise(clients.MARKS)]
    found["version"] = client.version
    found["peak_mb"] = peak_mb()
    print(json.dumps(found))


def make(name: str, kind: str) -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["MSWEA_SILENT_STARTUP"] = "1"
    os.environ["LANGSMITH_TRACING"] = "false"
    if name == "compositor":
        from benchmarks.peers import ours

        return ours.Fold() if kind == "build" else ours.Compositor()
    return clients.CLIENTS[name]()


def peak_mb() -> float:
    """Most memory of this process. The kernel's own count: that of `getrusage` begins with what the parent held."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def rounds(messages: int) -> int:
    return 3 if messages > 5_000 else 7


def build(client: Any, url: str, messages: int) -> float:
    """Milliseconds of CPU from the prompt to the answer, one request."""
    client.begin(url, SYSTEM, long_history(messages))
    before = time.process_time()
    client.submit(0)
    return (time.process_time() - before) * 1000


def session(client: Any, url: str, name: str) -> None:
    for number, leg in enumerate(SCENES[name].legs):
        if number:
            client.go_on(system(number))
        else:
            client.begin(url, system(number), [])
        client.submit(len(leg))


if __name__ == "__main__":
    main(*sys.argv[1:])
