"""The stand-in behind the real HTTP client, and the whole model line over it: client, decoder, attempt machine."""

import json

import anyio
import httpx2
import pytest

from compositor.adapters.providers.anthropic import AnthropicTransport, Timeouts
from compositor.adapters.providers.credentials import resolve_endpoint
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.errors import ProviderUnavailableError
from compositor.loop.attempt import (
    Answered,
    Attempt,
    AttemptState,
    BodyEnded,
    Bytes,
    ConnectionLost,
    Emit,
    Failed,
    Headers,
    RetryNotice,
    Send,
    Started,
    TimerFired,
    Wait,
)
from compositor.types.blocks import TextBlock
from compositor.types.persistent import Rope
from compositor.types.request import Chunk, Compiled, Head, HeadParts, RequestOptions

pytestmark = pytest.mark.anyio

URL = "https://api.example/v1/messages"
BODY = {"model": "m-1", "max_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
HEADERS = {"anthropic-version": "2026-10-21"}


def emulator(faults="[]"):
    return Emulator(parse_script(f"turns: [{{say: well, faults: {faults}}}]"))


async def test_pieces_really_stream():
    async with (
        httpx2.AsyncClient(transport=EmulatorTransport(emulator())) as client,
        client.stream("POST", URL, json=BODY, headers=HEADERS) as response,
    ):
        pieces = [piece async for piece in response.aiter_raw()]
    assert response.headers["request-id"] == "req_emulated_0001"
    # Start, ping, opening, one delta, closing, ping, delta of the message, stop.
    assert len(pieces) == 8
    assert all(piece.endswith(b"\n\n") for piece in pieces)


async def test_other_work_goes_on_while_an_answer_streams():
    order = []

    async def other():
        for _ in range(3):
            order.append("other")
            await anyio.lowlevel.checkpoint()

    async with (
        httpx2.AsyncClient(transport=EmulatorTransport(emulator())) as client,
        anyio.create_task_group() as group,
        client.stream("POST", URL, json=BODY, headers=HEADERS) as response,
    ):
        group.start_soon(other)
        async for _ in response.aiter_raw():
            order.append("piece")  # noqa: PERF401 - the order is the point
    assert "other" in order[: order.count("piece")]
    assert order[-1] == "piece"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("[{reset: 0}]", httpx2.RemoteProtocolError),
        ("[{reset: 2}]", httpx2.ReadError),
        ("[{stall: 2}]", httpx2.ReadTimeout),
        ("[{slow: 0.2}]", httpx2.ReadTimeout),
    ],
)
async def test_faults_look_like_those_of_a_network(fault, error):
    timeout = httpx2.Timeout(5.0, read=0.05)
    async with httpx2.AsyncClient(transport=EmulatorTransport(emulator(fault)), timeout=timeout) as client:
        with pytest.raises(error):
            await client.post(URL, json=BODY, headers=HEADERS)


async def test_a_slow_answer_is_read_whole_by_a_patient_client():
    async with httpx2.AsyncClient(transport=EmulatorTransport(emulator("[{slow: 0.001}]"))) as client:
        response = await client.post(URL, json=BODY, headers=HEADERS)
    assert response.content.endswith(b'data: {"type": "message_stop"}\n\n')


def compiled():
    head = Head(parts=HeadParts(), tools=(), deferred=(), system=(), context=None, digest="0")
    message = Chunk(data=b'{"role":"user","content":[{"type":"text","text":"hi"}]}')
    value = Compiled(
        head=head, settled=Rope([message]), pending=(), scalars=Chunk(data=b'"model":"m-1","max_tokens":100,"stream":true'),
        splices=(), markers=(), headers=(("anthropic-version", "2026-10-21"),),
        options=RequestOptions(model="m-1", max_tokens=100), size=0, view_digest="0",
    )  # fmt: skip
    return value, len(value.body)


async def drive(attempt, transport, size):
    """The smallest driver there can be; waits are noted and not waited for."""
    seen = []
    todo = list(attempt.handle(Started(), jitter=0.0))
    while todo:
        effect = todo.pop(0)
        seen.append(effect)
        if isinstance(effect, Wait):
            todo += attempt.handle(TimerFired(), jitter=0.0)
        if isinstance(effect, Send):
            todo += await exchange(attempt, transport, effect.compiled, size)
    return seen


async def exchange(attempt, transport, request, size):
    effects = []
    try:
        async with transport.send(request.headers, request.pieces(), size) as response:
            effects += attempt.handle(Headers(response.status, response.headers), jitter=0.0)
            async for piece in response.chunks():
                effects += attempt.handle(Bytes(piece), jitter=0.0)
                if attempt.state not in {AttemptState.READING, AttemptState.REFUSED}:
                    return effects
    except ProviderUnavailableError as problem:
        return [*effects, *attempt.handle(ConnectionLost(problem.message), jitter=0.0)]
    return [*effects, *attempt.handle(BodyEnded(), jitter=0.0)]


@pytest.mark.req("R011")
async def test_the_whole_line_survives_every_fault_and_sends_the_same_bytes_each_time():
    faults = (
        "[{status: 529}, {status: 429, retry_after: 7}, {status: 500}, {reset: 0}, {reset: 4}, {torn: 3}, "
        "{error: overloaded_error}, {stall: 2}]"
    )
    play = emulator(faults)
    request, size = compiled()
    endpoint = resolve_endpoint({"ANTHROPIC_API_KEY": "k-1"})
    async with AnthropicTransport(
        endpoint, transport=EmulatorTransport(play), timeouts=Timeouts(read=0.05)
    ) as transport:
        seen = await drive(Attempt(request), transport, size)
    (answered,) = [effect for effect in seen if isinstance(effect, Answered)]
    assert answered.message.content == (TextBlock("well"),)
    assert [effect.seconds for effect in seen if isinstance(effect, Wait)] == [0.5, 7, 2, 4, 8, 8, 8, 8]
    notices = [effect.item for effect in seen if isinstance(effect, Emit) and isinstance(effect.item, RetryNotice)]
    assert [notice.attempt for notice in notices] == list(range(1, 9))
    assert {recorded.request.body for recorded in play.requests} == {request.body}
    assert len(play.requests) == 9


async def test_an_illegal_request_is_sent_once():
    play = emulator()
    request, _ = compiled()
    broken = {**json.loads(request.body), "messages": []}
    async with AnthropicTransport(resolve_endpoint({}), transport=EmulatorTransport(play)) as transport:
        attempt = Attempt(request)
        attempt.handle(Started(), jitter=0.0)
        data = json.dumps(broken).encode()
        async with transport.send(request.headers, [data], len(data)) as response:
            attempt.handle(Headers(response.status, response.headers), jitter=0.0)
            async for piece in response.chunks():
                attempt.handle(Bytes(piece), jitter=0.0)
        (failed,) = attempt.handle(BodyEnded(), jitter=0.0)
    assert isinstance(failed, Failed)
    assert "at least one message is required" in str(failed.failure.error())
