"""Retry and overload, with the exact waiting times on a clock of the test's own (F38), through client, decoder, machine and driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import resolve_endpoint
from compositor.cli.run import exit_code
from compositor.cli.running import Ran
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.errors import ExitCode
from compositor.loop.attempt import Answered, Failed
from compositor.loop.effects import EndReason
from compositor.runtime.driver import ask_model
from compositor.runtime.events import AgentEvent, Retrying
from tests.emulator.test_transport import compiled
from tests.runtime.test_agent import Run, project  # noqa: F401  (a fixture)

pytestmark = pytest.mark.anyio

HOURS = 5 * 3600


class Asked:
    """One request to a service that plays `faults`. `jitter` is the chance of every wait."""

    def __init__(self, faults: str, jitter: float = 0.0) -> None:
        self.emulator = Emulator(parse_script(f"turns: [{{say: well, faults: [{faults}]}}]"))
        self.jitter = jitter
        self.waits: list[float] = []
        self.events: list[AgentEvent] = []

    async def answer(self) -> Answered | Failed:
        value, size = compiled()
        request = msgspec.structs.replace(value, size=size)
        transport = AnthropicTransport(resolve_endpoint({}), transport=EmulatorTransport(self.emulator))
        async with transport:
            return await ask_model(
                request, transport, watch=self.events.append, chance=lambda: self.jitter, sleep=self._sleep
            )

    async def _sleep(self, seconds: float) -> None:
        # What waits must have said so before it waits.
        assert isinstance(self.events[-1], Retrying)
        assert self.events[-1].notice.delay == seconds
        self.waits.append(seconds)

    @property
    def sent(self) -> list[bytes]:
        return [recorded.request.body for recorded in self.emulator.requests]


@pytest.mark.req("R395")
async def test_a_quota_of_five_hours_stops_at_once_with_the_time_of_its_renewal() -> None:
    asked = Asked(f"{{status: 429, retry_after: {HOURS}, message: quota resets in 5 h, times: 99}}")
    answer = await asked.answer()
    assert isinstance(answer, Failed)
    assert (asked.waits, len(asked.sent)) == ([], 1)
    error = answer.failure.error()
    assert "quota resets in 5 h" in str(error)
    assert "5 h 0 min" in str(error.hint)


@pytest.mark.req("R011")
@pytest.mark.parametrize(
    ("faults", "waits"),
    [
        ("{status: 529, times: 2}", [0.5, 1.0]),
        ("{status: 429, retry_after: 7}", [7.0]),
        ("{reset: 0}", [0.5]),
        ("{reset: 4}", [0.5]),
    ],
)
async def test_what_passes_is_waited_for_and_the_same_bytes_go_again(faults: str, waits: list[float]) -> None:
    asked = Asked(faults)
    assert isinstance(await asked.answer(), Answered)
    assert asked.waits == waits
    assert len(asked.sent) == len(waits) + 1
    assert len(set(asked.sent)) == 1


async def test_a_refusal_of_the_request_itself_is_not_repeated() -> None:
    asked = Asked("{status: 400, times: 99}")
    assert isinstance(await asked.answer(), Failed)
    assert (asked.waits, len(asked.sent)) == ([], 1)


async def test_overload_without_end_has_a_maximum_of_attempts_of_one_delay_and_of_jitter() -> None:
    """0.5 doubled up to 8 s, ten resends; with full jitter each is a quarter shorter (wire page 8)."""
    steady, hurried = Asked("{status: 529, times: 99}"), Asked("{status: 529, times: 99}", jitter=1.0)
    for asked in (steady, hurried):
        assert isinstance(await asked.answer(), Failed)
        assert len(asked.sent) == 11
    assert steady.waits == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    assert hurried.waits == [wait * 0.75 for wait in steady.waits]


async def test_all_waits_together_have_a_maximum() -> None:
    """Ten minutes at a time are obeyed, half an hour in all is the end: three waits, and no fourth."""
    asked = Asked("{status: 429, retry_after: 600, times: 99}")
    assert isinstance(await asked.answer(), Failed)
    assert asked.waits == [600.0, 600.0, 600.0]


async def test_a_wait_can_be_interrupted_and_leaves_a_legal_history(project: Path) -> None:  # noqa: F811
    run = Run(
        project, "turns:\n  - {say: well, faults: [{status: 429, retry_after: 500, times: 9}]}\n  - {say: later}\n"
    )
    with anyio.fail_after(60):
        result = await run.submit("Go.", stop_at=lambda event: isinstance(event, Retrying))
    assert result.reason is EndReason.ABORTED_STREAMING


async def test_for_a_script_the_end_is_an_exit_code(project: Path) -> None:  # noqa: F811
    run = Run(project, f"turns:\n  - {{say: x, faults: [{{status: 429, retry_after: {HOURS}, times: 99}}]}}\n")
    result = await run.submit("Go.")
    ran: Ran[Any] = Ran(result=result, seconds=0.0)
    assert (result.reason, exit_code(ran)) == (EndReason.API_ERROR, ExitCode.PROVIDER)
    assert "5 h" in result.detail
