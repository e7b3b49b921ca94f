"""The HTTP client against a real server on this machine that speaks raw bytes: what goes out, what comes in, what breaks."""

import asyncio
import gzip
import socket
import struct
from contextlib import asynccontextmanager

import pytest

from compositor._version import __version__
from compositor.adapters.providers.anthropic import AnthropicTransport, Timeouts
from compositor.adapters.providers.credentials import resolve_endpoint
from compositor.errors import ProviderUnavailableError, UsageError

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

HEADERS = (("anthropic-version", "2026-10-21"), ("anthropic-beta", "b-1,b-2"))
# Odd spacing, a number that re-encoding would change, text outside ASCII: only the very bytes are right.
PIECES = (b'{"a" :  1.10,', b"", ' "b":"中文 👋"'.encode(), b"}")
BODY = b"".join(PIECES)
SIZE = len(BODY)
SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nX-Upper: Yes\r\ntransfer-encoding: chunked\r\n\r\n"
EVENTS = (b'event: ping\ndata: {"type":"ping"}\n\n', b'data: {"type":"message_stop"}\n\n')


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST = b"0\r\n\r\n"
RESET = object()
CLOSE = object()


class Server:
    """Answers each connection's requests with `steps`: bytes to write, seconds to wait, RESET or CLOSE."""

    def __init__(self, *steps):
        self.steps = steps
        self.heads = []
        self.bodies = []
        self.received = asyncio.Event()

    async def serve(self, reader, writer):
        try:
            while not reader.at_eof():
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                fields = dict(line.split(": ", 1) for line in lines[1:-2])
                self.heads.append((lines[0], fields))
                self.bodies.append(await reader.readexactly(int(fields["content-length"])))
                self.received.set()
                if await self.play(writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def play(self, writer):
        for step in self.steps:
            if step is RESET:
                raw = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return True
            if step is CLOSE:
                return True
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            else:
                await asyncio.sleep(step)
        return False


@asynccontextmanager
async def running(server, path="", timeouts=None, **environment):
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    endpoint = resolve_endpoint({"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}{path}", **environment})
    async with AnthropicTransport(endpoint, timeouts=timeouts) as transport:
        try:
            yield transport
        finally:
            listening.close()


async def ask(transport, pieces=PIECES, size=SIZE):
    async with transport.send(HEADERS, pieces, size) as response:
        return response.status, response.headers, [piece async for piece in response.chunks()]


async def test_exactly_the_bytes_and_headers_are_sent():
    server = Server(SSE_HEAD, chunk(EVENTS[0]), LAST)
    environment = {"ANTHROPIC_API_KEY": "k-1", "ANTHROPIC_CUSTOM_HEADERS": "X-Team: core\nanthropic-beta: b-3"}
    async with running(server, "/gate/way/", **environment) as transport:
        status, headers, pieces = await ask(transport)
    assert server.bodies == [BODY]
    ((line, sent),) = server.heads
    assert line == "POST /gate/way/v1/messages HTTP/1.1"
    assert sent["content-length"] == str(len(BODY))
    assert "transfer-encoding" not in sent
    assert sent["x-api-key"] == "k-1"
    assert "authorization" not in sent
    assert sent["anthropic-version"] == "2026-10-21"
    assert sent["anthropic-beta"] == "b-1,b-2,b-3"
    assert sent["x-team"] == "core"
    assert sent["user-agent"] == f"compositor/{__version__}"
    assert sent["content-type"] == "application/json"
    assert sent["accept-encoding"] == "identity"
    assert (status, headers["x-upper"], b"".join(pieces)) == (200, "Yes", EVENTS[0])


async def test_a_token_is_sent_as_bearer():
    server = Server(SSE_HEAD, LAST)
    async with running(server, ANTHROPIC_AUTH_TOKEN="t-1") as transport:
        await ask(transport)
    assert server.heads[0][1]["authorization"] == "Bearer t-1"
    assert "x-api-key" not in server.heads[0][1]


async def test_a_large_body_of_many_pieces_arrives_whole():
    pieces = [bytes([number % 256]) * 300_000 for number in range(20)]
    server = Server(SSE_HEAD, LAST)
    async with running(server) as transport:
        await ask(transport, iter(pieces), 6_000_000)
    assert server.bodies == [b"".join(pieces)]


async def test_pieces_are_handed_on_as_they_arrive_and_not_at_the_end():
    server = Server(SSE_HEAD, chunk(EVENTS[0]), 30.0)
    async with running(server) as transport, transport.send(HEADERS, PIECES, len(BODY)) as response:
        first = await asyncio.wait_for(anext(aiter(response.chunks())), timeout=20)
    assert first == EVENTS[0]


async def test_a_compression_that_a_gateway_added_is_undone():
    packed = gzip.compress(b"".join(EVENTS))
    head = SSE_HEAD.replace(b"X-Upper", b"content-encoding: gzip\r\nX-Upper")
    async with running(Server(head, chunk(packed[:11]), chunk(packed[11:]), LAST)) as transport:
        _, _, pieces = await ask(transport)
    assert b"".join(pieces) == b"".join(EVENTS)


async def test_a_refusal_is_an_answer_like_any_other():
    body = b'{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}'
    head = b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\ncontent-length: %d\r\n\r\n" % len(body)
    async with running(Server(head, body)) as transport:
        status, headers, pieces = await ask(transport)
    assert (status, headers["retry-after"], b"".join(pieces)) == (429, "7", body)


async def test_a_redirect_is_not_followed():
    head = b"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/elsewhere\r\ncontent-length: 0\r\n\r\n"
    server = Server(head)
    async with running(server, ANTHROPIC_API_KEY="k-1") as transport:
        status, headers, _ = await ask(transport)
    assert (status, headers["location"], len(server.heads)) == (307, "http://127.0.0.1:1/elsewhere", 1)


async def test_a_connection_is_used_again():
    server = Server(SSE_HEAD, chunk(EVENTS[0]), LAST)
    async with running(server) as transport:
        first = await ask(transport)
        second = await ask(transport)
    assert first == second
    assert server.bodies == [BODY, BODY]


@pytest.mark.parametrize(
    "steps", [(RESET,), (CLOSE,), (b"HTTP/1.1 200 OK\r\nconte", CLOSE), (b"not http at all\r\n\r\n", CLOSE)]
)
async def test_no_answer_is_one_sentence(steps):
    async with running(Server(*steps)) as transport:
        with pytest.raises(ProviderUnavailableError, match=r"^The connection to '127.0.0.1:\d+' was lost: \S"):
            await ask(transport)


@pytest.mark.parametrize("breaks", [RESET, CLOSE])
async def test_an_answer_that_breaks_off_gives_what_came_and_then_the_error(breaks):
    came = []

    async def collect(transport):
        async with transport.send(HEADERS, PIECES, SIZE) as response:
            async for piece in response.chunks():
                came.append(piece)  # noqa: PERF401 - what came before the break must be kept

    async with running(Server(SSE_HEAD, chunk(EVENTS[0]), 0.05, breaks)) as transport:
        with pytest.raises(ProviderUnavailableError, match="was lost"):
            await collect(transport)
    assert b"".join(came) == EVENTS[0]


@pytest.mark.parametrize("steps", [(30.0,), (SSE_HEAD, chunk(EVENTS[0]), 30.0)])
async def test_silence_ends_at_the_read_timeout(steps):
    async with running(Server(*steps), timeouts=Timeouts(read=0.2)) as transport:
        with pytest.raises(ProviderUnavailableError, match="was silent for too long"):
            await ask(transport)


async def test_a_slow_stream_is_no_silent_one():
    slow = [step for event in EVENTS * 4 for step in (0.1, chunk(event))]
    async with running(Server(SSE_HEAD, *slow, LAST), timeouts=Timeouts(read=5.0)) as transport:
        _, _, pieces = await ask(transport)
    assert b"".join(pieces) == b"".join(EVENTS * 4)


async def test_a_port_where_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    endpoint = resolve_endpoint({"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"})
    async with AnthropicTransport(endpoint) as transport:
        with pytest.raises(ProviderUnavailableError, match=rf"^No connection to '127.0.0.1:{port}' could be made: \S"):
            await ask(transport)


async def test_plain_text_where_tls_is_expected():
    async def answer_in_plain_text(reader, writer):
        await reader.read(1)
        writer.write(SSE_HEAD)
        writer.close()

    async with await asyncio.start_server(answer_in_plain_text, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        endpoint = resolve_endpoint({"ANTHROPIC_BASE_URL": f"https://127.0.0.1:{port}"})
        async with AnthropicTransport(endpoint) as transport:
            with pytest.raises(ProviderUnavailableError, match=r"could be made: .*SSL"):
                await ask(transport)


@pytest.mark.parametrize("size", [len(BODY) - 1, len(BODY) + 1])
async def test_a_wrong_size_is_our_own_fault_and_said_so(size):
    async with running(Server(SSE_HEAD, LAST)) as transport:
        with pytest.raises(UsageError, match="as its content-length says"):
            await ask(transport, size=size)


async def test_leaving_early_closes_the_exchange():
    server = Server(SSE_HEAD, chunk(EVENTS[0]), 0.1, chunk(EVENTS[1]), LAST)
    async with running(server) as transport:
        async with transport.send(HEADERS, PIECES, len(BODY)) as response:
            await anext(aiter(response.chunks()))
        assert (await ask(transport))[0] == 200
    assert len(server.bodies) == 2


async def test_a_cancelled_wait_leaves_the_transport_usable():
    server = Server(SSE_HEAD, 0.3, LAST)
    async with running(server) as transport:
        task = asyncio.create_task(ask(transport))
        await server.received.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await ask(transport))[0] == 200
