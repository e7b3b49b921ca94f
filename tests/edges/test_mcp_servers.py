"""Six real MCP servers, from PyPI and npm, one of them over HTTP and SSE: calls, errors, crash and return, changes, long results."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import anyio
import msgspec
import pytest
from PIL import Image

from compositor.adapters.mcp.elicitation import elicitor
from compositor.adapters.mcp.servers import McpServers
from compositor.adapters.mcp.transports import ServerSurroundings, log_path
from compositor.context.tools.limits import RESULT_TOKENS, tokens_of
from compositor.errors import ToolServerError
from compositor.ports import ToolScope
from compositor.types.blocks import ImageBlock
from compositor.types.json import raw_json
from compositor.types.servers import McpServer, ServerScope, ServerTransport
from compositor.types.tools import OutcomeKind, ToolCall

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.prefix, "bin")
NODE = ROOT / ".venv" / "mcp-servers" / "node_modules" / ".bin"
WAIT = 60.0


def stdio(name, command, *args, **more):
    return McpServer(
        name=name,
        scope=ServerScope.FLAG,
        file="test",
        transport=ServerTransport.STDIO,
        command=str(command),
        args=tuple(map(str, args)),
        digest=name,
        **more,
    )


def remote(name, url, transport=ServerTransport.HTTP):
    return McpServer(name=name, scope=ServerScope.FLAG, file="test", transport=transport, url=url, digest=name)


class Bench:
    """Servers under test, and a place for what their results leave behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scope = ToolScope(cwd=str(folder), roots=(str(folder),), output_dir=str(folder / "outputs"), env={})
        self.servers: McpServers | None = None

    @contextlib.asynccontextmanager
    async def running(self, *servers, **more):
        env = {**os.environ, "MCP_TIMEOUT": "60000"}
        around = ServerSurroundings(roots=(str(self.folder),), home=str(self.folder / "home"), env=env)
        self.servers = McpServers(servers, around, **more)
        async with self.servers.running():
            listings = await self.servers.listings(WAIT)
            yield {listing.server: listing for listing in listings}

    async def use(self, tool, **fields):
        return await self.servers[tool].run(ToolCall(id="toolu_1", name=tool, input=raw_json(fields)), self.scope)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def listening(port, *command):
    """A service on a port of this machine, from the moment it takes connections until it is killed."""
    process = subprocess.Popen(
        command,
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def children(command):
    """Processes that this one started and whose command line holds `command`."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if parent == os.getpid() and command.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@contextlib.contextmanager
def website(folder):
    """The files of a folder over HTTP on a free port of this machine."""
    port = free_port()
    with listening(port, sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", folder):
        yield f"http://127.0.0.1:{port}"


def make_repository(folder):
    subprocess.run(["git", "init", "-q", folder], check=True)


def content_of(path):
    return Path(path).read_text()


async def test_five_servers_start_side_by_side_and_answer(bench):
    (bench.folder / "note.txt").write_text("hello\n")
    make_repository(bench.folder)
    servers = (
        stdio("everything", NODE / "mcp-server-everything"),
        stdio("filesystem", NODE / "mcp-server-filesystem", bench.folder),
        stdio("memory", NODE / "mcp-server-memory", env={"MEMORY_FILE_PATH": str(bench.folder / "memory.json")}),
        stdio("git", BIN / "mcp-server-git", "--repository", bench.folder),
        stdio("time", BIN / "mcp-server-time"),
        stdio("broken", bench.folder / "nothing-here"),
    )
    async with bench.running(*servers) as listings:
        counts = {name: len(listing.tools) for name, listing in listings.items()}
        assert counts == {"everything": 14, "filesystem": 14, "memory": 9, "git": 12, "time": 2, "broken": 0}
        assert "No such file" in listings["broken"].problem
        assert listings["everything"].instructions
        assert len(listings["everything"].instructions.encode()) <= 2048
        summed = await bench.use("mcp__everything__get-sum", a=2, b=40)
        assert "42" in summed.content
        read = await bench.use("mcp__filesystem__read_text_file", path=str(bench.folder / "note.txt"))
        assert read.content == "hello\n"
        status = await bench.use("mcp__git__git_status", repo_path=str(bench.folder))
        assert "note.txt" in status.content
        now = await bench.use("mcp__time__get_current_time", timezone="Asia/Tokyo")
        assert json.loads(now.content)["timezone"] == "Asia/Tokyo"
        made = await bench.use(
            "mcp__memory__create_entities", entities=[{"name": "a", "entityType": "b", "observations": []}]
        )
        assert made.kind is OutcomeKind.DONE
        assert len(children("mcp-server")) == 5
    assert not children("mcp-server")
    assert log_path(str(bench.folder / "home"), "everything").is_file()


async def test_an_error_of_a_tool_is_an_outcome(bench):
    async with bench.running(stdio("time", BIN / "mcp-server-time")):
        outcome = await bench.use("mcp__time__get_current_time", timezone="Atlantis/City")
        assert outcome.kind is OutcomeKind.FAILED
        assert "Atlantis/City" in outcome.content


async def test_fetch_reads_a_page(bench):
    (bench.folder / "index.html").write_text("<html><body><h1>Title</h1><p>Some text.</p></body></html>")
    (bench.folder / "robots.txt").write_text("User-agent: *\nAllow: /\n")
    with website(bench.folder) as address:
        async with bench.running(stdio("fetch", BIN / "mcp-server-fetch", "--allow-private-ips")):
            outcome = await bench.use("mcp__fetch__fetch", url=f"{address}/index.html")
            assert "Some text." in outcome.content


async def test_a_killed_server_costs_one_call_and_comes_back_the_same(bench):
    async with bench.running(stdio("everything", NODE / "mcp-server-everything")) as before:
        (pid,) = children("mcp-server-everything")
        os.kill(pid, signal.SIGKILL)
        lost = await bench.use("mcp__everything__echo", message="x")
        assert lost.kind is OutcomeKind.FAILED
        assert "'everything' is not available" in lost.content
        back = await bench.use("mcp__everything__echo", message="again")
        assert back.content == "Echo: again"
        (after,) = await bench.servers.listings()
        assert after.tools == before["everything"].tools


@pytest.mark.parametrize(
    ("word", "transport", "path"),
    [("streamableHttp", ServerTransport.HTTP, "mcp"), ("sse", ServerTransport.SSE, "sse")],
)
async def test_a_server_over_http(bench, word, transport, path):
    port = free_port()
    command = (NODE / "mcp-server-everything", word)
    async with contextlib.AsyncExitStack() as stack:
        with listening(port, *command):
            address = f"http://127.0.0.1:{port}/{path}"
            before = await stack.enter_async_context(bench.running(remote("web", address, transport)))
            assert len(before["web"].tools) >= 13, before["web"].problem
            outcome = await bench.use("mcp__web__echo", message="over the wire")
            assert outcome.content == "Echo: over the wire"
        lost = await bench.use("mcp__web__echo", message="x")
        assert lost.kind is OutcomeKind.FAILED
        with listening(port, *command):
            back = await bench.use("mcp__web__echo", message="again")
            assert back.content == "Echo: again"
            (after,) = await bench.servers.listings()
            assert after.tools == before["web"].tools


async def test_a_server_over_http_grows_and_tells_its_progress(bench):
    said = []
    bench.scope = msgspec.structs.replace(bench.scope, report=said.append)
    port = free_port()
    with listening(port, sys.executable, Path(__file__).with_name("growing_server.py"), str(port)):
        async with bench.running(remote("web", f"http://127.0.0.1:{port}/mcp")) as listings:
            assert [tool.wire for tool in listings["web"].tools] == ["mcp__web__grow", "mcp__web__count"]
            assert (await bench.use("mcp__web__count", to=3)).content == "counted to 3"
            assert said[0] == "1 of 3: at 1"
            assert (await bench.use("mcp__web__grow", name="parrot")).content == "parrot is there"
            for _ in range(1_000):
                (listing,) = await bench.servers.listings()
                if len(listing.tools) == 3:
                    break
                await anyio.sleep(0.02)
            assert (await bench.use("mcp__web__parrot", text="hello")).content == "parrot: hello"


async def test_an_image_is_shown(bench):
    Image.new("RGB", (3, 2), "red").save(bench.folder / "red.png")
    async with bench.running(stdio("filesystem", NODE / "mcp-server-filesystem", bench.folder)):
        outcome = await bench.use("mcp__filesystem__read_media_file", path=str(bench.folder / "red.png"))
        assert [type(block) for block in outcome.content] == [ImageBlock]


async def test_resources_can_be_listed_and_read(bench):
    async with bench.running(stdio("everything", NODE / "mcp-server-everything")):
        resources = await bench.servers.resources("everything")
        assert resources
        text = await bench.servers.read("everything", resources[0].uri, bench.scope.output_dir)
        assert resources[0].uri in text
        with pytest.raises(ToolServerError, match="no MCP server 'nowhere'"):
            await bench.servers.read("nowhere", "demo://x", bench.scope.output_dir)


async def test_prompts_are_commands(bench):
    async with bench.running(stdio("everything", NODE / "mcp-server-everything")):
        prompts = {prompt.name: prompt for prompt in bench.servers.prompts()}
        assert prompts["args-prompt"].arguments == ("city", "state")
        text = await bench.servers.prompt("everything", "args-prompt", ["Paris", "Texas"])
        assert "Paris, Texas" in text
        assert prompts["args-prompt"].usage == "/mcp__everything__args-prompt CITY [STATE]"
        said = await bench.servers.run_command("mcp__everything__args-prompt", ["Paris", "New", "Mexico"])
        assert "Paris, New Mexico" in said
        assert await bench.servers.run_command("/mcp__everything__nothing", []) is None
        with pytest.raises(ToolServerError, match="needs city"):
            await bench.servers.run_command("/mcp__everything__args-prompt", [])


async def test_progress_is_reported_while_a_call_runs(bench):
    said = []
    bench.scope = msgspec.structs.replace(bench.scope, report=said.append)
    async with bench.running(stdio("everything", NODE / "mcp-server-everything")):
        outcome = await bench.use("mcp__everything__trigger-long-running-operation", duration=3, steps=3)
    assert outcome.kind is OutcomeKind.DONE, outcome.content
    assert 1 <= len(said) <= 3
    assert said[0].startswith("1 of 3")


async def test_a_result_above_the_limit_is_kept_in_a_file(bench):
    line = "measured value 12345 of a long table\n"
    whole = line * 6_000
    (bench.folder / "long.txt").write_text(whole)
    assert tokens_of(whole) > RESULT_TOKENS
    async with bench.running(stdio("filesystem", NODE / "mcp-server-filesystem", bench.folder)):
        outcome = await bench.use("mcp__filesystem__read_text_file", path=str(bench.folder / "long.txt"))
    assert outcome.kind is OutcomeKind.DONE
    assert tokens_of(outcome.content) < 2_500
    path = json.loads(bytes(outcome.structured))["persistedOutputPath"]
    assert content_of(path) == whole
    assert f"of {len(whole):,} characters are left out here" in outcome.content


async def test_a_call_that_is_cancelled_leaves_the_server_usable(bench):
    async with bench.running(stdio("everything", NODE / "mcp-server-everything")):
        with anyio.move_on_after(0.5) as scope:
            await bench.use("mcp__everything__trigger-long-running-operation", duration=30, steps=30)
        assert scope.cancelled_caught
        outcome = await bench.use("mcp__everything__echo", message="still here")
        assert outcome.content == "Echo: still here"


async def test_a_call_has_a_time_limit(bench):
    async with bench.running(stdio("everything", NODE / "mcp-server-everything", timeout=0.5)):
        outcome = await bench.use("mcp__everything__trigger-long-running-operation", duration=20, steps=20)
        assert outcome.kind is OutcomeKind.FAILED
        assert "longer than 0.5 s" in outcome.content


async def test_a_changed_list_is_noticed(bench):
    server = ROOT / "tests" / "adapters" / "mcp" / "server.py"
    names = bench.folder / "tools.json"
    names.write_text('["echo"]')
    async with bench.running(stdio("small", sys.executable, server, names)):
        names.write_text('["echo", "later"]')
        await bench.use("mcp__small__echo", text="x")
        for _ in range(100):
            (listing,) = await bench.servers.listings()
            if len(listing.tools) == 2:
                break
            await anyio.sleep(0.05)
        assert [tool.wire for tool in listing.tools] == ["mcp__small__echo", "mcp__small__later"]
        assert (await bench.use("mcp__small__later", text="y")).content == "later: y"


class Person:
    """Answers every question with what stands first."""

    def __init__(self):
        self.asked = []

    async def answer(self, question):
        self.asked.append(question)
        return question.options[0][0] if question.options else "7"


async def test_a_server_can_ask_the_person(bench):
    person = Person()
    async with bench.running(stdio("everything", NODE / "mcp-server-everything"), elicit=elicitor(person)) as listings:
        names = [tool.definition.name for tool in listings["everything"].tools]
        assert "mcp__everything__trigger-elicitation-request" in names
        outcome = await bench.use("mcp__everything__trigger-elicitation-request")
    assert outcome.kind is OutcomeKind.DONE, outcome.content
    assert all(question.header == "The MCP server 'everything' asks" for question in person.asked)
    assert len(person.asked) >= 3
