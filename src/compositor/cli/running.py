"""One turn from the command line: transport, signals, asking a person, storing what a stand-in was sent.

Decides which transport answers and how an interrupt reaches the agent. Prints nothing but questions.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit

import anyio
import click
import msgspec
from msgspec import Struct

from compositor.adapters.home import private_folder, write_private
from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.cloud_endpoints import CLOUDS, Cloud, resolve_cloud
from compositor.adapters.providers.credentials import MESSAGES_PATH, Endpoint, is_loopback, resolve_endpoint
from compositor.adapters.providers.key_command import KeyCommand, key_command, with_key_files
from compositor.adapters.services import Services
from compositor.errors import ConfigError
from compositor.opened import Opened
from compositor.ports import Asker, Interviewer, Presence
from compositor.runtime.agent import Agent
from compositor.runtime.events import AgentEvent, TurnResult, Watcher
from compositor.wiring import NOBODY, build_agent, session_services

if TYPE_CHECKING:
    import httpx2

    from compositor.adapters.providers.cloud import CloudTransport
    from compositor.adapters.providers.openai_compatible import OpenAICompatibleTransport
    from compositor.adapters.providers.pairs import Pair
    from compositor.emulator.core import Emulator
    from compositor.emulator.script import Script
    from compositor.ports import Permission, Question
    from compositor.types.diagnostics import Diagnostic


T = TypeVar("T")


class Line(Struct, frozen=True, kw_only=True):
    """How the model is reached: an endpoint, and with a stand-in the emulator that plays it.

    `chats`: it speaks chat-completions. `cloud`: it stands behind a cloud's own address. `keys`: a command prints the key.
    `rehearsal` plays recorded answers.
    """

    endpoint: Endpoint
    emulator: Emulator | None = None
    chats: bool = False
    cloud: Cloud | None = None
    keys: KeyCommand | None = None
    rehearsal: httpx2.AsyncBaseTransport | None = None

    @property
    def is_ready(self) -> bool:
        """Whether something can be sent: with a credential, or to a compatible server on this machine, which asks for none."""
        if self.cloud is not None:
            return self.cloud.is_ready
        return (
            self.keys is not None
            or self.endpoint.has_credentials
            or (self.chats and is_loopback(urlsplit(self.endpoint.url).hostname or ""))
        )

    def transport(self) -> AnthropicTransport | OpenAICompatibleTransport | CloudTransport:
        if self.cloud is not None:
            from compositor.adapters.providers.cloud import CloudTransport

            return CloudTransport(AnthropicTransport(self.cloud.endpoint), self.cloud)
        if self.chats:
            from compositor.adapters.providers.openai_compatible import OpenAICompatibleTransport

            return OpenAICompatibleTransport(AnthropicTransport(self.endpoint, keys=self.keys), tell=_tell)
        if self.rehearsal is not None:
            return AnthropicTransport(self.endpoint, transport=self.rehearsal)
        if self.emulator is None:
            return AnthropicTransport(self.endpoint, keys=self.keys)
        from compositor.emulator.transport import EmulatorTransport

        return AnthropicTransport(self.endpoint, transport=EmulatorTransport(self.emulator))


def real_line(opened: Opened) -> Line:
    """The service that the environment and the settings name."""
    platform, variables = opened.contract.platform, opened.environment.variables
    if platform.id in CLOUDS:
        cloud = resolve_cloud(platform, variables)
        return Line(endpoint=cloud.endpoint, cloud=cloud)
    chats = platform.api == "chat-completions"
    endpoint = resolve_endpoint(with_key_files(variables), platform.path if chats else MESSAGES_PATH)
    command = opened.contract.settings.api_key_helper
    keys = key_command(command, variables) if command and not endpoint.has_credentials else None
    return Line(endpoint=endpoint, chats=chats, keys=keys)


def _tell(diagnostic: Diagnostic) -> None:
    click.echo(diagnostic.message, err=True)


def read_script(path: str) -> Script:
    """The script in a file. Raises `ConfigError` with the place."""
    from compositor.emulator.script import parse_script

    try:
        text = Path(path).read_text("utf-8")
    except OSError as problem:
        raise ConfigError(f"The script cannot be read: {problem.strerror}", path=path) from problem
    except UnicodeDecodeError as problem:
        raise ConfigError(f"The script is not UTF-8 text: byte {problem.start}", path=path) from problem
    return parse_script(text, path=path)


def scripted_line(script: Script, opened: Opened) -> Line:
    """A stand-in that plays `script`, with the abilities of the run's own model. No model is called."""
    from compositor.emulator.core import Emulator
    from compositor.emulator.profile import service_profile

    contract = opened.contract
    # A session that goes on may carry thinking of the real service, whose signatures only that can read.
    service = msgspec.structs.replace(
        service_profile(contract.profile, contract.platform), window=contract.window.tokens, foreign_signatures=True
    )
    emulator = Emulator(script, service)
    return Line(endpoint=Endpoint(url="http://emulator.invalid/v1/messages"), emulator=emulator)


def rehearsed_pairs(folder: str) -> tuple[Pair, ...]:
    """The recorded exchanges of a folder. Raises `ConfigError`."""
    from compositor.adapters.providers.pairs import messages_only, read_pairs

    return messages_only(read_pairs(Path(folder)))


def rehearsed_line(pairs: tuple[Pair, ...]) -> Line:
    """Recorded answers in their order. No model is called."""
    from compositor.adapters.providers.rehearsal import RehearsalTransport

    return Line(
        endpoint=Endpoint(url="http://recording.invalid/v1/messages"), rehearsal=RehearsalTransport(pairs, _tell)
    )


class NobodyToAsk:
    """Headless: every question is a no."""

    async def ask(self, permission: Permission) -> bool:
        return False


class TerminalAsker:
    """Asks on the terminal, one question after the other; anything but a clear yes is a no."""

    def __init__(self) -> None:
        self._turn = anyio.Lock()

    async def ask(self, permission: Permission) -> bool:
        async with self._turn:
            click.echo(f"\n{permission.display}\n  {permission.reason}", err=True)
            click.echo("  Run it once? [y/N] ", nl=False, err=True)
            # A terminal hands over whole lines; a thread that reads could not be stopped by an interrupt.
            await anyio.wait_readable(sys.stdin)
            return sys.stdin.readline().strip().lower() in {"y", "yes"}

    async def answer(self, question: Question) -> str | None:
        """Numbers of options, joined by commas, or words of one's own; an empty line is no answer."""
        async with self._turn:
            click.echo(f"\n{question.header}: {question.text}", err=True)
            for number, (label, about) in enumerate(question.options, start=1):
                click.echo(f"  {number}. {label}{f': {about}' if about else ''}", err=True)
            click.echo("  Your answer: ", nl=False, err=True)
            await anyio.wait_readable(sys.stdin)
            return chosen(sys.stdin.readline().strip(), question)


def chosen(line: str, question: Question) -> str | None:
    """The labels that a line of numbers means, else the line itself."""
    numbers = [part.strip() for part in line.split(",")]
    if all(part.isdecimal() and 1 <= int(part) <= len(question.options) for part in numbers):
        picked = numbers if question.several else numbers[:1]
        return ", ".join(question.options[int(part) - 1][0] for part in picked)
    return line or None


class Ran(Struct, Generic[T], frozen=True, kw_only=True):
    """What an agent was asked to do has ended: how, after how many seconds, and the signal that stopped it."""

    result: T
    seconds: float
    stopped_by: signal.Signals | None = None


class Stops:
    """The signals that asked a run to end, and who wants to hear of the first."""

    def __init__(self) -> None:
        self.signals: list[signal.Signals] = []
        self.heard: list[Callable[[], None]] = []

    def take(self, number: signal.Signals) -> None:
        self.signals.append(number)
        for hear in self.heard:
            hear()


class Running(Struct, frozen=True, kw_only=True):
    """An agent under way, with what runs beside it."""

    agent: Agent
    services: Services
    stops: Stops


class Person(Asker, Interviewer, Protocol):
    """Somebody who can be asked for permission and answers questions."""


Act: TypeAlias = Callable[[Running], Awaitable[T]]
"""What is done with an agent between its start and its end."""


def run_turn(opened: Opened, prompt: str, line: Line, watch: Watcher) -> Ran[TurnResult]:
    """Run one turn to its end; an interrupt leaves a history that can go on."""
    return run_agent(opened, line, watch, lambda running: running.agent.submit(prompt))


def run_agent(opened: Opened, line: Line, watch: Watcher, act: Act[T]) -> Ran[T]:
    """Start an agent, do something with it and end it; whoever sits at the terminal is asked.

    When nobody reads what `watch` prints, it is stopped like at an interrupt, and the `OSError` is raised behind it.
    """
    return drive(partial(act_with_agent, opened, line, watch, act))


def drive(work: Callable[[], Awaitable[Ran[T]]]) -> Ran[T]:
    """Run asynchronous work to its end and raise what it raises, itself and not wrapped."""
    try:
        return anyio.run(work)
    except BaseExceptionGroup as group:
        # Task groups wrap what ends them; whoever called us wants the error itself.
        raise _innermost(group) from group


async def act_with_agent(
    opened: Opened,
    line: Line,
    watch: Watcher,
    act: Act[T],
    person: Person | None = None,
    *,
    presence: Presence = NOBODY,
) -> Ran[T]:
    """The same inside a running event loop. `person` is asked in place of the one at the terminal; `presence` is what they say meanwhile."""
    begun = time.monotonic()
    lost: list[OSError] = []
    stops = Stops()

    def shown(event: AgentEvent) -> None:
        if lost:
            return
        try:
            watch(event)
        except OSError as problem:
            lost.append(problem)
            agent.stop()

    if person is None and opened.policy.interactive:
        person = TerminalAsker()
    asker = person or NobodyToAsk()
    async with line.transport() as transport, session_services(opened, person, presence) as services:
        agent, store = build_agent(
            opened,
            transport=transport,
            watch=shown,
            asker=asker,
            services=services,
            interviewer=person,
            presence=presence,
        )
        with store:
            stops.heard.append(agent.stop)
            async with _stopped_by_signals(stops):
                try:
                    result = await act(Running(agent=agent, services=services, stops=stops))
                finally:
                    await agent.end()
    if lost:
        raise lost[0]
    stopped_by = stops.signals[0] if stops.signals else None
    return Ran(result=result, seconds=time.monotonic() - begun, stopped_by=stopped_by)


@asynccontextmanager
async def _stopped_by_signals(stops: Stops) -> AsyncIterator[None]:
    """SIGINT and SIGTERM stop the turn and are noted in `stops`; a second one ends the process as if nobody listened."""

    async def listen() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                if stops.signals:
                    signal.signal(number, signal.SIG_DFL)
                    signal.raise_signal(number)
                stops.take(number)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        yield
        tasks.cancel_scope.cancel()


def _innermost(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _innermost(first) if isinstance(first, BaseExceptionGroup) else first


def keep_requests(line: Line, home: str, session_id: str) -> str | None:
    """Write down what the stand-in was sent, one body a file; the folder, or `None` for a real service."""
    if line.emulator is None:
        return None
    folder = private_folder(Path(home), "requests", session_id)
    for number, recorded in enumerate(line.emulator.requests, start=1):
        write_private(folder / f"{number:03}.json", recorded.request.body)
    return str(folder)
