"""Client overhead of a turn: from the last byte of an answer to the next request at the transport, the tool's own time apart.

Decides the session that is measured: 310 reads of a small file, one a turn, over the real store, gate and transport. The floor is a bare
client that sends the same bytes over the same library, reads the same answers and does nothing else: no journal, no gate, no network
on either side. Medians of wall time and of CPU; the growth compares lowest deciles, which other work on the machine moves least.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import httpx2

from benchmarks.measure import Row
from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.config.flags import Flags
from compositor.opened import Opened, Opening, open_session
from compositor.ports import Permission
from compositor.runtime.events import AgentEvent, CallEnded, CallJudged
from compositor.wiring import build_agent

REQUESTS = 310
WARM = 20
EARLY, LATE = slice(20, 50), slice(270, 300)
_URL = "http://service.invalid/v1/messages"


class Instant(NamedTuple):
    """Seconds of wall time and of CPU of this process, or a span of both."""

    wall: float
    cpu: float

    @staticmethod
    def now() -> Instant:
        return Instant(time.perf_counter(), time.process_time())

    def since(self, earlier: Instant) -> Instant:
        return Instant(self.wall - earlier.wall, self.cpu - earlier.cpu)

    def plus(self, other: Instant) -> Instant:
        return Instant(self.wall + other.wall, self.cpu + other.cpu)


_NOTHING = Instant(0.0, 0.0)


class _Answer(httpx2.AsyncByteStream):
    """One answer; `ended` hears when its last byte has been handed over."""

    def __init__(self, service: _Service, data: bytes) -> None:
        self._service = service
        self._data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._service.ended = Instant.now()
        yield self._data


class _Service(httpx2.AsyncBaseTransport):
    """Answers at once: a call of the read tool, and the end after `REQUESTS`. Keeps the bodies and the gaps before each of them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.gaps: list[Instant] = []
        self.tool = _NOTHING
        self.ended = _NOTHING

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.gaps.append(Instant.now().since(self.ended).since(self.tool))
        self.tool = _NOTHING
        self.bodies.append(await request.aread())
        data = _answer(len(self.bodies))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Answer(self, data))


def _answer(number: int) -> bytes:
    last = number >= REQUESTS
    start = f'{{"type":"message_start","message":{{"id":"msg_{number}","model":"m","usage":{{"input_tokens":9}}}}}}'
    call = f'{{"type":"tool_use","id":"toolu_{number}","name":"Read","input":{{}}}}'
    block = '{"type":"text","text":"done"}' if last else call
    delta = '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"file_path\\":\\"a.txt\\"}"}}'
    stop = f'{{"type":"message_delta","delta":{{"stop_reason":"{"end_turn" if last else "tool_use"}"}},"usage":{{"output_tokens":5}}}}'
    begin = f'{{"type":"content_block_start","index":0,"content_block":{block}}}'
    end = '{"type":"content_block_stop","index":0}'
    events = [start, begin, *([] if last else [delta]), end, stop, '{"type":"message_stop"}']
    return "".join(f"data: {event}\n\n" for event in events).encode()


class _No:
    async def ask(self, permission: Permission) -> bool:
        del permission
        return False


def rows() -> list[Row]:
    """Milliseconds; the last row is a growth."""
    service = asyncio.run(_agent())
    bare = asyncio.run(_bare(service.bodies))
    wall, cpu = ([span[kind] for span in service.gaps] for kind in (0, 1))
    bare_wall, bare_cpu = ([span[kind] for span in bare.gaps] for kind in (0, 1))
    same = "bare client, same bytes"
    return [
        Row(name="answer in, next request out", value=_median(wall), floor=_median(bare_wall), floor_name=same),
        Row(name="the same, CPU", value=_median(cpu), floor=_median(bare_cpu), floor_name=same),
        Row(name="turn 300, CPU", value=_low(cpu[LATE]), floor=_low(cpu[EARLY]), floor_name="turn 30"),
    ]


def _median(gaps: list[float]) -> float:
    return statistics.median(gaps[WARM:]) * 1000


def _low(gaps: list[float]) -> float:
    return statistics.quantiles(gaps, n=10)[0] * 1000


async def _agent() -> _Service:
    service = _Service()
    judged = _NOTHING

    def watch(event: AgentEvent) -> None:
        nonlocal judged
        if isinstance(event, CallJudged):
            judged = Instant.now()
        elif isinstance(event, CallEnded):
            service.tool = service.tool.plus(Instant.now().since(judged))

    with tempfile.TemporaryDirectory() as folder:
        opened = _opened(folder)
        async with AnthropicTransport(Endpoint(url=_URL), transport=service) as transport:
            agent, store = build_agent(opened, transport=transport, watch=watch, asker=_No())
            with store:
                await agent.submit("Read a.txt.")
    if len(service.bodies) != REQUESTS:
        raise RuntimeError(f"the session sent {len(service.bodies)} requests, not {REQUESTS}")
    return service


def _opened(folder: str) -> Opened:
    project = Path(folder, "project")
    project.mkdir()
    (project / "a.txt").write_text("alpha\nbeta\n")
    environ = {"HOME": folder, "COMPOSITOR_HOME": str(Path(folder, "state")), "PATH": "/usr/bin:/bin"}
    return open_session(Opening(flags=Flags(), project=str(project), environ=environ))


async def _bare(bodies: list[bytes]) -> _Service:
    service = _Service()
    async with httpx2.AsyncClient(transport=service) as client:
        for body in bodies:
            request = client.build_request("POST", _URL, content=body, headers={"content-type": "application/json"})
            response = await client.send(request, stream=True)
            async for _ in response.aiter_bytes():
                pass
            await response.aclose()
    return service
