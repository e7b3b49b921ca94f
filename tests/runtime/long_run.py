"""One agent in a small window, with everything it said and sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import msgspec.structs

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.config.flags import Flags
from compositor.emulator.core import Emulator
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.opened import Opening, open_session
from compositor.ports import ModelTransport, Permission
from compositor.runtime.agent import Agent
from compositor.runtime.events import AgentEvent
from compositor.types.json import decode_json
from compositor.wiring import build_agent, session_services

ENDPOINT = Endpoint(url="http://emulator.invalid/v1/messages")
WINDOW = 40_000
SMALL = ServiceProfile(window=WINDOW)


class Yes:
    async def ask(self, permission: Permission) -> bool:
        return True


class LongRun:
    """A project with state of its own. `opened` gives an agent on it; a second one resumes the session. `asks`: a person is there and says yes."""

    def __init__(
        self,
        folder: Path,
        script: str,
        *,
        profile: ServiceProfile = SMALL,
        env: Mapping[str, str] | None = None,
        asks: bool = True,
    ) -> None:
        self.asks = asks
        self.project = folder / "project"
        self.project.mkdir(exist_ok=True)
        self.environ = {
            "HOME": str(folder / "home"),
            "COMPOSITOR_HOME": str(folder / "state"),
            "PATH": "/usr/bin:/bin",
            "CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(WINDOW),
            **(env or {}),
        }
        self.emulator = Emulator(parse_script(script), profile)
        self.events: list[AgentEvent] = []
        self.listeners: list[Callable[[AgentEvent], None]] = []
        self.flags = Flags()
        self.route: Callable[[ModelTransport], ModelTransport] = lambda transport: transport
        self.session_id: str | None = None
        self.path = Path()

    @asynccontextmanager
    async def opened(self, *, with_services: bool = False) -> AsyncIterator[Agent]:
        opening = Opening(
            flags=self.flags,
            project=str(self.project),
            environ=self.environ,
            resume=self.session_id,
            interactive=self.asks,
        )
        opened = open_session(opening)
        async with (
            AnthropicTransport(ENDPOINT, transport=EmulatorTransport(self.emulator)) as transport,
            AsyncExitStack() as stack,
        ):
            services = await stack.enter_async_context(session_services(opened)) if with_services else None
            agent, store = build_agent(
                opened, transport=self.route(transport), watch=self._watch, asker=Yes(), services=services
            )
            with store:
                self.session_id, self.path = store.session_id, Path(store.path)
                yield agent
                await agent.end()

    def _watch(self, event: AgentEvent) -> None:
        self.events.append(event)
        for listen in self.listeners:
            listen(event)

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies that were answered, in order."""
        return [decode_json(one.request.body) for one in self.emulator.requests if one.status == 200]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def messages_text(body: Mapping[str, Any]) -> str:
    """The messages of a body as text, without its markers."""
    return msgspec.json.encode(body["messages"]).replace(b',"cache_control":{"type":"ephemeral"}', b"").decode()


def large(lines: int, word: str) -> str:
    """A file of so many lines, about eight tokens each."""
    return "".join(f"{word} line {number} of a rather long file\n" for number in range(lines))
