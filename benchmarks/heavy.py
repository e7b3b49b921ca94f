"""Large bodies and small verdicts: memory of a session and of a body of 50 MB, legality of a body of 1 MB, the gate's verdict on a command.

Decides the inputs. Memory is the kernel's high mark of a process of its own.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from benchmarks.cache import make_round, prompt
from benchmarks.measure import best_of, best_of_each
from compositor.context.finish import finish
from compositor.context.messages.legality import WireContext, check_body
from compositor.context.prefix import empty_prefix, extend
from compositor.types.entries import TranscriptEntry
from compositor.types.verdicts import Allow
from tests.policy.judge import make_call, make_definition, make_policy, make_rules, run_gate
from tests.properties.building import FACTS, HEAD, OPTIONS, WIRE
from tests.properties.strategies import conversation

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
BODY = 50_000_000
COMMANDS = ("git status", "ls -la src", "pytest -q tests/unit", "rg -n 'def main' src | head -20")


def figures(make: Callable[[str, float, float, str, str], T]) -> list[T]:
    narrow = float(_child("narrow"))
    peak, size = map(float, _child("body").split())
    legality, decode, megabytes = _legality()
    return [
        make("peak memory, narrow session", narrow, 80.0, "MB", ""),
        make("peak memory, body of 50 MB", peak, 4 * size + 80, "MB", f"body of {size:.1f} MB"),
        make(
            f"legality of {megabytes:.1f} MB over a decode",
            legality / decode,
            2.0,
            "times",
            f"{legality:.1f} / {decode:.1f} ms",
        ),
        make("gate's verdict on a command", _verdict(), 1.0, "ms", f"mean of {len(COMMANDS)} commands"),
    ]


def _legality() -> tuple[float, float, float]:
    """Milliseconds of the whole check of a body of about 1 MB, of one decode of it, and its size in MB."""
    body = finish(extend(empty_prefix(HEAD, FACTS, WIRE), tuple(conversation(1_601))), OPTIONS).body
    context = WireContext(prefill=False, system_role=True, max_output=128_000)
    found = check_body(body, context)
    if found:
        raise RuntimeError(f"the body is not legal: {found[0]}")
    check, decode = best_of_each(15, lambda: check_body(body, context), lambda: msgspec.json.decode(body))
    return check, decode, len(body) / 1e6


def _verdict() -> float:
    """Milliseconds of the gate for one command, every question answered at once."""
    policy = make_policy(
        *make_rules(allow=("Bash(git *)", "Bash(ls *)", "Bash(pytest *)", "Bash(rg *)", "Bash(head *)"))
    )
    calls = [make_call("Bash", command=command) for command in COMMANDS]
    definition = make_definition("Bash")
    for call in calls:
        result, _ = run_gate(call, policy, definition=definition)
        assert isinstance(result.verdict, Allow), f"{bytes(call.input)!r} was not allowed: {result.verdict}"
    return best_of(20, lambda: [run_gate(call, policy, definition=definition) for call in calls]) / len(calls)


def _child(what: str) -> str:
    arguments = [sys.executable, "-m", "benchmarks.heavy", what]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


def _narrow() -> str:
    """The whole agent through the narrow session, over a socket to a service in another process."""
    from benchmarks.peers.client import peak_mb, session
    from benchmarks.peers.ours import Compositor

    session(Compositor(), sys.argv[2], "narrow")
    return f"{peak_mb():.1f}"


def _serve_narrow() -> str:
    """The service's side of it: this process holds the service, a child the agent."""
    from benchmarks.peers.scenes import SCENES, write_files
    from benchmarks.peers.service import Service

    scene = SCENES["narrow"]
    with tempfile.TemporaryDirectory(prefix="compositor-narrow-") as folder, Service(scene) as service:
        project = Path(folder, "project")
        project.mkdir()
        write_files(scene, project)
        arguments = [sys.executable, "-m", "benchmarks.heavy", "agent", service.url]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=project, env=env)
        if len(service.seen) != len(scene.answers):
            raise RuntimeError(f"the session sent {len(service.seen)} requests, not {len(scene.answers)}")
    return ran.stdout.strip()


def _body() -> str:
    """A body of 50 MB, compiled from nothing and handed out as a transport takes it: the peak and the size, in MB."""
    from benchmarks.peers.client import peak_mb

    wide = msgspec.structs.replace(WIRE, body_limit=2 * BODY)
    compiled = finish(extend(empty_prefix(HEAD, FACTS, wide), tuple(_bulk(BODY))), OPTIONS)
    sent = sum(len(piece) for piece in compiled.pieces())
    return f"{peak_mb():.1f} {sent / 1e6:.1f}"


def _bulk(size: int) -> Iterator[TranscriptEntry]:
    """Calls with results of 100 kB, `size` bytes in all."""
    rng = random.Random(1)
    yield prompt(0)
    for number in range(size // 85_000):
        yield from make_round(number, 1, 3_000, rng)


if __name__ == "__main__":
    print({"narrow": _serve_narrow, "agent": _narrow, "body": _body}[sys.argv[1]]())
