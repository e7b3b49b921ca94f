"""One turn from the command line: transport, signals, asking a person, storing what a stand-in was sent.

Decides which transport answers and how an interrupt reaches the agent. Prints nothing but questions.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click
from msgspec import Struct

from compositor.adapters.home import private_folder, write_private
from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint, resolve_endpoint
from compositor.errors import ConfigError
from compositor.runtime.agent import Agent
from compositor.runtime.events import TurnResult, Watcher
from compositor.wiring import Opened, build_agent

if TYPE_CHECKING:
    from compositor.emulator.core import Emulator
    from compositor.ports import Permission


class Line(Struct, frozen=True, kw_only=True):
    """How the model is reached: an endpoint, and with a stand-in the emulator that plays it."""

    endpoint: Endpoint
    emulator: Emulator | None = None

    def transport(self) -> AnthropicTransport:
        if self.emulator is None:
            return AnthropicTransport(self.endpoint)
        from compositor.emulator.transport import EmulatorTransport

        return AnthropicTransport(self.endpoint, transport=EmulatorTransport(self.emulator))


def real_line(opened: Opened) -> Line:
    """The service that the environment and the settings name."""
    return Line(endpoint=resolve_endpoint(opened.environment.variables))


def scripted_line(script: str, opened: Opened) -> Line:
    """A stand-in that plays `script`, with the abilities of the run's own model. No model is called."""
    from compositor.emulator.core import Emulator
    from compositor.emulator.profile import ServiceProfile
    from compositor.emulator.script import parse_script

    try:
        text = Path(script).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"The script cannot be read: {problem}", path=script) from problem
    profile = opened.contract.profile
    service = ServiceProfile(
        cache_minimum=profile.cache_minimum or 1024,
        window=opened.contract.window.tokens,
        max_output=profile.max_output,
        system_role=opened.contract.system_role,
        prefill=profile.prefill,
    )
    emulator = Emulator(parse_script(text, path=script), service)
    return Line(endpoint=Endpoint(url="http://emulator.invalid/v1/messages"), emulator=emulator)


class NobodyToAsk:
    """Headless: every question is a no."""

    async def ask(self, permission: Permission) -> bool:
        return False


class TerminalAsker:
    """Asks on the terminal; anything but a clear yes is a no."""

    async def ask(self, permission: Permission) -> bool:
        click.echo(f"\n{permission.display}\n  {permission.reason}", err=True)
        click.echo("  Run it once? [y/N] ", nl=False, err=True)
        answer = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
        return answer.strip().lower() in {"y", "yes"}


def run_turn(opened: Opened, prompt: str, line: Line, watch: Watcher) -> TurnResult:
    """Run one turn to its end; an interrupt leaves a history that can go on."""
    asker = TerminalAsker() if opened.policy.interactive else NobodyToAsk()

    async def work() -> TurnResult:
        async with line.transport() as transport:
            agent, store = build_agent(opened, transport=transport, watch=watch, asker=asker)
            with store:
                async with _stopped_by_signals(agent):
                    return await agent.submit(prompt)

    return anyio.run(work)


@asynccontextmanager
async def _stopped_by_signals(agent: Agent) -> AsyncIterator[None]:
    """SIGINT and SIGTERM stop the turn; a second one ends it at once."""

    async def listen() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            count = 0
            async for _ in signals:
                count += 1
                if count > 1:
                    raise KeyboardInterrupt
                agent.stop()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        yield
        tasks.cancel_scope.cancel()


def keep_requests(line: Line, home: str, session_id: str) -> str | None:
    """Write down what the stand-in was sent, one body a file; the folder, or `None` for a real service."""
    if line.emulator is None:
        return None
    folder = private_folder(Path(home), "requests", session_id)
    for number, recorded in enumerate(line.emulator.requests, start=1):
        write_private(folder / f"{number:03}.json", recorded.request.body)
    return str(folder)
