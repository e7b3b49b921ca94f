"""Turns of one session on one project, against a scripted model and one real server process."""

import json
import sys
from pathlib import Path

import anyio
import msgspec

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.config.flags import Flags
from compositor.emulator.core import Emulator
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.opened import Opening, open_session
from compositor.runtime.events import CallEnded, RequestStarted
from compositor.wiring import build_agent, session_services

ENDPOINT = Endpoint(url="http://emulator.invalid/v1/messages")
SERVER = Path(__file__).resolve().parent.parent / "adapters" / "mcp" / "server.py"

SEARCH = """
turns:
  - {do: [{call: {tool: ToolSearch, input: {query: "echo text"}}}]}
  - {do: [{call: {tool: mcp__my_server__echo, input: {text: hello}}}]}
  - {when: {result_contains: "echo: hello"}, say: Done.}
"""


class Yes:
    async def ask(self, permission):
        return True


class ServerRun:
    """`run` opens the session, or resumes it; `then` are further things to do with the agent."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        self.list = folder / "tools.json"
        self.offer("echo", "fail", "crash", "long")
        self.environ = {
            "HOME": str(folder / "home"),
            "COMPOSITOR_HOME": str(folder / "state"),
            "PATH": "/usr/bin:/bin",
            "MCP_CONNECTION_NONBLOCKING": "0",
        }
        self.events = []
        self.session_id = None
        self.person = True
        self.models = ServiceProfile()

    def offer(self, *names):
        self.list.write_text(json.dumps(names))

    async def run(self, script, prompt="go", then=(), **flags):
        entry = {"command": sys.executable, "args": [str(SERVER), str(self.list)]}
        config = json.dumps({"mcpServers": {"my server": entry}})
        opening = Opening(
            flags=Flags(mcp_config=(config,), **flags),
            project=str(self.project),
            environ=self.environ,
            resume=self.session_id,
            interactive=self.person,
        )
        opened = open_session(opening)
        self.session_id = opened.header.session_id
        self.emulator = Emulator(parse_script(script), self.models)
        async with (
            AnthropicTransport(ENDPOINT, transport=EmulatorTransport(self.emulator)) as transport,
            session_services(opened) as services,
        ):
            agent, store = build_agent(
                opened, transport=transport, watch=self.events.append, asker=Yes(), services=services
            )
            self.servers = services.servers
            with store:
                self.path = Path(store.path)
                result = await agent.submit(prompt)
                for further in then:
                    result = await further(agent)
                return result

    def bodies(self):
        return [msgspec.json.decode(recorded.request.body) for recorded in self.emulator.requests]

    def compiled(self):
        return [event.compiled for event in self.events if isinstance(event, RequestStarted)]

    def outcomes(self):
        return [event.outcome for event in self.events if isinstance(event, CallEnded)]

    async def offer_late(self, agent):
        """The server offers one more tool, says so behind a call, and is heard."""
        self.offer("echo", "fail", "crash", "long", "late")
        result = await agent.submit("call it")
        for _ in range(3_000):
            (listing,) = await self.servers.listings()
            if "mcp__my_server__late" in [tool.wire for tool in listing.tools]:
                return result
            await anyio.sleep(0.01)
        raise AssertionError("the server's change was not heard")


async def go_on(agent):
    return await agent.submit("go on")
