"""A hundred turns in which everything around the session moves: the prefix moves at named events only, and every forecast is exact (R264, R266).

Real files, a real repository, a real server process; the model and its cache are the stand-in's.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.config.flags import Flags
from compositor.config.profile import find_profile
from compositor.context.cache.attribution import TOLERANCE, Verdict
from compositor.context.view import view_bytes
from compositor.emulator.cache import PromptCache, positions_of
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.opened import Opened, Opening, open_session
from compositor.ports import Permission
from compositor.runtime.events import AgentEvent, AnswerEnded, PrefixKept, RequestStarted
from compositor.types.snapshot import EventName
from compositor.wiring import build_agent, session_services

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).resolve().parent.parent / "adapters" / "mcp" / "server.py"
OPENINGS, PROMPTS = 20, 5
BEGIN = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
LONG = "x" * 300


class Yes:
    async def ask(self, permission: Permission) -> bool:
        return True


class World:
    """A project whose surroundings change at random, one session on it, and the stand-in's cache beside our forecasts."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.rng = rng
        self.project = root / "project"
        self.project.mkdir()
        self.listing = root / "tools.json"
        self.listing.write_text(json.dumps(["echo", "long"]))
        (self.project / "a.txt").write_text(LONG)
        (self.project / "CLAUDE.md").write_text("# rules\n\nBe brief.\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "begin")
        self.root = root
        self.now = BEGIN
        self.flips: dict[str, Any] = {}
        self.environ: dict[str, str] = {}
        self.session: str | None = None
        self.events: list[AgentEvent] = []
        self.emulator = Emulator(parse_script(script(OPENINGS * PROMPTS)))
        self.service = PromptCache()
        self.view = b""

    def git(self, *arguments: str) -> None:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.project.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *arguments], cwd=self.project, check=True, capture_output=True, env=env)

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.emulator.advance(seconds)

    def open(self) -> Opened:
        entry = {"command": sys.executable, "args": [str(SERVER), str(self.listing)]}
        environ = {
            "HOME": str(self.root),
            "COMPOSITOR_HOME": str(self.root / "state"),
            "PATH": "/usr/bin:/bin",
            "MCP_CONNECTION_NONBLOCKING": "0",
            "COMPOSITOR_NOW": self.now.isoformat(),
            **self.environ,
        }
        config = json.dumps({"mcpServers": {"my server": entry}})
        flags = Flags(mcp_config=(config,), **self.flips)
        opening = Opening(
            flags=flags, project=str(self.project), environ=environ, resume=self.session, interactive=True
        )
        opened = open_session(opening)
        self.session = opened.header.session_id
        return opened

    async def run(self, prompts: int) -> Opened:
        """One process: it opens the session, takes some prompts and ends."""
        opened = self.open()
        endpoint = Endpoint(url="http://emulator.invalid/v1/messages")
        async with (
            AnthropicTransport(endpoint, transport=EmulatorTransport(self.emulator)) as line,
            session_services(opened) as services,
        ):
            agent, store = build_agent(opened, transport=line, watch=self.events.append, asker=Yes(), services=services)
            with store:
                for _ in range(prompts):
                    result = await agent.submit(f"step {len(self.events)}")
                    assert result.detail == ""
                    self.disturb(self.rng.choice(INSIDE))
                await agent.end()
        return opened

    def disturb(self, what: str) -> None:
        number = self.rng.randrange(10_000)
        match what:
            case "server":
                self.listing.write_text(json.dumps(self.rng.sample(["echo", "long", "fail", "late", "other"], k=3)))
            case "branch":
                self.git("checkout", "-q", "-B", f"branch-{number}")
            case "file":
                (self.project / "a.txt").write_text(f"{number} {LONG}")
            case "memory":
                (self.project / "CLAUDE.md").write_text(f"# rules\n\nRule {number}.\n")
            case "settings":
                folder = self.project / ".claude"
                folder.mkdir(exist_ok=True)
                keys: dict[str, Any] = {
                    "language": self.rng.choice(["french", "german"]),
                    "promptCacheTtl": self.rng.choice(["5m", "1h"]),
                }
                keys["compositor"] = {"cache": {"longLifetime": self.rng.choice([[], ["*"]])}}
                (folder / "settings.json").write_text(json.dumps(keys))
            case "lifetime":
                self.environ = {self.rng.choice(["ENABLE_PROMPT_CACHING_1H", "FORCE_PROMPT_CACHING_5M"]): "1"}
            case "betas":
                self.flips = {"betas": (f"beta-{number}",)} if number % 2 else {}
            case "search":
                self.environ = {"ENABLE_TOOL_SEARCH": self.rng.choice(["true", "false", "auto"])}
            case "effort":
                self.environ = {"CLAUDE_CODE_EFFORT_LEVEL": self.rng.choice(["low", "high"])}
            case _:
                self.pass_time(self.rng.choice([20.0, 200.0, 400.0, 4_000.0, 90_000.0]))


INSIDE = ("server", "branch", "file", "memory", "settings")
OUTSIDE = (*INSIDE, "lifetime", "betas", "search", "effort", "time", "time", "time")


def script(turns: int) -> str:
    """Answers that read, call the server or only speak, whatever was asked."""
    rng = random.Random(5)
    calls = [
        "{do: [{read: a.txt}]}",
        '{do: [{call: {tool: ToolSearch, input: {query: "echo text"}}}]}',
        "{do: [{read: a.txt}, {read: CLAUDE.md}, {read: a.txt}]}",
    ]
    lines: list[str] = []
    for number in range(turns):
        lines += rng.sample(calls, k=rng.randrange(3))
        lines.append(f"{{say: answer {number}}}")
    return "turns:\n" + "".join(f"  - {line}\n" for line in lines)


@pytest.mark.req("R259", "R262", "R264", "R265", "R266", "R267", "R268", "R343")
async def test_whatever_moves_around_it_the_prefix_stays_and_every_forecast_is_exact(tmp_path: Path) -> None:
    world = World(tmp_path, random.Random(6))
    turns = 0
    while turns < OPENINGS * PROMPTS:
        start = len(world.events)
        opened = await world.run(PROMPTS)
        turns += PROMPTS
        check(world, world.events[start:], opened)
        for _ in range(3):
            world.disturb(world.rng.choice(OUTSIDE))
    started = [event for event in world.events if isinstance(event, RequestStarted)]
    assert len(started) >= 100
    moved = [event.compiled for event in started if event.compiled.options.ttl is not started[0].compiled.options.ttl]
    assert moved == []
    assert {event.compiled.options.betas for event in started} == {started[0].compiled.options.betas}
    assert len({event.compiled.head.digest for event in started}) == 1
    assert not any(isinstance(event, PrefixKept) for event in world.events)


def check(world: World, events: list[AgentEvent], opened: Opened) -> None:
    """Each request goes on where the one before it ended, and does to the cache what was forecast."""
    minimum = find_profile(opened.contract.model).profile.cache_minimum or 1024
    now = (world.now - BEGIN).total_seconds()
    assert [event.name for event in opened.events if event.name is not EventName.PROVIDER_DEGRADE] == []
    for event in events:
        if isinstance(event, RequestStarted):
            view = view_bytes(event.compiled)
            assert view.startswith(world.view)
            world.view = view
            body = msgspec.json.decode(event.compiled.body)
            theirs = positions_of(body)
            use, world.service = world.service.use(theirs, minimum=minimum, now=now)
            expected = event.forecast.expected
            hit, last = expected.hit, expected.last_write
            assert use.read == (theirs[hit.ordinal - 1].tokens if hit is not None else 0)
            end = theirs[last.ordinal - 1].tokens if last is not None else 0
            assert use.read + use.written_5m + use.written_1h == max(end, use.read)
            forecast = event.forecast
        elif isinstance(event, AnswerEnded):
            usage = event.message.usage
            assert usage.read == pytest.approx(forecast.read, rel=TOLERANCE, abs=256)
            assert usage.total_input == pytest.approx(forecast.total, rel=TOLERANCE, abs=256)
            assert event.cache.verdict is Verdict.AS_FORECAST
            assert "changed" not in event.cache.said
